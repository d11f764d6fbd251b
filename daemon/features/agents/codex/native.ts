/** The native rungs: Codex's own queue of a session, by its server's socket or by a command. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import type { Log } from "kit/core/log.ts";
import { withoutSecrets } from "../../../host/tmux/terminals.ts";
import type { Addressee, Parcel, Readiness, Receipt, Rung } from "../adapter.ts";
import { type Absence, AppServer } from "./app_server.ts";
import { type Doing, isThreadId, readThread, type Thread } from "./threads.ts";

/** Far above any message, and far below what the server takes. */
const SOCKET_CHARS_MAX = 1_000_000;
/** Linux takes at most 131,072 bytes for one argument. */
const ARGUMENT_BYTES_MAX = 120_000;
/** `codex queue` takes 0.1 s. */
const COMMAND_MS_MAX = 10_000;
/** As the command line says that it was called wrongly: nothing has been done. */
const MISUSED = 2;

/** Why not one byte went out. */
type Refusal =
  | Absence
  | "no_session"
  | "not_loaded" // Nobody runs the session, or a process of its own does (`--no-daemon`).
  | "broken" // The server calls it a system error.
  | "thread_unknown" // The server's answer is none that we can read.
  | "dialog_open"
  | "version_unproved"
  | "too_large"
  | "socket_serves" // The command is for a server whose socket we may not use.
  | "no_command"
  | "queue_refused";

export interface NativeOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Codex's folder, e.g. `~/.codex`. */
  readonly codex_home: string;
  /** The environment in which `codex` is looked for and run. */
  readonly env: Readonly<Record<string, string>>;
}

/** By the socket: only with a release that was proved. */
export function socketRung(options: NativeOptions): Rung {
  return {
    name: "native",
    check: (peer, parcel) =>
      meet(options, peer, ({ thread }) => ready(bySocket(thread, parcel)), ready),
    deliver: (peer, parcel) =>
      meet(options, peer, async ({ server, thread, threadId }) => {
        const refusal = bySocket(thread, parcel);
        return refusal ? refused(refusal) : await add(options, server, threadId, parcel);
      }, refused),
  };
}

/**
 * By `codex queue`, which speaks to its own server in whatever way that one understands: for
 * releases that the socket was not proved with.
 */
export function commandRung(options: NativeOptions): Rung {
  return {
    name: "native",
    check: (peer, parcel) =>
      meet(options, peer, ({ thread }) => ready(byCommand(thread, parcel)), ready),
    deliver: (peer, parcel) =>
      meet(options, peer, async ({ thread, threadId }) => {
        const refusal = byCommand(thread, parcel);
        return refusal ? refused(refusal) : await queue(options, threadId, parcel);
      }, refused),
  };
}

/** A conversation about one thread. */
interface Meeting {
  readonly server: AppServer;
  readonly thread: Thread;
  readonly threadId: string;
}

/** What comes of a conversation about the peer's thread; or of its absence. */
async function meet<T>(
  { codex_home, clock }: NativeOptions,
  { runtime_session_id: threadId }: Addressee,
  talk: (meeting: Meeting) => T | Promise<T>,
  absent: (reason: Refusal) => T,
): Promise<T> {
  if (threadId === null || !isThreadId(threadId)) return absent("no_session");
  const server = await AppServer.meet(codex_home, clock);
  if (typeof server === "string") return absent(server);
  using held = server;
  return await talk({ server: held, thread: await readThread(held, threadId), threadId });
}

const STOPS: Readonly<Partial<Record<Doing, Refusal>>> = {
  not_loaded: "not_loaded",
  broken: "broken",
  // In Codex's queue it would be held back, should the human answer by breaking the turn off.
  awaiting_input: "dialog_open",
};

function bySocket({ proved, doing }: Thread, { framed }: Parcel): Refusal | undefined {
  if (!proved) return "version_unproved";
  if (framed.length > SOCKET_CHARS_MAX) return "too_large";
  return doing === "unknown" ? "thread_unknown" : STOPS[doing];
}

function byCommand({ proved, doing }: Thread, { framed }: Parcel): Refusal | undefined {
  if (proved) return "socket_serves";
  const bytes = new TextEncoder().encode(framed).length;
  return bytes > ARGUMENT_BYTES_MAX ? "too_large" : STOPS[doing];
}

async function add(
  { log }: NativeOptions,
  server: AppServer,
  threadId: string,
  { delivery_id, framed }: Parcel,
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
  { delivery_id, framed }: Parcel,
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
    const said = new TextDecoder().decode(done.stderr).slice(0, 500);
    log.warn("`codex queue` failed", { delivery_id, code: done.code, said });
    return done.code === MISUSED
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
