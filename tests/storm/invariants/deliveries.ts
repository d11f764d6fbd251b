/** Invariants of deliveries: conservation, legal steps, order, and nothing sent twice. */

import assert from "node:assert/strict";
import { deliveryMachine, type DeliveryState } from "../../../daemon/features/messages/machine.ts";
import { identOf, type Picture } from "../snapshot.ts";
import type { Invariant, Storm } from "../storm.ts";

export const ABOUT_DELIVERIES: readonly Invariant[] = [
  { name: "every message is in exactly one state, and counted once", check: conserved },
  { name: "only what is done and a month old is forgotten", check: remembered },
  { name: "nothing that was accepted is lost, or changes its text", check: kept },
  { name: "a delivery takes legal steps only", check: legal },
  { name: "each step is told as it was taken", check: told },
  { name: "nothing is queued for one who takes no messages", check: takers },
  { name: "nothing is still attempting when all is at rest", check: atRest },
  { name: "nothing waits for one who is connected", check: flows },
  { name: "nothing that has expired is still queued after a beat", check: expired },
  { name: "accepted and seen is only what its receiver has, or has answered", check: believed },
  { name: "a client hears each sender in the order in which it spoke", check: ordered },
];

const STATES: ReadonlySet<string> = new Set(deliveryMachine.states);

function conserved(storm: Storm, { messages, byIdent }: Picture): void {
  assert.equal(byIdent.size, messages.length);
  for (const { state, ident } of messages) assert.ok(STATES.has(state), `${ident}: ${state}`);
  const counts = Object.values(storm.w.daemon.delivery.counts());
  assert.equal(counts.reduce((sum, count) => sum + count, 0), messages.length);
  // The clock jumps, and a rung of ours may take as long as it likes.
  const wrong = storm.w.daemon.delivery.audit().unaccounted
    .filter(({ problem }) => problem !== "attempting_too_long");
  assert.deepEqual(wrong, []);
}

const MONTH_MS = 30 * 86_400_000;

function remembered(storm: Storm, { byIdent }: Picture): void {
  const before = storm.w.clock.now() - MONTH_MS;
  for (const { ident, state, ask_state, created_at } of storm.before.messages) {
    if (byIdent.has(ident)) continue;
    const done = ask_state !== "open" && state !== "queued" && state !== "attempting";
    assert.ok(done && created_at <= before, `${ident} is gone`);
    storm.forgot = true;
    storm.accepted.delete(ident);
    storm.steps.delete(ident);
  }
}

function kept(storm: Storm, { byIdent }: Picture): void {
  for (const [ident, text] of storm.accepted) assert.equal(byIdent.get(ident)?.text, text);
}

const EDGES = new Set(deliveryMachine.rows.map(([from, , to]) => `${from} ${to}`));
const REACHABLE = closure();

/** Which states may follow which, in however many steps. */
function closure(): ReadonlySet<string> {
  const pairs = new Set<string>(EDGES);
  for (let before = 0; before !== pairs.size;) {
    before = pairs.size;
    for (const pair of [...pairs]) {
      const [from, over] = pair.split(" ");
      for (const [middle, , to] of deliveryMachine.rows) {
        if (middle === over) pairs.add(`${from} ${to}`);
      }
    }
  }
  return pairs;
}

function legal({ before }: Storm, { messages }: Picture): void {
  for (const { ident, state } of messages) {
    const was = before.byIdent.get(ident)?.state;
    if (was === undefined || was === state) continue;
    assert.ok(REACHABLE.has(`${was} ${state}`), `${ident}: ${was} → ${state}`);
  }
}

/** The live steps: each is one row of the table, and the last is where the row stands. */
function told(storm: Storm, { byIdent }: Picture): void {
  for (const { delivery_id, state } of storm.takeSteps()) {
    const ident = identOf(delivery_id);
    const was = storm.steps.get(ident);
    const first = was === undefined && ["queued", "attempting", "accepted"].includes(state);
    const unproved = was === state && state === "sent";
    assert.ok(first || unproved || EDGES.has(`${was} ${state}`), `${ident}: ${was} → ${state}`);
    storm.steps.set(ident, state);
  }
  for (const [ident, state] of storm.steps) {
    const now = byIdent.get(ident)?.state;
    const dropped = state === "queued" && now === "dropped"; // A dropped queue is one event.
    assert.ok(now === state || dropped, `${ident}: told ${state}, is ${now}`);
  }
}

function takers(_: Storm, { messages, peers }: Picture): void {
  for (const { state, to_peer_id, ident } of messages) {
    if (state !== "queued") continue;
    const peer = peers.get(to_peer_id);
    const takes = peer && peer.addressable && peer.status !== "retired" && !peer.closed;
    assert.ok(takes, `${ident} for ${peer?.name}`);
  }
}

/** A frame is written at once; other rungs may be slow. */
function atRest(_: Storm, { messages }: Picture): void {
  for (const { state, rung, ident } of messages) {
    assert.ok(state !== "attempting" || rung !== "websocket", ident);
  }
}

/**
 * What waits goes out, and what may come again comes on the line that is there now. A peer that was
 * taken offline is sent nothing over its open line until it is heard of.
 */
function flows({ actors }: Storm, { messages, peers }: Picture): void {
  const lines = new Map(actors.flatMap(({ line }) => line ? [[line.peer_id, line] as const] : []));
  for (const peer_id of lines.keys()) {
    if (peers.get(peer_id)?.status === "offline") lines.delete(peer_id);
  }
  for (const { state, rung, repeatable, to_peer_id, ident, kind } of messages) {
    const line = lines.get(to_peer_id);
    if (!line) continue;
    assert.notEqual(state, "queued", ident);
    if (state !== "sent" || rung !== "websocket" || !repeatable) continue;
    assert.ok(line.sent.has(`${kind === "notify" ? "notif" : "qd"}-${ident}`), ident);
  }
}

function expired(storm: Storm, { messages }: Picture): void {
  if (!storm.beaten) return;
  const now = storm.w.clock.now();
  for (const { state, expires_at, ident } of messages) {
    assert.ok(state !== "queued" || expires_at === null || expires_at > now, ident);
  }
}

const ANSWERED = new Set(["ack", "ack_with_msg", "answered", "declined"]);
const BELIEVED = new Set<string>(["accepted", "seen"] satisfies DeliveryState[]);

function believed(storm: Storm, { messages, peers }: Picture): void {
  for (const { state, to_peer_id, ident, kind, close_reason } of messages) {
    if (!BELIEVED.has(state) || peers.get(to_peer_id)?.role === "human") continue;
    if (kind === "ask" && ANSWERED.has(close_reason ?? "")) continue;
    const settled = storm.heard.get(to_peer_id)?.settled;
    const ids = [`qd-${ident}`, `notif-${ident}`, `ask-${ident}`];
    assert.ok(ids.some((id) => settled?.has(id)), `${ident} is ${state}`);
  }
}

/** Texts bear rising numbers; what a lost drain took comes late. */
function ordered({ heard }: Storm): void {
  for (const [peer_id, { texts, late }] of heard) {
    const last = new Map<string, string>();
    for (const [delivery_id, text] of texts) {
      const [, from = "", number = ""] = /^(\S+) sesame (\d{6})$/.exec(text) ?? [];
      if (number === "" || late.has(delivery_id)) continue;
      assert.ok(
        (last.get(from) ?? "") < number,
        `${peer_id} heard ${text} after ${last.get(from)}`,
      );
      last.set(from, number);
    }
  }
}
