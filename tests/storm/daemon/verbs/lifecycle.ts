/** Verbs about processes and panes: which agent runs where, takes a pane over, or ends. */

import assert from "node:assert/strict";
import { SOCKET } from "../tmux.ts";
import type { Storm, Verb } from "../storm.ts";

/** Few, so that pids are reused; the fake tmux uses them too. */
const PIDS = [201, 202, 203];
/** Two panes that mostly exist, and one that seldom does. */
const PANES = ["%1", "%2", "%9"];

// deno-fmt-ignore
export const LIFECYCLE_VERBS: readonly Verb[] = [
  { name: "take a pane",       weight: 3, run: registerInPane },
  { name: "register from a pane",    weight: 14, run: registerFromPane },
  { name: "register with a pid",  weight: 6, run: registerWithPid },
  { name: "a process ends",    weight: 4, run: (storm) => Promise.resolve(storm.tmux.end(storm.chance.pick(PIDS))) },
  { name: "a pid is reused",   weight: 2, run: (storm) => Promise.resolve(reusePid(storm)) },
  { name: "a pane opens",      weight: 6, run: (storm) => Promise.resolve(void storm.tmux.open()) },
  { name: "a pane closes",     weight: 2, run: (storm) => Promise.resolve(storm.tmux.close(anyPaneId(storm))) },
  { name: "a pane is reused",  weight: 3, run: (storm) => Promise.resolve(void storm.tmux.swap(anyPaneId(storm))) },
  { name: "tmux is killed",    weight: 2, run: (storm) => Promise.resolve(storm.tmux.killServer()) },
  { name: "tmux comes back",   weight: 2, run: (storm) => Promise.resolve(restartTmux(storm)) },
  { name: "link a pane",       weight: 3, run: (storm) => storm.post(`/panes/${encodeURIComponent(anyPaneId(storm))}/link`, { backend: "generic" }) },
  { name: "link a peer",       weight: 2, run: (storm) => postToPeer(storm, "link", {}) },
  { name: "rehook",            weight: 3, run: (storm) => postToPeer(storm, "rehook", { apply: storm.chance.oneIn(2) }) },
  { name: "kill",              weight: 2, run: (storm) => storm.advanceUntilSettled(postToPeer(storm, "kill", {})) },
  { name: "become orchestrator",              weight: 3, run: (storm) => postToPeer(storm, "role", { role: "orchestrator", force: storm.chance.oneIn(3) }) },
  { name: "become an agent again",            weight: 1, run: (storm) => postToPeer(storm, "role", { role: "agent" }) },
  { name: "show a certificate", weight: 3, run: (storm) => useCertificate(storm, "validate") },
  { name: "renew a certificate", weight: 2, run: (storm) => useCertificate(storm, "renew") },
  { name: "report a stale end",       weight: 2, run: reportStaleEnd },
  { name: "run the doctor",    weight: 3, run: runDoctor },
];

/** The id of a pane that mostly exists. */
export function anyPaneId({ tmux, chance }: Storm): string {
  return chance.pick([...tmux.panes.keys(), ...PANES]);
}

/** Registers with more facts, as the same peer where the actor knows its id. */
export async function register(
  storm: Storm,
  facts: Record<string, unknown>,
  actor = storm.actor(),
): Promise<void> {
  const { peer_id } = actor;
  const claim = peer_id && storm.chance.oneIn(2) ? { peer_id } : {};
  const answer = await storm.post("/peers", { ...storm.registrationOf(actor), ...claim, ...facts });
  if (answer.http !== 200 || actor.isConnected) return;
  actor.peer_id = String(answer["peer_id"]);
  actor.certificate = String(answer["birth_certificate"]);
}

async function registerInPane(storm: Storm): Promise<void> {
  await register(storm, { pane_id: storm.chance.pick(PANES), tmux_socket: SOCKET });
}

async function registerWithPid(storm: Storm): Promise<void> {
  const agent_pid = storm.chance.pick(PIDS);
  if (!storm.processes.isAlive(agent_pid)) storm.processes.start(agent_pid);
  const session = storm.chance.oneIn(2) ? { runtime_session_id: `s-${agent_pid}` } : {};
  await register(storm, { agent_pid, ...session });
}

function reusePid({ tmux, processes, chance }: Storm): void {
  const pid = chance.pick(PIDS);
  tmux.end(pid);
  processes.start(pid);
}

/** Kills tmux, and starts it again with panes of the same numbers. */
function restartTmux({ tmux }: Storm): void {
  tmux.killServer();
  for (let pane = 0; pane < 2; pane++) tmux.open();
}

/** Registers the program of a pane, as its hook would. */
async function registerFromPane(storm: Storm): Promise<void> {
  const pane = storm.chance.pick([...storm.tmux.panes.values()]);
  if (!pane) return;
  const { pane_id, pane_pid: agent_pid } = pane;
  const session = storm.chance.oneIn(2) ? { runtime_session_id: `s-${agent_pid}` } : {};
  const facts = { pane_id, tmux_socket: SOCKET, agent_pid, ...session };
  await register(storm, facts, storm.chance.pick(storm.agents));
}

async function useCertificate(storm: Storm, verb: "validate" | "renew"): Promise<void> {
  const actor = storm.actor();
  if (!actor.certificate) return;
  const { path, backend } = storm.registrationOf(actor);
  const claims = { birth_certificate: actor.certificate, path, backend };
  const answer = await storm.post(`/peers/identity/${verb}`, claims);
  if (answer.http === 200 && verb === "renew") {
    actor.certificate = String(answer["birth_certificate"]);
  }
}

/** Reports late the end of an execution that a restart has replaced: no peer may change. */
async function reportStaleEnd(storm: Storm): Promise<void> {
  const { peer_id } = storm.actor();
  if (!peer_id) return;
  const execution = { pane_id: "%9", agent_pid: 999 };
  storm.w.daemon.superseded.add({ ...execution, peer_id, restart_id: "restart-1" });
  const statusOf = async () => (await storm.get(`/peers/${peer_id}`))["status"];
  const before = await statusOf();
  await storm.post(`/peers/${peer_id}/offline`, { ...execution, terminal: storm.chance.oneIn(2) });
  assert.equal(await statusOf(), before);
}

/** The doctor reports in every state, and each code at most once. */
async function runDoctor(storm: Storm): Promise<void> {
  const { peer_id } = storm.actor();
  if (!peer_id) return;
  const report = await storm.get(`/peers/${peer_id}/doctor`);
  if (report.http !== 200) return;
  const codes = (report["contradictions"] as { code: string }[]).map(({ code }) => code);
  assert.equal(new Set(codes).size, codes.length, codes.join(" "));
}

async function postToPeer(
  storm: Storm,
  verb: string,
  body: Record<string, unknown>,
): Promise<void> {
  const { peer_id } = storm.actor();
  if (peer_id) await storm.post(`/peers/${peer_id}/${verb}`, body);
}
