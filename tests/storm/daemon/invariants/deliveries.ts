/** Invariants of deliveries: none is lost or sent twice, steps are legal, order is kept. */

import assert from "node:assert/strict";
import { deliveryMachine, type DeliveryState } from "protocol/messages/states.ts";
import { identOf, type Snapshot } from "../snapshot.ts";
import type { Invariant, Storm } from "../storm.ts";

export const DELIVERY_INVARIANTS: readonly Invariant[] = [
  { name: "every message is in exactly one state, and counted once", check: checkOneState },
  { name: "only finished messages that are a month old are removed", check: checkRetention },
  { name: "no accepted message is lost or changes its text", check: checkNothingLost },
  { name: "no refused request has left a message", check: checkNothingRefused },
  { name: "each request has one message at most", check: checkOnce },
  { name: "whatever was received is in the ledger", check: checkReceived },
  { name: "a delivery takes legal transitions only", check: checkTransitions },
  { name: "each transition is reported as it happened", check: checkReportedSteps },
  { name: "nothing is queued for a peer that accepts no messages", check: checkAddressees },
  {
    name: "no delivery is still attempting once everything has settled",
    check: checkNoneAttempting,
  },
  { name: "nothing is queued for a connected peer", check: checkSentToConnected },
  { name: "nothing that has expired is still queued after a tick", check: checkExpired },
  {
    name: "only what its receiver has read or answered is accepted or seen",
    check: checkReceipts,
  },
  { name: "a client receives the messages of each sender in their order", check: checkOrder },
];

const STATES: ReadonlySet<string> = new Set(deliveryMachine.states);

async function checkOneState(storm: Storm, { messages, byIdent }: Snapshot): Promise<void> {
  assert.equal(byIdent.size, messages.length);
  for (const { state, ident } of messages) assert.ok(STATES.has(state), `${ident}: ${state}`);
  const { total, unaccounted } = await storm.w.clock.during(storm.w.daemon.deliveryAudit.audit());
  assert.equal(total, messages.length);
  // The clock jumps, and a slow transport may take any time.
  assert.deepEqual(unaccounted.filter(({ problem }) => problem !== "attempting_too_long"), []);
}

const MONTH_MS = 30 * 86_400_000;

function checkRetention(storm: Storm, { byIdent }: Snapshot): void {
  const before = storm.w.clock.now() - MONTH_MS;
  for (const { ident, state, ask_state, created_at } of storm.before.messages) {
    if (byIdent.has(ident)) continue;
    const done = ask_state !== "open" && state !== "queued" && state !== "attempting";
    assert.ok(done && created_at <= before, `${ident} is gone`);
    storm.hasForgotten = true;
    storm.accepted.delete(ident);
    storm.steps.delete(ident);
  }
}

function checkNothingLost(storm: Storm, { byIdent }: Snapshot): void {
  for (const [ident, text] of storm.accepted) assert.equal(byIdent.get(ident)?.text, text);
}

function checkNothingRefused({ refused, before }: Storm, { messages }: Snapshot): void {
  for (const { ident, text } of messages) {
    if (!before.byIdent.has(ident)) assert.ok(!refused.has(text), `${ident} was refused`);
  }
}

/** The texts of asks and notifies; a broadcast and the ends of an ask have many messages. */
const UNIQUE_TEXT = /^sesame \d{6}$/;

function checkOnce(_: Storm, { messages }: Snapshot): void {
  const texts = messages.flatMap(({ kind, text }) =>
    (kind === "ask" || kind === "notify") && UNIQUE_TEXT.test(text) ? text : []
  );
  assert.equal(new Set(texts).size, texts.length, "A request has two messages");
}

/** Nothing may leave the daemon before it is on the disk, and a crash may not undo it. */
function checkReceived({ received, hasForgotten }: Storm, { byIdent }: Snapshot): void {
  if (hasForgotten) return;
  for (const { texts } of received.values()) {
    for (const id of texts.keys()) assert.ok(byIdent.has(identOf(id)), `${id} is not stored`);
  }
}

const EDGES = new Set(deliveryMachine.rows.map(([from, , to]) => `${from} ${to}`));
const REACHABLE = reachableTransitions();

/** Pairs of states, the second reachable from the first in any number of transitions. */
function reachableTransitions(): ReadonlySet<string> {
  const pairs = new Set<string>(EDGES);
  for (let before = 0; before !== pairs.size;) {
    before = pairs.size;
    for (const pair of [...pairs]) {
      const [from, intermediate] = pair.split(" ");
      for (const [middle, , to] of deliveryMachine.rows) {
        if (middle === intermediate) pairs.add(`${from} ${to}`);
      }
    }
  }
  return pairs;
}

function checkTransitions({ before }: Storm, { messages }: Snapshot): void {
  for (const { ident, state } of messages) {
    const previous = before.byIdent.get(ident)?.state;
    if (previous === undefined || previous === state) continue;
    assert.ok(REACHABLE.has(`${previous} ${state}`), `${ident}: ${previous} → ${state}`);
  }
}

