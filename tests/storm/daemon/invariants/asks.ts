/** Invariants of asks: each closes once, its asker hears once, a wait agrees with the record. */

import assert from "node:assert/strict";
import { identOf, type Message, type Snapshot } from "../snapshot.ts";
import type { Invariant, Storm } from "../storm.ts";

export const ASK_INVARIANTS: readonly Invariant[] = [
  { name: "a closed ask has no queued delivery, and stays closed", check: checkClosed },
  { name: "an ask is closed exactly when one event reported its end", check: checkReportedEnd },
  { name: "the asker of a push ask gets one ack, and of a pull ask none", check: checkAcks },
  { name: "a wait returns what the record holds, as soon as it is there", check: checkWaits },
  { name: "each message to the human has exactly one inbox item", check: checkInboxItems },
];

function checkClosed({ before }: Storm, { messages }: Snapshot): void {
  for (const { ident, ask_state, state, close_reason } of messages) {
    const previous = before.byIdent.get(ident);
    if (previous?.ask_state === "closed") {
      assert.deepEqual([ask_state, close_reason], ["closed", previous.close_reason], ident);
    }
    if (ask_state === "closed") assert.notEqual(state, "queued", ident);
  }
}

function checkReportedEnd(storm: Storm, { messages }: Snapshot): void {
  for (const { kind, ident, ask_state, close_reason } of messages) {
    if (kind !== "ask") continue;
    const reportedReason = storm.ended.get(`ask-${ident}`);
    assert.equal(reportedReason, ask_state === "closed" ? close_reason : undefined, ident);
  }
}

function checkAcks({ before }: Storm, { messages, peers }: Snapshot): void {
  const acksByAsk = Map.groupBy(
    messages.filter(({ kind }) => kind === "ack"),
    ({ correlation_id, to_peer_id }) => `${correlation_id} ${to_peer_id}`,
  );
  for (const ask of messages) {
    if (ask.kind !== "ask" || ask.from_peer_id === null) continue;
    const reportedReason = acksByAsk.get(`ask-${ask.ident} ${ask.from_peer_id}`)?.length ?? 0;
    const expectsAck = ask.ask_state === "closed" && ask.reply_delivery === "push" &&
      ask.close_reason !== "cancelled";
    if (!expectsAck) assert.equal(reportedReason, 0, ask.ident);
    else assert.ok(reportedReason <= 1, ask.ident);
    const wasOpen = before.byIdent.get(ask.ident)?.ask_state === "open";
    if (expectsAck && wasOpen && isAddressable(before, ask) && isAddressable({ peers }, ask)) {
      assert.equal(reportedReason, 1, ask.ident);
    }
  }
}

/** True if the asker accepts messages, according to the snapshot. */
function isAddressable({ peers }: Pick<Snapshot, "peers">, { from_peer_id }: Message): boolean {
  const peer = from_peer_id === null ? undefined : peers.get(from_peer_id);
  return Boolean(peer?.addressable) && peer?.status !== "retired";
}

async function checkWaits(storm: Storm, { byIdent }: Snapshot): Promise<void> {
  const open = storm.waits.splice(0).map(requeueUnanswered(storm));
  for (const { correlation_id, answer, error, abort } of open) {
    if (error !== undefined && !abort) throw error;
    const is_closed = byIdent.get(identOf(correlation_id))?.ask_state === "closed";
    if (answer === undefined) {
      assert.ok(abort || !is_closed, `${correlation_id} is closed, and its wait goes on`);
      continue;
    }
    if (answer["status"] !== "resolved") continue;
    const record = await storm.get(`/asks/${correlation_id}`);
    for (const field of ["outcome", "reply", "close_reason", "responder", "closed_at"]) {
      assert.deepEqual(answer[field], record[field], `${field} of ${correlation_id}`);
    }
  }
}

/** A wait without an answer is checked again after the next step. */
function requeueUnanswered(storm: Storm) {
  return (wait: Storm["waits"][number]) => {
    if (wait.answer === undefined && wait.error === undefined && !wait.abort) {
      storm.waits.push(wait);
    }
    return wait;
  };
}

function checkInboxItems(
  { w, hasForgotten }: Storm,
  { messages, inboxItems, peers }: Snapshot,
): void {
  const human = w.daemon.directory.human()?.peer_id;
  assert.ok(human !== undefined && peers.has(human));
  const reportedReason = messages.filter(({ to_peer_id }) => to_peer_id === human);
  if (!hasForgotten) assert.equal(inboxItems.length, reportedReason.length);
  const asks = new Map(messages.map((message) => [message.correlation_id, message]));
  for (const { kind, correlation_id, item_id, replied_at } of inboxItems) {
    const ask = kind === "ask" ? asks.get(correlation_id) : undefined;
    if (!ask) continue;
    const answered = ["ack", "ack_with_msg", "answered", "declined"]
      .includes(ask.close_reason ?? "");
    if (answered) assert.ok(replied_at !== null, `${item_id} is answered, and not replied`);
    if (ask.ask_state === "open") assert.equal(replied_at, null, item_id);
  }
}
