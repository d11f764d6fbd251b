/** State of a session as the shared server reports it: not loaded, idle, working or at a dialog. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import type { Reason } from "protocol/reasons.ts";
import type { ReportedWait, WaitKind } from "protocol/peers/record.ts";
import type { AgentPeer, InterruptAttempt } from "../adapter.ts";
import { AppServer, resultOf } from "./app_server.ts";

/**
 * Activity of a thread. `not_loaded` means that the shared server does not run the thread, or does
 * not know it yet because it has had no prompt. Its own terminal may run it (`--no-daemon`).
 */
export type Activity = "idle" | "working" | "awaiting_input" | "not_loaded" | "unknown";

/** A thread as its server describes it. */
export interface Thread {
  readonly activity: Activity;
  /** The dialog at which its turn waits. */
  readonly waits_for?: ReportedWait | undefined;
  /**
   * The queue of a loaded thread. Undefined if the server does not list it in the known form. Such
   * a queue is not used, because it could not be started after an interruption.
   */
  readonly queue: Queue | undefined;
}

/** A thread's queue, as far as it is read: the first message in it. */
export type Queue = z.output<typeof QueueList>["data"];

const QueueList = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), clientUserMessageId: z.string().nullish() })),
});

const Status = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("idle") }),
  z.looseObject({ type: z.literal("notLoaded") }),
  z.looseObject({ type: z.literal("systemError") }),
  z.looseObject({ type: z.literal("active"), activeFlags: z.array(z.string()) }),
]);
const Answer = z.looseObject({
  thread: z.looseObject({ id: z.string(), status: Status, canAcceptDirectInput: z.unknown() }),
});

/** Codex's thread ids are UUIDs. */
export function isThreadId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** The activities in which a thread is loaded, so that its queue can be used. */
const LOADED: ReadonlySet<Activity> = new Set(["idle", "working"]);

/** Reads a thread without loading it. Its server's answers, and not its release, show features. */
async function readThread({ server, threadId }: ThreadConnection): Promise<Thread> {
  const reply = await server.call("thread/read", { threadId });
  // These are the server's messages for an unknown thread, and for a thread without a first prompt.
  if (reply.state === "refused" && /not loaded|no rollout/.test(reply.message)) {
    return { activity: "not_loaded", queue: undefined };
  }
  const found = resultOf(Answer, reply)?.thread;
  const activity = found?.id === threadId ? activityOf(found) : "unknown";
  const waits_for = found && activity === "awaiting_input" ? waitOfThread(found) : undefined;
  if (!LOADED.has(activity)) return { activity, waits_for, queue: undefined };
  const listed = await server.call("thread/queue/list", { threadId, limit: 1 });
  return { activity, queue: resultOf(QueueList, listed)?.data };
}

const Turns = z.looseObject({
  thread: z.looseObject({ turns: z.array(z.looseObject({ id: z.string(), status: z.string() })) }),
});

/** Interrupts a thread's running turn, as its user would, unless it waits at a dialog. */
export async function interrupt(connection: ThreadConnection): Promise<InterruptAttempt> {
  const { activity } = await readThread(connection);
  if (activity === "awaiting_input") return { state: "refused", reason: "at_dialog" };
  return await interruptTurn(connection);
}

/** Interrupts a thread's running turn, also at a dialog, which is then closed. */
export async function interruptTurn(
  { server, threadId }: ThreadConnection,
): Promise<InterruptAttempt> {
  const reply = await server.call("thread/read", { threadId, includeTurns: true });
  if (reply.state === "unanswered") return { state: "refused", reason: reply.reason };
  const turns = resultOf(Turns, reply)?.thread.turns ?? [];
  const turnId = turns.find(({ status }) => status === "inProgress")?.id;
  if (turnId === undefined) return { state: "idle" };
  const answer = await server.call("turn/interrupt", { threadId, turnId });
  // Codex refuses the id of a turn that has ended meanwhile.
  return answer.state === "refused" ? { state: "idle" } : { state: "asked", by: "Codex's server" };
}

/** The shared server to connect to. */
export interface ServerOptions {
  readonly clock: Clock;
  /** Codex's folder, e.g. `~/.codex`. */
  readonly codex_home: string;
}

/** A connection to the server, and the id of a peer's thread. */
export interface ThreadConnection {
  readonly server: AppServer;
  readonly threadId: string;
}

/** Connects for an operation on the peer's thread; calls `onUnreachable` if that is impossible. */
export async function withServer<T>(
  { codex_home, clock }: ServerOptions,
  { runtime_session_id: threadId }: AgentPeer,
  operation: (opened: ThreadConnection) => T | Promise<T>,
  onUnreachable: (reason: Reason) => T,
): Promise<T> {
  if (threadId === null || !isThreadId(threadId)) return onUnreachable("no_session");
  const server = await AppServer.connect(codex_home, clock);
  if (typeof server === "string") return onUnreachable(server);
  using connection = server;
  return await operation({ server: connection, threadId });
}

/** Like `withServer`; also reads the peer's thread. */
export function withThread<T>(
  options: ServerOptions,
  peer: AgentPeer,
  operation: (thread: Thread, opened: ThreadConnection) => T | Promise<T>,
  onUnreachable: (reason: Reason) => T,
): Promise<T> {
  return withServer(
    options,
    peer,
    async (opened) => await operation(await readThread(opened), opened),
    onUnreachable,
  );
}

type ThreadAnswer = z.infer<typeof Answer>["thread"];

/** The dialogs by the known flags. Any other flag may be a dialog, too. */
const DIALOGS: ReadonlyMap<string, WaitKind> = new Map([
  ["waitingOnApproval", "permission"],
  ["waitingOnUserInput", "question"],
]);

function waitOfThread({ status }: ThreadAnswer): ReportedWait {
  const flags = status.type === "active" ? status.activeFlags : [];
  return { kind: flags.map((flag) => DIALOGS.get(flag)).find((kind) => kind) ?? "dialog" };
}

function activityOf({ status, canAcceptDirectInput }: ThreadAnswer): Activity {
  if (status.type === "notLoaded") return "not_loaded";
  if (canAcceptDirectInput === false) return "unknown";
  // A turn that an error or a limit ended leaves `systemError` until the next turn begins.
  if (status.type === "idle" || status.type === "systemError") return "idle";
  return status.activeFlags.length > 0 ? "awaiting_input" : "working";
}
