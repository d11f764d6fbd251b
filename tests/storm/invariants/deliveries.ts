/** Invariants of deliveries: conservation, legal steps, order, and nothing sent twice. */

import assert from "node:assert/strict";
import { deliveryMachine, type DeliveryState } from "../../../daemon/features/messages/machine.ts";
import { identOf, type Snapshot } from "../snapshot.ts";
import type { Invariant, Storm } from "../storm.ts";

export const DELIVERY_INVARIANTS: readonly Invariant[] = [
  { name: "every message is in exactly one state, and counted once", check: checkOneState },
  { name: "only what is done and a month old is forgotten", check: checkRetention },
  { name: "nothing that was accepted is lost, or changes its text", check: checkNothingLost },
  { name: "a delivery takes legal steps only", check: checkTransitions },
  { name: "each step is told as it was taken", check: checkReportedSteps },
  { name: "nothing is queued for one who takes no messages", check: checkAddressees },
  { name: "nothing is still attempting when all is at rest", check: checkNoneAttempting },
  { name: "nothing waits for one who is connected", check: checkSentToConnected },
  { name: "nothing that has expired is still queued after a beat", check: checkExpired },
  {
    name: "accepted and seen is only what its receiver has, or has answered",
    check: checkReceipts,
  },
  { name: "a client hears each sender in the order in which it spoke", check: checkOrder },
];

const STATES: ReadonlySet<string> = new Set(deliveryMachine.states);

function checkOneState(storm: Storm, { messages, byIdent }: Snapshot): void {
  assert.equal(byIdent.size, messages.length);
  for (const { state, ident } of messages) assert.ok(STATES.has(state), `${ident}: ${state}`);
  const counts = Object.values(storm.w.daemon.deliveryAudit.counts());
  assert.equal(counts.reduce((sum, count) => sum + count, 0), messages.length);
  // The clock jumps, and a transport of ours may take as long as it likes.
  const wrong = storm.w.daemon.deliveryAudit.audit().unaccounted
    .filter(({ problem }) => problem !== "attempting_too_long");
  assert.deepEqual(wrong, []);
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

const EDGES = new Set(deliveryMachine.rows.map(([from, , to]) => `${from} ${to}`));
const REACHABLE = reachableTransitions();

/** Which states may follow which, in however many steps. */
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

/** The live steps: each is one row of the table, and the last is where the row stands. */
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
    const dropped = state === "queued" && now === "dropped"; // A dropped queue is one event.
    assert.ok(now === state || dropped, `${ident}: told ${state}, is ${now}`);
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
function checkNoneAttempting(_: Storm, { messages }: Snapshot): void {
  for (const { state, transport, ident } of messages) {
    assert.ok(state !== "attempting" || transport !== "websocket", ident);
  }
}

/**
 * What waits goes out, and what may come again comes on the line that is there now. A peer that was
 * taken offline is sent nothing over its open line until it is heard of.
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

/** Texts bear rising numbers; what a lost drain took comes late. */
function checkOrder({ received }: Storm): void {
  for (const [peer_id, { texts, lateIds }] of received) {
    const last = new Map<string, string>();
    for (const [delivery_id, text] of texts) {
      const [, from = "", number = ""] = /^(\S+) sesame (\d{6})$/.exec(text) ?? [];
      if (number === "" || lateIds.has(delivery_id)) continue;
      assert.ok(
        (last.get(from) ?? "") < number,
        `${peer_id} heard ${text} after ${last.get(from)}`,
      );
      last.set(from, number);
    }
  }
}
