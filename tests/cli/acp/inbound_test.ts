/** Messages for an agent: each is prompted once, and its receipt is repeated on demand. */

import assert from "node:assert/strict";
import { DONE_MAX, Inbound, WAITING_MAX } from "../../../cli/acp/inbound.ts";

function fixture() {
  const sent: Record<string, unknown>[] = [];
  const counts = { arrived: 0, offers: 0 };
  const inbound = new Inbound({
    send: (frame) => void sent.push(frame as Record<string, unknown>),
    reoffer: () => counts.offers++,
    arrived: () => counts.arrived++,
  });
  const receive = (delivery_id: string, more: object = {}) =>
    inbound.received({ type: "notify", delivery_id, from_peer: "web", framed: "Hello", ...more });
  return { inbound, sent, counts, receive };
}

Deno.test("a message that comes again while it waits is prompted once", () => {
  const { inbound, receive, sent } = fixture();
  receive("d1");
  receive("d1");
  assert.equal(inbound.next()?.delivery_id, "d1");
  receive("d1");
  assert.deepEqual([inbound.next(), sent], [undefined, []]);
});

Deno.test("a message that comes again once it is finished gets the same receipt", () => {
  const { inbound, receive, sent, counts } = fixture();
  for (const id of ["d1", "d2"]) receive(id);
  const [first, second] = [inbound.next(), inbound.next()];
  assert(first && second);
  inbound.seen(first);
  inbound.failed(second, "x".repeat(2_000));
  for (const id of ["d1", "d2"]) receive(id);
  const receipts = sent.map(({ delivery_id, status }) => [delivery_id, status]);
  const once = [["d1", "seen"], ["d2", "failed"]];
  assert.deepEqual(receipts, [...once, ...once]);
  assert.equal(String(sent[1]?.["detail"]).length, 1_000);
  assert.equal(counts.arrived, 2);
});

Deno.test("input that is no message for an agent is ignored", () => {
  const { inbound, receive } = fixture();
  receive("d1", { type: "inbox_item" });
  receive("d2", { framed: undefined });
  assert.equal(inbound.next(), undefined);
});

Deno.test("1,000 messages wait; more are left to the daemon until these are read", () => {
  const { inbound, receive, sent, counts } = fixture();
  for (let id = 0; id <= WAITING_MAX; id++) receive(`d${id}`);
  assert.equal(counts.arrived, WAITING_MAX);
  for (let at = 1; at < WAITING_MAX; at++) inbound.next();
  assert.equal(counts.offers, 0);
  assert.equal(inbound.next()?.delivery_id, `d${WAITING_MAX - 1}`);
  assert.deepEqual([counts.offers, sent], [1, []]);
  receive(`d${WAITING_MAX}`);
  assert.equal(inbound.next()?.delivery_id, `d${WAITING_MAX}`);
});

Deno.test("the oldest of 6,000 finished messages is forgotten first", () => {
  const { inbound, receive, sent } = fixture();
  for (let id = 0; id <= DONE_MAX + WAITING_MAX; id++) {
    receive(`d${id}`);
    const message = inbound.next();
    assert(message);
    inbound.seen(message);
  }
  sent.length = 0;
  receive("d1");
  assert.equal(sent.length, 1);
  receive("d0");
  assert.equal(inbound.next()?.delivery_id, "d0");
});
