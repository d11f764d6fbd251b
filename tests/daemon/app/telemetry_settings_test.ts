/** The settings of traces: off by default, an address without a secret, hidden headers. */

import assert from "node:assert/strict";
import { readConfig } from "../../../daemon/app/config.ts";
import { get } from "../../support/daemon/peer_clients.ts";
import { world } from "../../support/world.ts";

const read = (file: string) => readConfig({ MESH_CONFIG: "/none" }, () => file);

Deno.test("without a collector, and with null for one, traces are off", () => {
  for (const file of ["", "telemetry:\n", "telemetry:\n  otlp: null\n"]) {
    assert.equal(read(file)["telemetry.otlp"], undefined);
  }
  assert.equal(read("")["telemetry.sample"], 1);
});

Deno.test("an address is taken as it is given, and a ratio as a number", () => {
  const config = read("telemetry:\n  otlp: http://127.0.0.1:4318\n  sample: 0.25\n");
  assert.equal(config["telemetry.otlp"], "http://127.0.0.1:4318");
  assert.equal(config["telemetry.sample"], 0.25);
});

for (
  const [file, mistake] of [
    ["otlp: grpc://127.0.0.1:4317", /telemetry\.otlp: found "grpc:.*allowed: an http or https/],
    ["otlp: http://me:word@c.test", /telemetry\.otlp: found .*without user, query and fragment/],
    ["otlp: http://c.test/?key=1", /telemetry\.otlp: found .*without user, query and fragment/],
    ["sample: 2", /telemetry\.sample: found 2 .*allowed: a number, 0 to 1/],
    ["headers: my-secret", /telemetry\.headers: found a value .*allowed: name=value/],
  ] as const
) {
  Deno.test(`a mistake is refused with what is allowed: ${file}`, () => {
    assert.throws(() => read(`telemetry:\n  ${file}\n`), mistake);
  });
}

Deno.test("GET /config shows the collector, and never its headers", async () => {
  const settings = {
    "telemetry.otlp": "http://127.0.0.1:4318",
    "telemetry.headers": "x-key=secret-key",
  };
  await using w = world({ settings });
  const { settings: shown } = await get(w, "/config");
  const of = (key: string) => shown.find((setting: { key: string }) => setting.key === key);
  assert.equal(of("telemetry.otlp").value, "http://127.0.0.1:4318");
  assert.deepEqual([of("telemetry.headers").is_set, of("telemetry.headers").value], [true, null]);
  assert.doesNotMatch(JSON.stringify(shown), /secret-key/);
});
