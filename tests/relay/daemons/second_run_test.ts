/** Two runs of one daemon id at a relay: the first one stays while it is alive. */

import assert from "node:assert/strict";
import { helloFrame, ScriptedDaemon } from "../../support/relay/scripted_daemon.ts";
import {
  daemonId,
  NAMESPACE,
  RELAY,
  type RelayWorld,
  relayWorld,
  SECRET,
} from "../../support/relay/relay_world.ts";

const ADDRESS = RELAY.replace("https", "wss");

/** A daemon that sends only the frames of the test. */
async function scriptedDaemon(r: RelayWorld, number: number, more: { readonly hello: unknown }) {
  const options = { address: ADDRESS, secret: SECRET, daemon_id: daemonId(number), ...more };
  const daemon = ScriptedDaemon.openSocket(r.openSocket, options);
  await daemon.whenOpened;
  await r.clock.settle();
  return daemon;
}

/** The first frame of a run of daemon 1. */
const helloOf = (run: string) => ({ ...helloFrame("laptop"), run: run.repeat(16) });

/** Keeps a scripted daemon alive: it answers pings. */
function live(daemon: ScriptedDaemon): void {
  daemon.on = (frame) => {
    if (frame.type === "ping") daemon.sendFrame({ type: "pong", ping_id: frame.ping_id });
  };
}

Deno.test("a second run of a daemon id is refused while the first one lives [c11.run.relay]", async () => {
  await using r = relayWorld();
  const first = await scriptedDaemon(r, 1, { hello: helloOf("a") });
  live(first);
  for (const run of ["b", "c"]) {
    const copy = await scriptedDaemon(r, 1, { hello: helloOf(run) });
    await r.tick(1);
    assert.equal(copy.of("welcome").length, 0);
    assert.equal(copy.of("refused")[0]?.["error"], "identity_in_use");
    assert.match(String(copy.of("refused")[0]?.["detail"]), /on laptop.*renew-identity/);
    assert.equal(copy.closed?.code, 4014);
  }
  assert.equal(first.closed, undefined);
  assert.equal(r.relay.machines.list(NAMESPACE).length, 1);
});

Deno.test("a new run takes the place of one that gives no sign of life for 3 s", async () => {
  await using r = relayWorld();
  const frozen = await scriptedDaemon(r, 1, { hello: helloOf("a") });
  const next = await scriptedDaemon(r, 1, { hello: helloOf("b") });
  await r.tick(2);
  assert.deepEqual([next.of("welcome").length, frozen.closed], [0, undefined]);
  await r.tick(1);
  assert.deepEqual([next.of("welcome").length, frozen.closed?.code], [1, 4009]);
  live(next);
  const woken = await scriptedDaemon(r, 1, { hello: helloOf("a") });
  await r.tick(1);
  assert.equal(woken.closed?.code, 4014);
});

Deno.test("a new run is admitted at once when the first one ends, and a second one is not", async () => {
  await using r = relayWorld();
  const first = await scriptedDaemon(r, 1, { hello: helloOf("a") });
  const next = await scriptedDaemon(r, 1, { hello: helloOf("b") });
  live(next);
  const third = await scriptedDaemon(r, 1, { hello: helloOf("c") });
  first.close();
  await r.tick(1);
  const welcomed = [next, third].map((daemon) => daemon.of("welcome").length);
  assert.deepEqual([welcomed, third.closed?.code], [[1, 0], 4014]);
});

Deno.test("a connection of the same run replaces the older one at once", async () => {
  await using r = relayWorld();
  const older = await scriptedDaemon(r, 1, { hello: helloOf("a") });
  live(older);
  const newer = await scriptedDaemon(r, 1, { hello: helloOf("a") });
  assert.deepEqual([newer.of("welcome").length, older.closed?.code], [1, 4009]);
});
