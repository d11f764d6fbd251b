/** Positions in the event log after a restore of the database, and after a restart. */

import assert from "node:assert/strict";
import { backedUpState } from "../../../support/daemon/rolled_back.ts";
import { addPeer, get as getOnce } from "../../../support/daemon/peer_clients.ts";
import { readFrames } from "../../../support/daemon/event_frames.ts";
import type { World } from "../../../support/world.ts";

/** A list is read in steps, between which other requests run. */
const get = (w: World, path: string) => w.clock.during(getOnce(w, path));

const lastOf = async (w: World): Promise<number> =>
  (await get(w, "/events?limit=1000")).events.at(-1).id;

Deno.test("a position from before a restore gets a gap, and the stream continues live", async () => {
  using state = backedUpState();
  {
    await using w = state.start();
    await addPeer(w, "ada");
  }
  state.backUp("old");
  const lost: number[] = [];
  for (let run = 0; run < 2; run++) {
    const w = state.start();
    await addPeer(w, `bob${run}`);
    lost.push(await lastOf(w));
    await w[Symbol.asyncDispose]();
    state.putBack("old");
  }
  await using w = state.start();
  await addPeer(w, "eve");
  const { oldest, last } = w.daemon.ctx.events;
  for (const since of [...lost, last + 1000, 2 ** 48 - 1, Math.ceil(last / 2)]) {
    const frames = await readFrames(w, `?since=${since}`, async () => {
      await w.post("/peers/ada/description", { description: String(since) });
    });
    assert.deepEqual(frames.slice(0, 2).map(({ event }) => event), ["ready", "gap"], `${since}`);
    assert.equal(frames.at(-1)?.id, w.daemon.ctx.events.last);
    const page = await get(w, `/events?since=${since}`);
    assert.deepEqual(page.gap, { oldest });
    if (since > w.daemon.ctx.events.last) {
      assert.deepEqual([page.events, page.next], [[], w.daemon.ctx.events.last]);
    }
  }
});

Deno.test("positions of earlier runs of one log are continued without a gap", async () => {
  using state = backedUpState();
  const known: number[] = [0];
  for (let run = 0; run < 3; run++) {
    await using w = state.start();
    await addPeer(w, `peer${run}`);
    known.push(await lastOf(w));
  }
  await using w = state.start();
  await addPeer(w, "eve");
  for (const since of known) {
    const frames = await readFrames(w, `?since=${since}`);
    assert.deepEqual(frames.map(({ event }) => event).includes("gap"), false);
    const { events, gap } = await get(w, `/events?since=${since}`);
    assert.equal(gap, undefined);
    assert.deepEqual(
      frames.flatMap(({ id }) => id ?? []),
      events.map(({ id }: { id: number }) => id),
    );
  }
  const replayed = await readFrames(w, "?replay=4");
  assert.equal(replayed.filter(({ id }) => id !== undefined).length, 4);
  assert.equal((await get(w, "/events?replay=4")).events.length, 4);
  assert.equal((await get(w, "/events?type=peer_registered")).events.length, 5);
});
