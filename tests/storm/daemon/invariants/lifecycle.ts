/** Invariants of peers and processes: one peer a pane, one orchestrator a circle, safe signals. */

import assert from "node:assert/strict";
import { isHere, type Snapshot } from "../snapshot.ts";
import type { Invariant, Storm } from "../storm.ts";

export const LIFECYCLE_INVARIANTS: readonly Invariant[] = [
  { name: "no pane is recorded for two peers", check: checkOnePeerPerPane },
  { name: "no circle has two orchestrators", check: checkOneOrchestrator },
  { name: "after a tick, the process of every live peer runs", check: checkProcesses },
  {
    name: "a retired peer returns only with a live process, and a removed one never",
    check: checkReclaims,
  },
  {
    name: "a retired peer has no open ask and no queued message",
    check: checkRetiredOweNothing,
  },
  { name: "only registered processes get signals", check: checkSignals },
];

function checkOnePeerPerPane(_: Storm, { peers }: Snapshot): void {
  const occupied = [...peers.values()].filter(({ pane_id, closed }) =>
    pane_id !== null && closed === 0
  )
    .map(({ tmux_socket, pane_id }) => `${tmux_socket} ${pane_id}`);
  assert.equal(new Set(occupied).size, occupied.length, occupied.join(", "));
}

function checkOneOrchestrator(_: Storm, { peers }: Snapshot): void {
  const circles = [...peers.values()].filter((peer) => peer.role === "orchestrator" && isHere(peer))
    .map(({ circle }) => circle);
  assert.equal(new Set(circles).size, circles.length, circles.join(", "));
}

function checkProcesses(storm: Storm, { peers }: Snapshot): void {
  if (!storm.hasTicked) return;
  for (const peer of peers.values()) {
    const { peer_id, agent_pid, agent_started } = peer;
    if (!isHere(peer) || agent_pid === null || agent_started === null) continue;
    assert.ok(storm.processes.isAlive(agent_pid, agent_started), `${peer_id} is not there`);
  }
}

function checkReclaims(storm: Storm, { peers }: Snapshot): void {
  for (const [peer_id, { status, closed }] of storm.before.peers) {
    const now = peers.get(peer_id);
    if (status !== "retired" || !now || now.status === "retired") continue;
    assert.equal(closed, 0, `${peer_id} was removed`);
    const { agent_pid, agent_started } = now;
    const isAlive = agent_pid !== null && agent_started !== null &&
      storm.processes.isAlive(agent_pid, agent_started);
    assert.ok(isAlive, `${peer_id} has come back as ${now.status} without a live process`);
  }
}

function checkRetiredOweNothing(_: Storm, { peers, messages }: Snapshot): void {
  for (const { ask_state, state, to_peer_id, ident } of messages) {
    if (peers.get(to_peer_id)?.status !== "retired") continue;
    assert.notEqual(ask_state, "open", ident);
    assert.notEqual(state, "queued", ident);
  }
}

function checkSignals(storm: Storm): void {
  for (const [pid, , started] of storm.processes.signals.splice(0)) {
    const isRegistered = [...storm.before.peers.values()].some((peer) =>
      peer.agent_pid === pid && peer.agent_started === started
    );
    assert.ok(isRegistered, `Process ${pid} is registered by no peer`);
  }
}
