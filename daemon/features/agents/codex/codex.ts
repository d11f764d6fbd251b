/** Codex: the queue of its shared server first; else the pane of a session on its own. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { type IsAlive, isAlive } from "../../../host/processes.ts";
import type { Tmuxes } from "../../../host/tmux/tmux.ts";
import type { Adapter, Addressee, CallSigns, Sighting } from "../adapter.ts";
import { paneRung } from "../pane.ts";
import { codexScreen } from "./screen.ts";
import { AppServer } from "./app_server.ts";
import { commandRung, socketRung } from "./native.ts";
import { type Host, hostOf } from "./hooks.ts";
import { rolloutOf } from "./rollouts.ts";
import { type Doing, interrupt, isThreadId, readThread, threadOf } from "./threads.ts";

export interface CodexOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly tmuxes: Tmuxes;
  /** Codex's folder, e.g. `~/.codex`. */
  readonly codex_home: string;
  /** The environment in which `codex queue` runs. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether a session's process lives, as looks ask it again and again. */
  readonly isAlive?: IsAlive;
  /** Names the Codex above a process; the kernel's word by default. */
  readonly hostOf?: (pid: number) => Host | undefined;
}

export function codexAdapter(options: CodexOptions): Adapter {
  const { codex_home, clock } = options;
  const find = options.hostOf ?? hostOf;
  const dialogKnown = async (peer: Addressee) => {
    const thread = await threadOf(codex_home, peer, clock);
    return typeof thread !== "string" && thread.doing === "awaiting_input";
  };
  const ladder = [
    socketRung(options),
    commandRung(options),
    paneRung({ ...options, screen: codexScreen, dialogKnown }),
  ];
  return {
    backend: "codex",
    rungs: () => ladder,
    transport: ({ agent_pid, pane_id, runtime_session_id }) => {
      if (agent_pid === null) return runtime_session_id === null ? "none" : "native";
      return pane_id === null ? "none" : "pane";
    },
    sight: (peer) => sight(options, peer),
    breakOff: (peer) => breakOff(options, peer),
    resume: ({ runtime_session_id, path }) =>
      Promise.resolve(rolloutOf(codex_home, runtime_session_id, path)),
    callingSession: (signs) => callingSession(signs, find),
  };
}

/** A session's own process tells that it lives; a shared server tells what its thread does. */
async function sight(options: CodexOptions, peer: Addressee): Promise<Sighting | undefined> {
  const { agent_pid, agent_started, runtime_session_id } = peer;
  if (agent_pid !== null) {
    const { isAlive: lives = isAlive } = options;
    const alive = lives(agent_pid, agent_started ?? undefined);
    return { alive, turn_state: null, source: "process table" };
  }
  if (runtime_session_id === null || !isThreadId(runtime_session_id)) return undefined;
  const server = await AppServer.meet(options.codex_home, options.clock);
  const gone = { alive: false, turn_state: null, source: "app server" };
  if (server === "no_server" || server === "connection_refused") return gone;
  if (typeof server === "string") return undefined;
  using held = server;
  const { doing, proved } = await readThread(held, runtime_session_id);
  if (doing === "not_loaded") return gone;
  if (doing === "idle" && proved) await startQueue(held, runtime_session_id);
  return doing === "unknown" || doing === "broken"
    ? undefined
    : { alive: true, turn_state: TURN_STATE[doing], source: "app server" };
}

/** A shared server goes on with a turn whose terminal is closed. */
async function breakOff({ codex_home, clock }: CodexOptions, peer: Addressee): Promise<void> {
  const { runtime_session_id } = peer;
  if (runtime_session_id === null || !isThreadId(runtime_session_id)) return;
  const server = await AppServer.meet(codex_home, clock);
  if (typeof server === "string") return;
  using held = server;
  await interrupt(held, runtime_session_id);
}

const TURN_STATE = {
  idle: "idle",
  working: "working",
  awaiting_input: "awaiting_input",
} as const satisfies Partial<Record<Doing, Sighting["turn_state"]>>;

/** As much of a queue as tells whose its first message is. */
const Queue = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), clientUserMessageId: z.string() })),
});

/** The ids of our deliveries: of asks and their like, and of notes. */
const OURS = /^(qd|notif)-/;

/**
 * A human who breaks a turn off holds back what was queued behind it, for as long as nobody starts
 * the queue. What we were told is accepted must not lie there: where ours comes first in the queue
 * of an idle thread, it is started. A message of the human's own stays where the human left it.
 */
async function startQueue(server: AppServer, threadId: string): Promise<void> {
  const reply = await server.call("thread/queue/list", { threadId, limit: 1 });
  const { data } = Queue.safeParse(reply.state === "answered" ? reply.result : undefined);
  const first = data?.data[0];
  if (!first || !OURS.test(first.clientUserMessageId)) return;
  await server.call("thread/queue/start", { threadId, queuedSubmissionId: first.id });
}

/** What Codex adds to each of its calls. */
const Meta = z.looseObject({ threadId: z.string() });

/** The thread that a call names, when it comes from below a Codex: nobody else sends such calls. */
function callingSession(
  { pid, meta }: CallSigns,
  find: (pid: number) => Host | undefined,
): string | undefined {
  const { data } = Meta.safeParse(meta);
  if (!data || pid === undefined || !find(pid)) return undefined;
  return data.threadId;
}
