/** Invariants of asks: each ends once, its asker is told once, a wait says what the record says. */

import assert from "node:assert/strict";
import { identOf, type Message, type Picture } from "../snapshot.ts";
import type { Invariant, Storm } from "../storm.ts";

export const ABOUT_ASKS: readonly Invariant[] = [
  { name: "a closed ask has no queued delivery, and stays closed", check: closed },
  { name: "an ask is closed when its end was told, once", check: ended },
  { name: "the asker of a push ask is told once, of a pull ask never", check: tellsOnce },
  { name: "a wait answers what the record says, as soon as it is there", check: waits },
  { name: "an inbox item is there once for each message to the human", check: items },
];

function closed({ before }: Storm, { messages }: Picture): void {
  for (const { ident, ask_state, state, close_reason } of messages) {
    const was = before.byIdent.get(ident);
    if (was?.ask_state === "closed") {
      assert.deepEqual([ask_state, close_reason], ["closed", was.close_reason], ident);
    }
    if (ask_state === "closed") assert.notEqual(state, "queued", ident);
  }
}

function ended(storm: Storm, { messages }: Picture): void {
  for (const { kind, ident, ask_state, close_reason } of messages) {
    if (kind !== "ask") continue;
    const told = storm.ended.get(`ask-${ident}`);
    assert.equal(told, ask_state === "closed" ? close_reason : undefined, ident);
  }
}

function tellsOnce({ before }: Storm, { messages, peers }: Picture): void {
  const endings = Map.groupBy(
    messages.filter(({ kind }) => kind === "ack"),
    ({ correlation_id, to_peer_id }) => `${correlation_id} ${to_peer_id}`,
  );
  for (const ask of messages) {
    if (ask.kind !== "ask" || ask.from_peer_id === null) continue;
    const told = endings.get(`ask-${ask.ident} ${ask.from_peer_id}`)?.length ?? 0;
    const heard = ask.ask_state === "closed" && ask.reply_delivery === "push" &&
      ask.close_reason !== "cancelled";
    if (!heard) assert.equal(told, 0, ask.ident);
    else assert.ok(told <= 1, ask.ident);
    const fresh = before.byIdent.get(ask.ident)?.ask_state === "open";
    if (heard && fresh && couldHear(before, ask) && couldHear({ peers }, ask)) {
      assert.equal(told, 1, ask.ident);
    }
  }
}

/** Whether the asker takes messages, as far as a picture tells. */
function couldHear({ peers }: Pick<Picture, "peers">, { from_peer_id }: Message): boolean {
  const peer = from_peer_id === null ? undefined : peers.get(from_peer_id);
  return Boolean(peer?.addressable) && peer?.status !== "retired";
}

async function waits(storm: Storm, { byIdent }: Picture): Promise<void> {
  const open = storm.waits.splice(0).map(keepOpen(storm));
  for (const { correlation_id, answer, fault, gone } of open) {
    if (fault !== undefined && !gone) throw fault;
    const is_closed = byIdent.get(identOf(correlation_id))?.ask_state === "closed";
    if (answer === undefined) {
      assert.ok(gone || !is_closed, `${correlation_id} is closed, and its wait goes on`);
      continue;
    }
    if (answer["status"] !== "resolved") continue;
    const record = await storm.get(`/asks/${correlation_id}`);
    for (const field of ["outcome", "reply", "close_reason", "responder", "closed_at"]) {
      assert.deepEqual(answer[field], record[field], `${field} of ${correlation_id}`);
    }
  }
}

/** A wait without an answer is looked at again after the next step. */
function keepOpen(storm: Storm) {
  return (wait: Storm["waits"][number]) => {
    if (wait.answer === undefined && wait.fault === undefined && !wait.gone) storm.waits.push(wait);
    return wait;
  };
}

function items({ w, forgot }: Storm, { messages, items, peers }: Picture): void {
  const human = w.daemon.directory.human()?.peer_id;
  assert.ok(human !== undefined && peers.has(human));
  const told = messages.filter(({ to_peer_id }) => to_peer_id === human);
  if (!forgot) assert.equal(items.length, told.length);
  const asks = new Map(messages.map((message) => [message.correlation_id, message]));
  for (const { kind, correlation_id, item_id, replied_at } of items) {
    const ask = kind === "ask" ? asks.get(correlation_id) : undefined;
    if (!ask) continue;
    const answered = ["ack", "ack_with_msg", "answered", "declined"]
      .includes(ask.close_reason ?? "");
    if (answered) assert.ok(replied_at !== null, `${item_id} is answered, and not replied`);
    if (ask.ask_state === "open") assert.equal(replied_at, null, item_id);
  }
}
