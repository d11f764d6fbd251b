/**
 * Codex's native transports. They put a message into a session's queue, through the server's socket
 * or a command.
 */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import type { Log } from "kit/core/log.ts";
import { withoutSecrets } from "../../../host/tmux/terminals.ts";
import type { AgentPeer, AgentTransport, OutgoingMessage, Readiness, Receipt } from "../adapter.ts";
import { AppServer, type Unreachable } from "./app_server.ts";
import { type Activity, isThreadId, readThread, type Thread } from "./threads.ts";

/**
 * The longest text for the socket. It is far above any message, and far below the server's limit.
 */
const SOCKET_CHARS_MAX = 1_000_000;
/** The longest text for the command, because Linux limits one argument to 131,072 bytes. */
const ARGUMENT_BYTES_MAX = 120_000;
/** How long `codex queue` may run. It takes about 0.1 s. */
const COMMAND_MS_MAX = 10_000;
/** The exit code for wrong usage, which means that nothing was done. */
const EXIT_USAGE = 2;

/** Reasons to refuse. In all of these cases, not one byte was sent. */
type Refusal =
  | Unreachable
  | "no_session"
  | "not_loaded" // No process runs the session, or only its own process does (`--no-daemon`).
  | "broken" // The server reports a system error.
  | "thread_unknown" // The server's answer cannot be read.
  | "dialog_open"
  | "version_unproved"
  | "too_large"
  | "socket_serves" // The command is used only for releases whose socket was not tested.
  | "no_command"
  | "queue_refused";

export interface NativeOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Codex's folder, e.g. `~/.codex`. */
  readonly codex_home: string;
  /** The newest release that the adapter was tested with. */
  readonly tested_version: string;
  /** The environment in which `codex` is found and run. */
  readonly env: Readonly<Record<string, string>>;
}

/** Delivers through the socket. Used only with a tested release. */
export function createSocketTransport(options: NativeOptions): AgentTransport {
  return {
    name: "native",
    check: (peer, outgoing) =>
      withThread(options, peer, ({ thread }) => ready(socketRefusal(thread, outgoing)), ready),
    deliver: (peer, outgoing) =>
      withThread(options, peer, async ({ server, thread, threadId }) => {
        const refusal = socketRefusal(thread, outgoing);
        return refusal ? refused(refusal) : await add(options, server, threadId, outgoing);
      }, refused),
  };
}

/**
 * Delivers through `codex queue`, for untested releases. The command always speaks the protocol of
 * its own server.
 */
export function createCommandTransport(options: NativeOptions): AgentTransport {
  return {
    name: "native",
    check: (peer, outgoing) =>
      withThread(options, peer, ({ thread }) => ready(commandRefusal(thread, outgoing)), ready),
    deliver: (peer, outgoing) =>
      withThread(options, peer, async ({ thread, threadId }) => {
        const refusal = commandRefusal(thread, outgoing);
        return refusal ? refused(refusal) : await queue(options, threadId, outgoing);
      }, refused),
  };
}

/** A connection to the server, and the peer's thread as the server describes it. */
interface ThreadConnection {
  readonly server: AppServer;
  readonly thread: Thread;
  readonly threadId: string;
}

/** Connects and reads the peer's thread; calls `onUnreachable` if that is impossible. */
async function withThread<T>(
  { codex_home, clock, tested_version }: NativeOptions,
  { runtime_session_id: threadId }: AgentPeer,
  operation: (opened: ThreadConnection) => T | Promise<T>,
  onUnreachable: (reason: Refusal) => T,
): Promise<T> {
  if (threadId === null || !isThreadId(threadId)) return onUnreachable("no_session");
  const server = await AppServer.connect(codex_home, clock);
  if (typeof server === "string") return onUnreachable(server);
  using connection = server;
  return await operation({
    server: connection,
    thread: await readThread(connection, threadId, tested_version),
    threadId,
  });
}

const REFUSAL_OF: Readonly<Partial<Record<Activity, Refusal>>> = {
  not_loaded: "not_loaded",
  broken: "broken",
  // Codex would hold the message in its queue if the human interrupts the turn at this dialog.
  awaiting_input: "dialog_open",
};

function socketRefusal(
  { proved, activity }: Thread,
  { framed }: OutgoingMessage,
): Refusal | undefined {
  if (!proved) return "version_unproved";
  if (framed.length > SOCKET_CHARS_MAX) return "too_large";
  return activity === "unknown" ? "thread_unknown" : REFUSAL_OF[activity];
}

function commandRefusal(
  { proved, activity }: Thread,
  { framed }: OutgoingMessage,
): Refusal | undefined {
  if (proved) return "socket_serves";
  const bytes = new TextEncoder().encode(framed).length;
  return bytes > ARGUMENT_BYTES_MAX ? "too_large" : REFUSAL_OF[activity];
}

async function add(
  { log }: NativeOptions,
  server: AppServer,
  threadId: string,
  { delivery_id, framed }: OutgoingMessage,
): Promise<Receipt> {
  const reply = await server.call("thread/queue/add", {
    threadId,
    clientUserMessageId: delivery_id,
    input: [{ type: "text", text: framed }],
  });
  if (reply.state === "answered") return { state: "accepted" };
  if (reply.state === "lost") return { state: "unclear", reason: reply.reason };
  log.warn("Codex refused a message", { delivery_id, message: reply.message });
  return refused("queue_refused");
}

async function queue(
  { clock, log, codex_home, env }: NativeOptions,
  threadId: string,
  { delivery_id, framed }: OutgoingMessage,
): Promise<Receipt> {
  const args = ["queue", "--thread", threadId, `--message=${framed}`];
  try {
    const done = await timeout(clock, COMMAND_MS_MAX, (signal) =>
      new Deno.Command("codex", {
        args,
        env: { ...withoutSecrets(env), CODEX_HOME: codex_home },
        clearEnv: true,
        stdin: "null",
        stdout: "null",
        stderr: "piped",
        signal,
      }).output());
    if (!done) return { state: "unclear", reason: "command_timeout" };
    if (done.success) return { state: "accepted" };
    const detail = new TextDecoder().decode(done.stderr).slice(0, 500);
    log.warn("`codex queue` failed", { delivery_id, code: done.code, detail });
    return done.code === EXIT_USAGE
      ? refused("queue_refused")
      : { state: "unclear", reason: "command_failed" };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return refused("no_command");
    throw error;
  }
}

function ready(refusal: Refusal | undefined): Readiness {
  return refusal === undefined ? { ready: true } : { ready: false, reason: refusal };
}

function refused(reason: Refusal): Receipt {
  return { state: "refused", reason };
}
