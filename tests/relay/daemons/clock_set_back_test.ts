/** The tunnel after the clock was set back, as by a time server after a wrong start. */

import assert from "node:assert/strict";
import { getHealth } from "protocol/api/events.ts";
import { isUnreachable } from "protocol/relay/daemons.ts";
import { SwiftClock } from "../../support/swift_clock.ts";
import { ScriptedDaemon } from "../../support/relay/scripted_daemon.ts";
import { daemonId, RELAY, relayWorld, SECRET } from "../../support/relay/relay_world.ts";
import type { World } from "../../support/world.ts";

const NIGHT_MS = 8 * 3_600_000;

async function isConnected(w: World): Promise<boolean> {
  return (await w.call(getHealth, {})).relay.status === "connected";
}

Deno.test("a daemon that has lost its relay connects again", async () => {
  const clock = new SwiftClock();
  await using r = relayWorld(clock);
  await using w = await r.daemon(1);
  await r.tick(5, w);
  r.connections.at(-1)?.[0].cut();
  await clock.settle();
  assert.ok(!await isConnected(w));
  clock.step(-NIGHT_MS);
  await r.tick(120, w);
  assert.ok(await isConnected(w));
});

Deno.test("the relay admits a daemon that has not been there before", async () => {
  const clock = new SwiftClock();
  await using r = relayWorld(clock);
  await using _first = await r.daemon(1);
  clock.step(-NIGHT_MS);
  await using w = await r.daemon(2);
  await r.tick(120, w);
  assert.ok(await isConnected(w));
});

Deno.test("a request to a machine that does not answer times out", async () => {
  const clock = new SwiftClock();
  await using r = relayWorld(clock);
  const address = RELAY.replace("https", "wss");
  const dial = { address, secret: SECRET, daemon_id: daemonId(1) };
  const daemon = ScriptedDaemon.openSocket(r.openSocket, dial);
  await daemon.whenOpened;
  await clock.settle();
  const asked = r.ask(1, "/peers", { timeout_ms: 10_000 }).then(String, (error) => error);
  await r.tick(1);
  clock.step(-NIGHT_MS);
  await r.tick(12);
  const ended = await Promise.race([asked, clock.settle()]);
  assert.ok(isUnreachable(ended) && ended.code === "timed_out", String(ended));
});
