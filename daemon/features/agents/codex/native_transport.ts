/** Codex's native transports: into a session's queue, through a socket or a command. */

import type { Log } from "kit/core/log.ts";
import type { Reason } from "protocol/reasons.ts";
import { runProgram } from "../../../host/program_group.ts";
import { withoutSecrets } from "../../../host/tmux/terminals.ts";
import {
  type AgentPeer,
  type AgentTransport,
  type OutgoingMessage,
  type Receipt,
  refused,
  toReadiness,
} from "../adapter.ts";
import {
  type Activity,
  type ServerOptions,
  type Thread,
  type ThreadConnection,
  withThread,
} from "./threads.ts";

/** The longest text for the socket: far above any message, and below the server's limit. */
const SOCKET_CHARS_MAX = 1_000_000;
/** The longest text for the command, because Linux limits one argument to 131,072 bytes. */
const ARGUMENT_BYTES_MAX = 120_000;
/** Maximum time for which `codex queue` may run. It takes about 0.1 s. */
const COMMAND_MS_MAX = 10_000;
/** The exit code for wrong usage, which means that nothing was done. */
const EXIT_USAGE = 2;

export interface NativeOptions extends ServerOptions {
  readonly log: Log;
  /** The environment in which `codex` is found and run. */
  readonly env: Readonly<Record<string, string>>;
}

type Send = (
  options: NativeOptions,
  opened: ThreadConnection,
  outgoing: OutgoingMessage,
) => Promise<Receipt>;

/** Delivers through the socket, if the server lists its queue in the form that we know. */
export function createSocketTransport(options: NativeOptions): AgentTransport {
  return createTransport(options, socketRefusal, add);
}

/**
 * Delivers through `codex queue`, to a server whose queue we do not know. The command always speaks
 * the protocol of its own server.
 */
export function createCommandTransport(options: NativeOptions): AgentTransport {
  return createTransport(options, commandRefusal, queue);
}

function createTransport(
  options: NativeOptions,
  refusalOf: (thread: Thread, outgoing: OutgoingMessage, peer: AgentPeer) => Reason | undefined,
  send: Send,
): AgentTransport {
  return {
    name: "native",
    waits_for_turn_end: true, // Its queue is read after the turn.
    check(peer, outgoing) {
      const check = (thread: Thread) => toReadiness(refusalOf(thread, outgoing, peer));
      return withThread(options, peer, check, toReadiness);
    },
    deliver: (peer, outgoing) =>
      withThread(options, peer, async (thread, opened) => {
        const refusal = refusalOf(thread, outgoing, peer);
        return refusal ? refused(refusal) : await send(options, opened, outgoing);
      }, refused),
  };
}

const REFUSAL_OF: Readonly<Partial<Record<Activity, Reason>>> = {
  not_loaded: "not_loaded",
  // Codex would hold the message in its queue if the human interrupts the turn at this dialog.
  awaiting_input: "dialog_open",
};

function socketRefusal(
  { queue, activity }: Thread,
  { framed }: OutgoingMessage,
): Reason | undefined {
  if (activity === "unknown") return "thread_unknown";
  const refusal = REFUSAL_OF[activity];
  if (refusal !== undefined) return refusal;
  if (!queue) return "queue_unknown";
  return framed.length > SOCKET_CHARS_MAX ? "too_large" : undefined;
}

/**
 * The command fills a queue that we could not start after an interruption. An idle session reads
 * its queue at once, so the command is used only then.
 */
function commandRefusal(
  { queue, activity }: Thread,
  { framed }: OutgoingMessage,
  { turn_state }: AgentPeer,
): Reason | undefined {
  if (queue) return "socket_serves";
  const refusal = REFUSAL_OF[activity];
  if (refusal !== undefined) return refusal;
  const isIdle = activity === "unknown" ? turn_state === "idle" : activity === "idle";
  if (!isIdle) return "turn_not_over";
  const bytes = new TextEncoder().encode(framed).length;
  return bytes > ARGUMENT_BYTES_MAX ? "too_large" : undefined;
}

async function add(
  { log }: NativeOptions,
  { server, threadId }: ThreadConnection,
  { delivery_id, framed }: OutgoingMessage,
): Promise<Receipt> {
  const reply = await server.call("thread/queue/add", {
    threadId,
    clientUserMessageId: delivery_id,
    input: [{ type: "text", text: framed }],
  });
  if (reply.state === "answered") return { state: "accepted" };
  if (reply.state === "unanswered") return { state: "unclear", reason: reply.reason };
  const why = withoutMessage(reply.message, framed);
  log.warn("Codex refused a message", { delivery_id, why });
  return refused("queue_refused");
}

async function queue(
  { clock, log, codex_home, env }: NativeOptions,
  { threadId }: ThreadConnection,
  { delivery_id, framed }: OutgoingMessage,
): Promise<Receipt> {
  const args = ["queue", "--thread", threadId, `--message=${framed}`];
  try {
    const done = await runProgram(["codex", ...args], {
      env: { ...withoutSecrets(env), CODEX_HOME: codex_home },
      clock,
      timeout_ms: COMMAND_MS_MAX,
    });
    if (done.timed_out) return { state: "unclear", reason: "command_timeout" };
    if (done.code === 0) return { state: "accepted" };
    const why = withoutMessage(done.stderr.slice(0, 500), framed);
    log.warn("`codex queue` failed", { delivery_id, code: done.code, why });
    return done.code === EXIT_USAGE
      ? refused("queue_refused")
      : { state: "unclear", reason: "command_failed" };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return refused("no_command");
    throw error;
  }
}

/** An error of Codex for the log, unless it repeats a part of the message. */
function withoutMessage(error: string, framed: string): string {
  const parts = framed.match(/[^"<>\\\s][^"<>\\\n]{7,23}/g) ?? [];
  return parts.some((part) => error.includes(part)) ? "[hidden]" : error;
}
