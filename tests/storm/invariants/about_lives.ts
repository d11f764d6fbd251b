/** Invariants of lives: one agent a pane, one leader a circle, no end of what is not proved. */

import assert from "node:assert/strict";
import type { Peer, Picture } from "../picture.ts";
import type { Storm } from "../storm.ts";
import type { Invariant } from "./invariant.ts";

export const ABOUT_LIVES: readonly Invariant[] = [
  { name: "no pane is on the record of two peers", check: panes },
  { name: "no circle has two orchestrators", check: leaders },
  { name: "after a beat nobody is here whose process has ended", check: processes },
  { name: "only a registered process was ever told to end", check: signals },
];

const isLive = ({ status, dropped_at }: Peer) =>
  (status === "online" || status === "busy") && dropped_at === null;

function panes(_: Storm, { peers }: Picture): void {
  const held = [...peers.values()].filter(({ pane_id, closed }) => pane_id !== null && closed === 0)
    .map(({ tmux_socket, pane_id }) => `${tmux_socket} ${pane_id}`);
  assert.equal(new Set(held).size, held.length, held.join(", "));
}

function leaders(_: Storm, { peers }: Picture): void {
  const circles = [...peers.values()].filter((peer) => peer.role === "orchestrator" && isLive(peer))
    .map(({ circle }) => circle);
  assert.equal(new Set(circles).size, circles.length, circles.join(", "));
}

function processes(storm: Storm, { peers }: Picture): void {
  if (!storm.beaten) return;
  for (const peer of peers.values()) {
    const { peer_id, agent_pid, agent_started } = peer;
    if (!isLive(peer) || agent_pid === null || agent_started === null) continue;
    assert.ok(storm.processes.isAlive(agent_pid, agent_started), `${peer_id} is not there`);
  }
}

function signals(storm: Storm): void {
  for (const [pid, , started] of storm.processes.signals.splice(0)) {
    const known = [...storm.before.peers.values()].some((peer) =>
      peer.agent_pid === pid && peer.agent_started === started
    );
    assert.ok(known, `Process ${pid} was nobody's`);
  }
}
