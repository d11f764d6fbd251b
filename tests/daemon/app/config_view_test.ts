/** `GET /config`: the settings in force, their sources, and never a secret. */

import assert from "node:assert/strict";
import { readConfigInForce } from "../../../daemon/app/config.ts";
import { settingsInForce } from "../../../daemon/app/config_view.ts";
import { getConfig, type Setting } from "protocol/api/config.ts";
import { isWithheld } from "../../../daemon/host/tmux/terminals.ts";
import { relayWorld } from "../../support/relay/relay_world.ts";
import { world } from "../../support/world.ts";

const ENV = { MESH_CONFIG: "/etc/mesh.yaml", MESH_DAEMON__PORT: "9001" };

function view(file: string, env: Record<string, string> = ENV): Map<string, Setting> {
  const { path, settings } = settingsInForce(readConfigInForce(env, () => file));
  assert.equal(path, "/etc/mesh.yaml");
  return new Map(settings.map((setting) => [setting.key, setting]));
}

Deno.test("each setting names its source: the default, the file, or a variable over the file", () => {
  const found = view("daemon: {port: 9000, history_days: 7}");
  const sourceOf = (key: string) => {
    const { value, source, origin } = found.get(key) ?? assert.fail(key);
    return [value, source, origin];
  };
  assert.deepEqual(sourceOf("daemon.port"), [9001, "environment", "MESH_DAEMON__PORT"]);
  assert.deepEqual(sourceOf("daemon.history_days"), [7, "file", "/etc/mesh.yaml"]);
  assert.deepEqual(sourceOf("daemon.host"), ["127.0.0.1", "default", null]);
});

Deno.test("nothing that is or may hold a secret leaves the daemon", () => {
  const file = `
daemon: {auth_token: CANARY-0123456789}
human: {name: sam}
relay: {enabled: true, url: "https://relay.example", secret: mesh_sk_${"C".repeat(43)}}
routing: {strategy: webhook, webhook: "https://user:CANARY@router.example/?key=CANARY"}
surfaces: {telegram: {token: "1:CANARY-TOKEN", chat_id: 1}}
telemetry: {otlp: "https://collector.example", headers: "authorization=CANARY"}
spawn:
  allowed_paths: [/srv]
  env: {API_KEY: CANARY}
  commands: {codex: [codex, --key, CANARY]}
jobs: {checks: {unit: {argv: [sh, -c, CANARY], timeout_seconds: 5}}}
`;
  const found = view(file);
  const text = JSON.stringify([...found.values()]);
  assert.ok(!/CANARY|mesh_sk_/.test(text), text);
  const token = found.get("daemon.auth_token");
  assert.deepEqual([token?.form, token?.is_set, token?.value], ["hidden", true, null]);
  assert.deepEqual(found.get("spawn.env")?.value, ["API_KEY"]);
  assert.deepEqual(found.get("spawn.allowed_paths")?.value, ["/srv"]);
});

Deno.test("no program gets the variable of a setting that is or may hold a secret", () => {
  const secret = [...view("").values()].filter(({ form }) => form !== "shown");
  assert.ok(secret.length > 8);
  const variables = secret.map(({ key }) => `MESH_${key.toUpperCase().replaceAll(".", "__")}`);
  for (const name of [...variables, "MESH_SPAWN__ENV__API", "RELAY_TELEMETRY_HEADERS"]) {
    assert.deepEqual([name, isWithheld(name), isWithheld(name.toLowerCase())], [name, true, true]);
  }
  for (const name of ["PATH", "MESH_STATE", "MESH_CONFIG", "MESH_DAEMON__PORT", "HOME"]) {
    assert.equal(isWithheld(name), false, name);
  }
});

Deno.test("GET /config lists every setting of this daemon", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const { settings } = await w.call(getConfig, {});
  const name = settings.find(({ key }) => key === "human.name");
  assert.deepEqual([name?.value, name?.source, name?.origin], [
    "sam",
    "environment",
    "MESH_HUMAN__NAME",
  ]);
});

Deno.test("GET /config passes the tunnel only with relay.allow_admin", async () => {
  for (const [allow_admin, status] of [["false", 403], ["true", 200]] as const) {
    await using r = relayWorld();
    await using _w = await r.daemon(1, { settings: { "relay.allow_admin": allow_admin } });
    const answer = await r.ask(1, "/config", { origin: "browser" });
    assert.equal(answer.status, status);
    await answer.body?.cancel();
  }
});