/** Each reported step is one row of the table, and the last one is the state of the record. */
function checkReportedSteps(storm: Storm, { byIdent }: Snapshot): void {
  for (const { delivery_id, state } of storm.takeSteps()) {
    const ident = identOf(delivery_id);
    const previous = storm.steps.get(ident);
    const first = previous === undefined && ["queued", "attempting", "accepted"].includes(state);
    const unproved = previous === state && state === "sent";
    assert.ok(
      first || unproved || EDGES.has(`${previous} ${state}`),
      `${ident}: ${previous} → ${state}`,
    );
    storm.steps.set(ident, state);
  }
  for (const [ident, state] of storm.steps) {
    const now = byIdent.get(ident)?.state;
    const dropped = state === "queued" && now === "dropped"; // A dropped queue is reported as one event.
    assert.ok(now === state || dropped, `${ident}: reported ${state}, but is ${now}`);
  }
}

function checkAddressees(_: Storm, { messages, peers }: Snapshot): void {
  for (const { state, to_peer_id, ident } of messages) {
    if (state !== "queued") continue;
    const peer = peers.get(to_peer_id);
    const isAddressable = peer && peer.addressable && peer.status !== "retired" && !peer.closed;
    assert.ok(isAddressable, `${ident} for ${peer?.name}`);
  }
}

/** A frame is written at once; other transports may be slow. */
function checkNoneAttempting({ adapter }: Storm, { messages }: Snapshot): void {
  for (const { state, transport, ident } of messages) {
    const isSlow = transport !== "websocket" && adapter.isSlow;
    assert.ok(state !== "attempting" || isSlow, `${ident} by ${transport}`);
  }
}

/**
 * Queued messages go out, and repeatable ones are sent on the current connection. A peer that was
 * taken offline gets nothing on its open connection until it is heard of again.
 */
function checkSentToConnected({ actors }: Storm, { messages, peers }: Snapshot): void {
  const connections = new Map(
    actors.flatMap(({ connection }) =>
      connection ? [[connection.peer_id, connection] as const] : []
    ),
  );
  for (const peer_id of connections.keys()) {
    if (peers.get(peer_id)?.status === "offline") connections.delete(peer_id);
  }
  for (const { state, transport, repeatable, to_peer_id, ident, kind } of messages) {
    const connection = connections.get(to_peer_id);
    if (!connection) continue;
    assert.notEqual(state, "queued", ident);
    if (state !== "sent" || transport !== "websocket" || !repeatable) continue;
    assert.ok(connection.sent.has(`${kind === "notify" ? "notif" : "qd"}-${ident}`), ident);
  }
}

function checkExpired(storm: Storm, { messages }: Snapshot): void {
  if (!storm.hasTicked) return;
  const now = storm.w.clock.now();
  for (const { state, expires_at, ident } of messages) {
    assert.ok(state !== "queued" || expires_at === null || expires_at > now, ident);
  }
}

const ANSWER_REASONS = new Set(["ack", "ack_with_msg", "answered", "declined"]);
const RECEIVED_STATES = new Set<string>(["accepted", "seen"] satisfies DeliveryState[]);

function checkReceipts(storm: Storm, { messages, peers }: Snapshot): void {
  for (const { state, to_peer_id, ident, kind, close_reason } of messages) {
    if (!RECEIVED_STATES.has(state) || peers.get(to_peer_id)?.role === "human") continue;
    if (kind === "ask" && ANSWER_REASONS.has(close_reason ?? "")) continue;
    const settled = storm.received.get(to_peer_id)?.receipted;
    const ids = [`qd-${ident}`, `notif-${ident}`, `ask-${ident}`];
    assert.ok(ids.some((id) => settled?.has(id)), `${ident} is ${state}`);
  }
}

/**
 * The messages of a sender come as they were accepted, and the numbers in their texts rise.
 * Messages of a lost lease come late, and a text that was refused may be sent again later.
 */
function checkOrder({ received, keyedTexts }: Storm, { byIdent }: Snapshot): void {
  for (const [peer_id, { texts, lateIds }] of received) {
    const last = new Map<string, { readonly seq: number; readonly number: string }>();
    for (const [delivery_id, text] of texts) {
      const [, from = "", number = ""] = /^(\S+) sesame (\d{6})$/.exec(text) ?? [];
      const seq = byIdent.get(identOf(delivery_id))?.seq;
      if (number === "" || seq === undefined || lateIds.has(delivery_id)) continue;
      const before = last.get(from) ?? { seq: 0, number: "" };
      const isRepeated = keyedTexts.has(`sesame ${number}`);
      const isInOrder = seq > before.seq && (isRepeated || number > before.number);
      assert.ok(isInOrder, `${peer_id} received ${text} after ${before.number}`);
      last.set(from, { seq, number: isRepeated ? before.number : number });
    }
  }
}
