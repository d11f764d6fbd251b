/** Helpers for waking agents: a world whose agent has ended, and its resumption. */

import assert from "node:assert/strict";
import type {
  Adapter,
  AgentTransport,
  OutgoingMessage,
  TurnEnd,
} from "../../../daemon/features/agents/adapter.ts";
import { listInbox } from "protocol/inbox.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { type FakeSession, sessionFilesOf } from "../sessions/fake_session_files.ts";
import type { World } from "../world.ts";
import { addPeer, reportSessions } from "./peer_clients.ts";
import {
  codex,
  generic,
  registerSpawned,
  SOCKET,
  type SpawningOptions,
  spawningWorld,
  type WorldSettings,
} from "./spawns.ts";

export const SESSION = "s-1";

/** The end of the agent's last turn, as its records show it; none at first. */
interface Records {
  end?: TurnEnd;
}

/** The text that each delivery has typed, in order. */
export type Typed = string[];

/** The agent of `spawns.ts`, which also takes messages in its pane. */
function talkingCodex(
  typed: Typed,
  running: ReadonlySet<string>,
  records: Readonly<Records>,
): Adapter {
  const pane: AgentTransport = {
    name: "pane",
    check: () => Promise.resolve({ ready: true }),
    deliver: (_peer, { framed }: OutgoingMessage) => {
      typed.push(framed);
      return Promise.resolve({ state: "sent" });
    },
  };
  return {
    ...codex,
    account: () => ({ home: "/home/.codex" }),
    observe: () =>
      Promise.resolve({ alive: true, turn_state: null, source: "process table", ...records }),
    transports: () => [pane],
    processOf: (session) => running.has(session) ? 77 : undefined,
  };
}

interface SleepOptions {
  readonly settings?: WorldSettings;
  readonly world?: SpawningOptions;
}

/** A world with the agent `api`, which has ended, and with the human `sam`. */
export async function sleepingWorld({ settings = {}, world = {} }: SleepOptions = {}) {
  const sessions: FakeSession[] = [];
  const typed: Typed = [];
  /** The sessions that a program outside of the mesh has open. */
  const running = new Set<string>();
  const records: Records = {};
  const fixture = await spawningWorld({
    adapters: [talkingCodex(typed, running, records), generic],
    sessionFiles: { codex: sessionFilesOf(sessions) },
    at_terminal: true,
    ...world,
    settings: { "human.name": "sam", ...settings },
  });
  const { w, terminals, folder } = fixture;
  sessions.push({ session_id: SESSION, title: "Docs", folder, updated_at: 0 });
  const api = await startAgent(fixture);
  terminals.end(api.agent_pid);
  await w.tick(2);
  return { ...fixture, ...api, sessions, typed, running, records };
}

export type SleepingWorld = Awaited<ReturnType<typeof sleepingWorld>>;

/** Registers the agent `api` in a pane of its own, as its hooks do. */
export async function startAgent(
  { w, terminals, folder }: Awaited<ReturnType<typeof spawningWorld>>,
  more: Record<string, unknown> = {},
) {
  const { pane_id, pane_pid: agent_pid } = terminals.userPane();
  const place = { pane_id, tmux_socket: SOCKET, agent_pid, path: folder, circle: "default" };
  const session = { backend: "codex", runtime_session_id: SESSION };
  const { peer_id } = await addPeer(w, "api", { ...place, ...session, ...more });
  reportSessions(w);
  return { peer_id, pane_id, agent_pid };
}

/** Advances the clock until `count` agents were launched. Checks of real folders take real time. */
export async function untilLaunched({ w, terminals }: SleepingWorld, count = 1): Promise<void> {
  for (let ticks = 0; ticks < 500 && terminals.launches.length < count; ticks++) await w.tick();
  assert.equal(terminals.launches.length, count);
  await w.tick();
}

/** The agent that was woken last reports its start, as its hook does. */
export async function reportStart({ w, terminals, folder }: SleepingWorld) {
  const { pane_id = "" } = terminals.launches.at(-1) ?? {};
  const agent_pid = terminals.panes.get(pane_id)?.pane_pid;
  const place = { runtime_session_id: SESSION, path: folder, agent_pid, turn_state: "idle" };
  const back = await registerSpawned(w, pane_id, place);
  await w.clock.settle();
  return { ...back, pane_id, agent_pid: agent_pid ?? 0 };
}

/** The record of `api`. */
export const apiOf = (w: World) => w.call(getPeer, { params: { id: "api" }, query: {} });

/** The items of the human's inbox that ask whether to wake a peer, newest first. */
export async function wakeItems(w: World) {
  const { items } = await w.call(listInbox, { query: {} });
  return items.filter(({ question }) => question?.scope === "wake");
}
