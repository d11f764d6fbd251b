/**
 * Codex's adapter. It uses the queue of the shared server, or the pane of a session with its own
 * process.
 */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { type IsAlive, isAlive } from "../../../host/processes.ts";
import type { TmuxServers } from "../../../host/tmux/tmux.ts";
import type { Adapter, AgentPeer, CallEvidence, Observation } from "../adapter.ts";
import { createPaneTransport } from "../pane_transport.ts";
import { codexScreen } from "./screen.ts";
import { AppServer } from "./app_server.ts";
import { createCommandTransport, createSocketTransport } from "./native_transport.ts";
import { type CodexHost, hostOf } from "./hooks.ts";
import { rolloutOf } from "./rollouts.ts";
import { type Activity, interrupt, isThreadId, readThread, threadOf } from "./threads.ts";

export interface CodexOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly tmuxServers: TmuxServers;
  /** Codex's folder, e.g. `~/.codex`. */
  readonly codex_home: string;
  /** The newest release that the adapter was tested with. */
  readonly tested_version: string;
  /** The environment in which `codex queue` runs. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether a session's process is running. This is called often. */
  readonly isAlive?: IsAlive;
  /** Finds the nearest Codex process above a process; by default it asks the kernel. */
  readonly hostOf?: (pid: number) => CodexHost | undefined;
}

export function codexAdapter(options: CodexOptions): Adapter {
  const { codex_home } = options;
  const findHost = options.hostOf ?? hostOf;
  const hasOpenDialog = async (peer: AgentPeer) => {
    const thread = await threadOf(options, peer);
    return typeof thread !== "string" && thread.activity === "awaiting_input";
  };
  const transports = [
    createSocketTransport(options),
    createCommandTransport(options),
    createPaneTransport({ ...options, screen: codexScreen, hasOpenDialog }),
  ];
  return {
    backend: "codex",
    transports: () => transports,
    transport: ({ agent_pid, pane_id, runtime_session_id }) => {
      if (agent_pid === null) return runtime_session_id === null ? "none" : "native";
      return pane_id === null ? "none" : "pane";
    },
    observe: (peer) => observe(options, peer),
    interruptTurn: (peer) => interruptTurn(options, peer),
    resume: ({ runtime_session_id, path }) =>
      Promise.resolve(rolloutOf(codex_home, runtime_session_id, path)),
    sessionOfCall: (evidence) => sessionOfCall(evidence, findHost),
  };
}

/**
 * Observes a session. If the session has its own process, the session is alive while that process
 * is. Otherwise the shared server is asked.
 */
async function observe(options: CodexOptions, peer: AgentPeer): Promise<Observation | undefined> {
  const { agent_pid, agent_started, runtime_session_id } = peer;
  if (agent_pid !== null) {
    const { isAlive: checkAlive = isAlive } = options;
    const alive = checkAlive(agent_pid, agent_started ?? undefined);
    return { alive, turn_state: null, source: "process table" };
  }
  if (runtime_session_id === null || !isThreadId(runtime_session_id)) return undefined;
  const server = await AppServer.connect(options.codex_home, options.clock);
  const goneObservation = { alive: false, turn_state: null, source: "app server" };
  if (server === "no_server" || server === "connection_refused") return goneObservation;
  if (typeof server === "string") return undefined;
  using connection = server;
  const { activity, proved } = await readThread(
    connection,
    runtime_session_id,
    options.tested_version,
  );
  if (activity === "not_loaded") return goneObservation;
  if (activity === "idle" && proved) await startQueue(connection, runtime_session_id);
  return activity === "unknown" || activity === "broken"
    ? undefined
    : { alive: true, turn_state: TURN_STATE[activity], source: "app server" };
}

/**
 * Interrupts a turn in the shared server, because the server continues a turn whose terminal was
 * closed.
 */
async function interruptTurn({ codex_home, clock }: CodexOptions, peer: AgentPeer): Promise<void> {
  const { runtime_session_id } = peer;
  if (runtime_session_id === null || !isThreadId(runtime_session_id)) return;
  const server = await AppServer.connect(codex_home, clock);
  if (typeof server === "string") return;
  using connection = server;
  await interrupt(connection, runtime_session_id);
}

const TURN_STATE = {
  idle: "idle",
  working: "working",
  awaiting_input: "awaiting_input",
} as const satisfies Partial<Record<Activity, Observation["turn_state"]>>;

/** The part of a queue that identifies its first message. */
const QueueList = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), clientUserMessageId: z.string() })),
});

/**
 * Matches the ids of our deliveries. `notif-` is the prefix of notifications, `qd-` that of asks
 * and other messages.
 */
const OUR_DELIVERY_ID = /^(qd|notif)-/;

/**
 * When a human interrupts a turn, Codex holds the queue until someone starts it. A message that was
 * reported as accepted must not stay there, so the queue of an idle thread is started if our
 * message is first. The human's own messages are left alone.
 */
async function startQueue(server: AppServer, threadId: string): Promise<void> {
  const reply = await server.call("thread/queue/list", { threadId, limit: 1 });
  const { data } = QueueList.safeParse(reply.state === "answered" ? reply.result : undefined);
  const first = data?.data[0];
  if (!first || !OUR_DELIVERY_ID.test(first.clientUserMessageId)) return;
  await server.call("thread/queue/start", { threadId, queuedSubmissionId: first.id });
}

/** The `_meta` that Codex adds to each call. */
const Meta = z.looseObject({ threadId: z.string() });

/**
 * The thread that a call names. Undefined unless a Codex process sent the call, because no other
 * program may claim a thread.
 */
function sessionOfCall(
  { pid, meta }: CallEvidence,
  findHost: (pid: number) => CodexHost | undefined,
): string | undefined {
  const { data } = Meta.safeParse(meta);
  if (!data || pid === undefined || !findHost(pid)) return undefined;
  return data.threadId;
}
