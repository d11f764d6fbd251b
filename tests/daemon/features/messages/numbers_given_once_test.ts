/** No id is used twice, whatever happens to the file, and gaps in numbers change nothing else. */

import assert from "node:assert/strict";
import * as z from "zod";
import { randomIds } from "kit/core/clock.ts";
import { NUMBER_MAX } from "../../../../daemon/data/run_numbers.ts";
import { keyedIdCodec } from "../../../../daemon/features/messages/id_codec.ts";
import { FakeClock } from "../../../support/clock.ts";
import { startAskBlocking } from "../../../support/daemon/blocking_questions.ts";
import { backedUpState, skippingIds } from "../../../support/daemon/rolled_back.ts";
import { addPeer, ask, get, notify, post } from "../../../support/daemon/peer_clients.ts";
import { type World, world } from "../../../support/world.ts";

/** Sends messages of each kind; returns the ids of the messages, the asks and the events. */
async function idsOf(w: World, count = 20): Promise<string[]> {
  await addPeer(w, "bob");
  const found: string[] = [];
  for (let index = 0; index < count; index++) {
    found.push((await notify(w, "ada", "bob", `n${index}`)).delivery_id ?? "");
    found.push(await ask(w, "ada", "bob", `a${index}`));
    found.push(await ask(w, "ada", "sam", `h${index}`));
  }
  await startAskBlocking(w, { from_peer: "ada", correlation_id: undefined });
  const { asks } = await get(w, "/asks?state=open&limit=1");
  assert.equal(asks[0].question.scope, "tool_permission");
  found.push(asks[0].correlation_id);
  // Ids of one row share their digits.
  return [...found.map((id) => id.slice(-12)), ...w.events.map(({ id }) => `event ${id}`)];
}

const shared = (first: readonly string[], second: readonly string[]) =>
  first.filter((id) => second.includes(id));

async function runOf(state: ReturnType<typeof backedUpState>, count?: number): Promise<string[]> {
  await using w = state.start();
  return await idsOf(w, count);
}

Deno.test("after its database was restored, a daemon gives no id again [c11.ids.once]", async () => {
  using state = backedUpState();
  await runOf(state);
  state.backUp("old");
  const lost = await runOf(state);
  state.putBack("old");
  const again = await runOf(state);
  assert.deepEqual(shared(lost, again), []);
  state.putBack("old"); // The same backup a second time.
  const third = await runOf(state);
  assert.deepEqual(shared([...lost, ...again], third), []);
});

Deno.test("a backup of a daemon that had sent nothing makes no id twice, either", async () => {
  using state = backedUpState();
  await state.start()[Symbol.asyncDispose]();
  state.backUp("empty");
  const lost = await runOf(state);
  state.putBack("empty");
  assert.deepEqual(shared(lost, await runOf(state)), []);
});

Deno.test("two daemons that run at once on copies of one file give different ids", async () => {
  using state = backedUpState();
  await runOf(state);
  await using first = state.startCopy("one");
  await using second = state.startCopy("other");
  assert.deepEqual(shared(await idsOf(first), await idsOf(second)), []);
});

Deno.test("a machine that continues from a memory image assigns new ids once its clock is set", async () => {
  const clocks = [new FakeClock(), new FakeClock()];
  using state = backedUpState();
  await runOf(state, 1);
  // Two copies of one memory, with the same random bytes drawn ahead.
  const copies = clocks.map((clock, index) => {
    const ids = { ...skippingIds(), distance: (max: number) => Math.ceil(max / 2) };
    return { clock, ids, w: state.startCopy(`copy${index}`, { clock, ids }) };
  });
  const [first, second] = copies;
  assert.ok(first && second);
  await using _first = first.w;
  await using _second = second.w;
  let renewed = 0;
  second.ids.distance = randomIds.distance;
  second.ids.renew = () => void renewed++;
  second.clock.step(3_600_000);
  assert.deepEqual(shared(await idsOf(first.w, 3), await idsOf(second.w, 3)), []);
  assert.equal(renewed, 2, "once for messages, once for events");
});

Deno.test("a clock that time servers slew is no reason to skip numbers", async () => {
  const clock = new FakeClock();
  await using w = world({ clock, ids: skippingIds() });
  await addPeer(w, "bob");
  const seqs = async () => {
    for (let index = 0; index < 5; index++) {
      clock.step(300);
      await notify(w, "ada", "bob");
    }
    await w.clock.settle();
    return w.daemon.ctx.db.value(z.number(), "select max(seq) - min(seq) from messages");
  };
  assert.equal(await seqs(), 4);
});

Deno.test("ids stay 12 digits, and numbers never run out however often the daemon starts", async () => {
  const codec = keyedIdCodec("k");
  for (const seq of [1, NUMBER_MAX - 1, NUMBER_MAX]) {
    assert.match(codec.ident(seq), /^[0-9a-f]{12}$/);
    assert.equal(codec.seq(codec.ident(seq)), seq);
  }
  const state = backedUpState({ ids: { ...skippingIds(), distance: (max) => max } });
  using _ = state;
  const given = new Set<string>();
  for (let run = 0; run < 40; run++) {
    await using w = state.start();
    await addPeer(w, "bob");
    const { delivery_id } = await notify(w, "ada", "bob");
    assert.ok(delivery_id && !given.has(delivery_id));
    given.add(delivery_id);
  }
});

Deno.test("retention by count keeps the newest messages of all runs, not those of the last one", async () => {
  using state = backedUpState({
    settings: { "daemon.history_messages": "25", "human.name": "sam" },
  });
  for (let run = 0; run < 4; run++) {
    await using w = state.start();
    await addPeer(w, "bob");
    for (let index = 0; index < 10; index++) {
      await post(w, "/notify", { from_peer: "ada", to_peer: "sam", text: `${run}.${index}` });
    }
    await w.tick();
    await w.tick(61);
    const { messages } = await get(w, "/messages?limit=100&kind=notify");
    const expected = Math.min(25, (run + 1) * 10);
    assert.equal(messages.length, expected);
    assert.equal(messages[0].text, `${run}.9`);
  }
});

Deno.test("a page, a search and a short id find the messages of many runs", async () => {
  using state = backedUpState();
  const ids: string[] = [];
  for (let run = 0; run < 12; run++) {
    await using w = state.start();
    await addPeer(w, "bob");
    ids.push((await notify(w, "ada", "bob", `plum ${run}`)).delivery_id ?? "");
  }
  await using w = state.start();
  const { messages, next } = await w.clock.during(get(w, "/messages?limit=50"));
  assert.deepEqual(
    messages.map(({ text }: { text: string }) => text).toReversed(),
    [
      ...ids.keys(),
    ].map((run) => `plum ${run}`),
  );
  assert.equal(next, null);
  assert.equal((await get(w, "/messages?q=plum")).messages.length, 12);
  const [first = ""] = ids;
  assert.equal((await get(w, `/ids/${first.slice(0, 14)}?of=record`)).id, first);
  assert.equal((await w.clock.during(get(w, "/deliveries?limit=100"))).deliveries.length, 12);
  assert.deepEqual(w.logged, []);
});
