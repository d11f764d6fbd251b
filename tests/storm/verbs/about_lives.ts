/** Verbs of a storm about processes and panes: who runs where, who takes whose place, who ends. */

import assert from "node:assert/strict";
import { SOCKET } from "../../daemon/fake_panes.ts";
import type { Actor } from "../actor.ts";
import type { Storm } from "../storm.ts";
import type { Verb } from "./verb.ts";

/** Few, so that pids are given anew, and panes are fought over. */
const PIDS = [201, 202, 203];
const PANES = ["%1", "%2"];

// deno-fmt-ignore
export const ABOUT_LIVES: readonly Verb[] = [
  { name: "take a pane",       weight: 5, run: takePane },
  { name: "run as a process",  weight: 6, run: runAs },
  { name: "a process ends",    weight: 4, run: (storm) => Promise.resolve(storm.processes.end(storm.chance.pick(PIDS))) },
  { name: "a pid is reused",   weight: 3, run: (storm) => Promise.resolve(reuse(storm)) },
  { name: "a pane is reused",  weight: 3, run: (storm) => Promise.resolve(reopen(storm)) },
  { name: "tmux is gone",      weight: 1, run: (storm) => Promise.resolve(void storm.panes.panes.splice(0)) },
  { name: "link a pane",       weight: 3, run: (storm) => storm.post(`/panes/${encodeURIComponent(storm.chance.pick(PANES))}/link`, { backend: "generic" }) },
  { name: "link a peer",       weight: 2, run: (storm) => onPeer(storm, "link", {}) },
  { name: "rehook",            weight: 3, run: (storm) => onPeer(storm, "rehook", { apply: storm.chance.oneIn(2) }) },
  { name: "kill",              weight: 2, run: (storm) => onPeer(storm, "kill", {}) },
  { name: "lead",              weight: 3, run: (storm) => onPeer(storm, "role", { role: "orchestrator", force: storm.chance.oneIn(3) }) },
  { name: "follow",            weight: 1, run: (storm) => onPeer(storm, "role", { role: "agent" }) },
  { name: "show a certificate", weight: 3, run: (storm) => certify(storm, "validate") },
  { name: "renew a certificate", weight: 2, run: (storm) => certify(storm, "renew") },
  { name: "a stale end",       weight: 2, run: staleEnd },
  { name: "see the doctor",    weight: 3, run: examine },
];

const backendOf = (storm: Storm, actor: Actor) => storm.agents.includes(actor) ? "generic" : "sdk";

/** Registers with more facts, as itself where it knows who it is. */
async function register(storm: Storm, facts: Record<string, unknown>): Promise<void> {
  const actor = storm.actor();
  const { name, peer_id } = actor;
  const claim = peer_id && storm.chance.oneIn(2) ? { peer_id } : {};
  const known = { name, path: "/work", backend: backendOf(storm, actor), ...claim };
  const answer = await storm.post("/peers", { ...known, ...facts });
  if (answer.http !== 200 || actor.connected) return;
  actor.peer_id = String(answer["peer_id"]);
  actor.certificate = String(answer["birth_certificate"]);
}

async function takePane(storm: Storm): Promise<void> {
  await register(storm, { pane_id: storm.chance.pick(PANES), tmux_socket: SOCKET });
}

async function runAs(storm: Storm): Promise<void> {
  const agent_pid = storm.chance.pick(PIDS);
  if (!storm.processes.isAlive(agent_pid)) storm.processes.start(agent_pid);
  const session = storm.chance.oneIn(2) ? { runtime_session_id: `s-${agent_pid}` } : {};
  await register(storm, { agent_pid, ...session });
}

function reuse({ processes, chance }: Storm): void {
  const pid = chance.pick(PIDS);
  processes.end(pid);
  processes.start(pid);
}

/** Another program reads in a pane, or it is a new one of the same number. */
function reopen({ processes, panes, chance }: Storm): void {
  const [pane_id, pid] = [chance.pick(PANES), chance.pick(PIDS)];
  if (panes.panes.some((pane) => pane.pane_id === pane_id)) panes.close(pane_id);
  if (!processes.isAlive(pid)) processes.start(pid);
  const started = processes.startOf(pid) ?? "";
  panes.open(pane_id, { front: { pid, started, args: ["agent"] } });
}

async function certify(storm: Storm, verb: "validate" | "renew"): Promise<void> {
  const actor = storm.actor();
  if (!actor.certificate) return;
  const shown = { birth_certificate: actor.certificate, path: "/work" };
  const answer = await storm.post(`/peers/identity/${verb}`, {
    ...shown,
    backend: backendOf(storm, actor),
  });
  if (answer.http === 200 && verb === "renew") {
    actor.certificate = String(answer["birth_certificate"]);
  }
}

/** What a restart has replaced says its end late: it changes nobody. */
async function staleEnd(storm: Storm): Promise<void> {
  const { peer_id } = storm.actor();
  if (!peer_id) return;
  const execution = { pane_id: "%9", agent_pid: 999 };
  storm.w.daemon.replaced.note({ ...execution, restart_id: "restart-1" });
  const statusOf = async () => (await storm.get(`/peers/${peer_id}`))["status"];
  const before = await statusOf();
  await storm.post(`/peers/${peer_id}/offline`, { ...execution, terminal: storm.chance.oneIn(2) });
  assert.equal(await statusOf(), before);
}

/** Whatever the state, there is a report, and it tells of each code once. */
async function examine(storm: Storm): Promise<void> {
  const { peer_id } = storm.actor();
  if (!peer_id) return;
  const report = await storm.get(`/peers/${peer_id}/doctor`);
  if (report.http !== 200) return;
  const codes = (report["contradictions"] as { code: string }[]).map(({ code }) => code);
  assert.equal(new Set(codes).size, codes.length, codes.join(" "));
}

async function onPeer(storm: Storm, verb: string, body: Record<string, unknown>): Promise<void> {
  const { peer_id } = storm.actor();
  if (peer_id) await storm.post(`/peers/${peer_id}/${verb}`, body);
}
