/** Invariants of the house: its events, its peers, and that it has nothing to complain of. */

import assert from "node:assert/strict";
import { peerMachine } from "../../../daemon/features/peers/machine.ts";
import type { Picture } from "../snapshot.ts";
import type { Invariant, Storm } from "../storm.ts";
import { WORD } from "../texts.ts";

export const ABOUT_THE_HOUSE: readonly Invariant[] = [
  { name: "events have rising numbers, and never a text", check: events },
  { name: "a peer's life follows its table, and a closed one stays closed", check: lives },
  { name: "no two live peers of a circle share a name", check: names },
  { name: "the peers' own counts are the ledger's", check: counts },
  { name: "nothing was logged, and no group stayed open", check: quiet },
];

function events(storm: Storm): void {
  const log = storm.w.daemon.ground.events;
  for (const event of log.read({ since: storm.last_event, limit: 100_000 })) {
    assert.ok(event.id > storm.last_event, "Numbers rise");
    storm.last_event = event.id;
    assert.equal(JSON.stringify(event).includes(WORD), false, `Event ${event.id} holds a text`);
    if (event.type !== "ack") continue;
    const { correlation_id, close_reason } = event.data;
    assert.equal(storm.ended.has(correlation_id), false, `${correlation_id} ended twice`);
    storm.ended.set(correlation_id, close_reason);
  }
  assert.equal(log.last, storm.last_event, "The log knows its last number");
}

/** Within one step a peer may take many: from retired only a reclaim leads back. */
const NEXT = new Set(peerMachine.rows.map(([from, , to]) => `${from} ${to}`));

function lives({ before }: Storm, { peers }: Picture): void {
  for (const [peer_id, { status, closed }] of peers) {
    const was = before.peers.get(peer_id);
    if (!was || was.status === status) continue;
    assert.ok(was.closed === 0, `${peer_id} was closed, and is ${status}`);
    const over = peerMachine.states.some((middle) =>
      NEXT.has(`${was.status} ${middle}`) && NEXT.has(`${middle} ${status}`)
    );
    assert.ok(NEXT.has(`${was.status} ${status}`) || over, `${peer_id}: ${was.status} → ${status}`);
    assert.ok(closed === 0 || status === "retired");
  }
  for (const peer_id of before.peers.keys()) assert.ok(peers.has(peer_id), `${peer_id} is gone`);
}

function names(_: Storm, { peers }: Picture): void {
  const live = [...peers.values()].filter(({ status }) => status === "online" || status === "busy");
  const held = live.map(({ name, circle }) => `${circle}/${name}`);
  assert.equal(new Set(held).size, held.length, held.join(" "));
}

async function counts(storm: Storm, { messages, peers }: Picture): Promise<void> {
  if (!storm.chance.oneIn(5)) return;
  const open = messages.filter(({ ask_state }) => ask_state === "open");
  const answer = await storm.get("/peers");
  const listed = answer["peers"] as { peer_id: string; pending_ask_count: number }[];
  for (const { peer_id, pending_ask_count } of listed) {
    const pending = open.filter(({ to_peer_id }) => to_peer_id === peer_id).length;
    assert.equal(pending_ask_count, pending, peer_id);
  }
  const here = [...peers.values()].filter(({ closed, dropped_at }) =>
    !closed && dropped_at === null
  );
  assert.deepEqual(listed.map(({ peer_id }) => peer_id).sort(), here.map((p) => p.peer_id).sort());
  assert.equal((await storm.get("/health"))["peers"], storm.w.daemon.directory.list({}).length);
}

function quiet({ w }: Storm): void {
  assert.deepEqual(w.logged, []);
  assert.equal(w.daemon.ground.db.durable(), undefined, "A group stayed open");
}
