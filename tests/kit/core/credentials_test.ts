/** Addresses that are refused: no message shows their user name, password or query. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { hideCredentials, messageOf } from "kit/core/text.ts";
import { joinRelay } from "../../../cli/setup/relay.ts";
import { apiBase } from "../../../surfaces/chat/program.ts";
import { readConfig } from "../../../daemon/app/config.ts";
import { parseAddresses } from "../../../daemon/machines/nats/addresses.ts";
import { readRelayConfig } from "../../../relay/app/config.ts";
import { answeringDaemon } from "../../support/cli/answering_daemon.ts";

const ADDRESSES = [
  "ftp://me:hunter2@relay.example",
  "https://me:hunter2@relay.example/x",
  "tls://me:hunter2@bus.example:4222,tls://you:hunter2@other.example",
  "tls://me:hunt/hunter2@bus.example",
  "tls://hunter2@bus.example",
  "me:hunter2@bus.example:4222",
  "http://relay.example/?key=hunter2#f",
];

Deno.test("the parts of an address that may be secret are hidden, and no others", () => {
  assert.deepEqual(ADDRESSES.map(hideCredentials), [
    "ftp://[hidden]@relay.example",
    "https://[hidden]@relay.example/x",
    "tls://[hidden]@other.example",
    "tls://[hidden]@bus.example",
    "tls://[hidden]@bus.example",
    "[hidden]@bus.example:4222",
    "http://relay.example/?key=[hidden]#f",
  ]);
  for (const plain of ["tls://a:4222,tls://b", "nats://h?insecure", "@sam", "a@b.c", "12:30"]) {
    assert.equal(hideCredentials(plain), plain);
  }
});

const config = (key: string) => (address: string) =>
  void readConfig({ HOME: "/home/ada", [key]: address }, () => undefined);
const REFUSERS: Readonly<Record<string, (address: string) => unknown>> = {
  "relay.url": config("MESH_RELAY__URL"),
  "mesh.bus.url": config("MESH_MESH__BUS__URL"),
  "telemetry.otlp": config("MESH_TELEMETRY__OTLP"),
  "the relay's issuer": (RELAY_OAUTH_ISSUER) => readRelayConfig({ RELAY_OAUTH_ISSUER }),
  "the relay's collector": (RELAY_TELEMETRY_OTLP) => readRelayConfig({ RELAY_TELEMETRY_OTLP }),
  "an address of the bus": parseAddresses,
  "mesh setup --relay": (url) => {
    const send = () => Promise.reject(new Error("no request is sent"));
    return joinRelay({ env: {}, url, dry_run: true, clock: systemClock, send });
  },
  "the address of a chat": (base) =>
    apiBase({ SLACK_API_BASE: base.replace("https", "http") }, "SLACK_API_BASE", ""),
  "mesh machines join": (address) => runMesh("machines", "join", address),
  "mesh machines serve": (host) => runMesh("machines", "serve", "--host", host),
};

/** Throws what the command printed, if it failed. */
async function runMesh(...args: string[]): Promise<void> {
  await using daemon = answeringDaemon();
  const { code, err } = await daemon.mesh(args);
  if (code !== 0) throw new Error(err);
}

for (const [what, refuse] of Object.entries(REFUSERS)) {
  Deno.test(`${what} refuses an address without showing its password`, async () => {
    let refused = 0;
    for (const address of ADDRESSES) {
      try {
        await refuse(address);
      } catch (error) {
        refused++;
        assert.doesNotMatch(messageOf(error), /hunter2/, address);
      }
    }
    assert.ok(refused >= 5, `${refused} addresses were refused`);
  });
}
