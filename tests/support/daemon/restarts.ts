/** Helpers for restarting agents. */

import type { World } from "../world.ts";
import { addPeer, post, reportSessions } from "./peer_clients.ts";
import { advanceUntilSettled, SOCKET, spawningWorld } from "./spawns.ts";

export type SpawningWorld = Awaited<ReturnType<typeof spawningWorld>>;

/** Registers an agent that a user started in a pane. */
export async function agentInPane(
  { w, terminals, folder }: SpawningWorld,
  more: Record<string, unknown> = {},
) {
  const { pane_id, pane_pid: agent_pid } = terminals.userPane();
  const location = { pane_id, tmux_socket: SOCKET, agent_pid, path: folder, backend: "codex" };
  const { peer_id } = await addPeer(w, "api", { ...location, runtime_session_id: "s-1", ...more });
  reportSessions(w);
  return { peer_id, pane_id, agent_pid };
}

export async function restart(w: World, body: Record<string, unknown> = {}, peer = "api") {
  return await advanceUntilSettled(w, post(w, `/peers/${peer}/restart`, body));
}

/** Registers the launched agent, as its hook would. */
export async function registerRelaunched({ w, terminals, folder }: SpawningWorld, session = "s-1") {
  const pane = [...terminals.panes.values()].at(-1);
  const location = { pane_id: pane?.pane_id, tmux_socket: SOCKET, agent_pid: pane?.pane_pid };
  const as = { path: folder, backend: "codex", runtime_session_id: session };
  return await post(w, "/peers", { ...location, ...as });
}

/** Restarts a peer, and registers the new process once it is launched. */
export async function restartAndRegister(
  fixture: SpawningWorld,
  body: Record<string, unknown> = {},
  session = "s-1",
) {
  const { w, terminals } = fixture;
  const before = terminals.launches.length;
  const answer = post(w, "/peers/api/restart", body);
  await w.clock.advanceUntil("a launch", () => terminals.launches.length > before);
  await w.clock.settle();
  const back = await registerRelaunched(fixture, session);
  return { answer: await advanceUntilSettled(w, answer), back };
}

export const REDACTED_COMMAND = [
  "codex",
  "--model",
  "gpt-9",
  "--sandbox",
  "read-only",
  "--key",
  "[redacted]",
];
export const stagesOf = (answer: { stages: { stage: string }[] }) =>
  answer.stages.map(({ stage }) => stage);
