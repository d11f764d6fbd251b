/** Invariants of the daemon: its events, its peers, its counts and its log. */

import assert from "node:assert/strict";
import { peerMachine } from "protocol/peers/states.ts";
import { checkGivenOnce } from "../given_ids.ts";
import type { Snapshot } from "../snapshot.ts";
import type { Invariant, Storm } from "../storm.ts";
import { SECRET_WORD } from "../texts.ts";

export const DAEMON_INVARIANTS: readonly Invariant[] = [
  { name: "no error has ended the daemon", check: ({ uncaught }) => uncaught.check() },
  { name: "event ids rise, and no event holds a text", check: checkEvents },
  { name: "no id is given twice", check: (storm) => checkGivenOnce(storm, storm.w.daemon) },
  {
    name: "a peer's status follows its transition table, and a closed peer stays closed",
    check: checkPeerTransitions,
  },
  { name: "no two live peers of a circle share a name", check: checkUniqueNames },
  { name: "the counts of the peers equal those of the ledger", check: checkCounts },
  { name: "nothing was logged, and no group of writes stayed open", check: checkLog },
];

function checkEvents(storm: Storm): void {
  const log = storm.w.daemon.ctx.events;
  const last = () => storm.event_ids.at(-1) ?? 0;
  for (const event of log.read({ since: last(), limit: 100_000 })) {
    assert.ok(event.id > last(), "Numbers rise");
    storm.event_ids.push(event.id);
    assert.equal(
      JSON.stringify(event).includes(SECRET_WORD),
      false,
      `Event ${event.id} holds a text`,
    );
    if (event.type !== "ack") continue;
    const { correlation_id, close_reason } = event.data;
    assert.equal(storm.ended.has(correlation_id), false, `${correlation_id} ended twice`);
    storm.ended.set(correlation_id, close_reason);
  }
  assert.equal(log.last, last(), "The event log's last id differs from its last event");
}

/** A peer may take several transitions in one step; only a reclaim leads back from retired. */
const TRANSITIONS = new Set(peerMachine.rows.map(([from, , to]) => `${from} ${to}`));

function checkPeerTransitions({ before }: Storm, { peers }: Snapshot): void {
  for (const [peer_id, { status, closed }] of peers) {
    const previous = before.peers.get(peer_id);
    if (!previous || previous.status === status) continue;
    assert.ok(previous.closed === 0, `${peer_id} was closed, and is ${status}`);
    const viaIntermediate = peerMachine.states.some((middle) =>
      TRANSITIONS.has(`${previous.status} ${middle}`) && TRANSITIONS.has(`${middle} ${status}`)
    );
    assert.ok(
      TRANSITIONS.has(`${previous.status} ${status}`) || viaIntermediate,
      `${peer_id}: ${previous.status} → ${status}`,
    );
    assert.ok(closed === 0 || status === "retired");
  }
  for (const peer_id of before.peers.keys()) assert.ok(peers.has(peer_id), `${peer_id} is gone`);
}

function checkUniqueNames(_: Storm, { peers }: Snapshot): void {
  const live = [...peers.values()].filter(({ status }) => status === "online" || status === "busy");
  const liveNames = live.map(({ name, circle }) => `${circle}/${name}`);
  assert.equal(new Set(liveNames).size, liveNames.length, liveNames.join(" "));
}

async function checkCounts(storm: Storm, { messages, peers }: Snapshot): Promise<void> {
  if (!storm.chance.oneIn(5)) return;
  const open = messages.filter(({ ask_state }) => ask_state === "open");
  const answer = await storm.get("/peers");
  const listed = answer["peers"] as { peer_id: string; pending_ask_count: number }[];
  for (const { peer_id, pending_ask_count } of listed) {
    const pending = open.filter(({ to_peer_id }) => to_peer_id === peer_id).length;
    assert.equal(pending_ask_count, pending, peer_id);
  }
  const listedPeers = [...peers.values()].filter(({ closed, dropped_at }) =>
    !closed && dropped_at === null
  );
  assert.deepEqual(
    listed.map(({ peer_id }) => peer_id).sort(),
    listedPeers.map((p) => p.peer_id).sort(),
  );
  assert.equal((await storm.get("/health"))["peers"], listedPeers.length);
}

function checkLog(storm: Storm): void {
  storm.checkLog();
  assert.equal(storm.w.daemon.ctx.db.whenDurable(), undefined, "A group of writes stayed open");
}
