/** What the shared server reports about a session: whether it is loaded, working or at a dialog. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import type { AgentPeer } from "../adapter.ts";
import { AppServer, type Unreachable } from "./app_server.ts";
import { isLaterPatch } from "../definition.ts";

/** What a thread is doing. `not_loaded` means that no terminal and no server runs the thread. */
export type Activity = "idle" | "working" | "awaiting_input" | "not_loaded" | "broken" | "unknown";

/** A thread as its server describes it. */
export interface Thread {
  readonly activity: Activity;
  /** Whether the socket was tested with the release of this server. */
  readonly proved: boolean;
}

const Status = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("idle") }),
  z.looseObject({ type: z.literal("notLoaded") }),
  z.looseObject({ type: z.literal("systemError") }),
  z.looseObject({ type: z.literal("active"), activeFlags: z.array(z.string()) }),
]);
const Answer = z.looseObject({
  thread: z.looseObject({ id: z.string(), status: Status, canAcceptDirectInput: z.unknown() }),
});

/** Codex's thread ids are UUIDs; anything else names no thread. */
export function isThreadId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** Reads a thread without loading it. */
export async function readThread(
  server: AppServer,
  threadId: string,
  tested_version: string,
): Promise<Thread> {
  // The protocol of other release lines, older patches and previews was not tested.
  const proved = isLaterPatch(server.version, tested_version);
  const reply = await server.call("thread/read", { threadId });
  // These are the server's messages for an unknown thread, and for a thread without a first prompt.
  if (reply.state === "refused" && /not loaded|no rollout/.test(reply.message)) {
    return { proved, activity: "not_loaded" };
  }
  const { data } = Answer.safeParse(reply.state === "answered" ? reply.result : undefined);
  return { proved, activity: data?.thread.id === threadId ? activityOf(data.thread) : "unknown" };
}

const Turns = z.looseObject({
  thread: z.looseObject({
    turns: z.array(z.looseObject({ id: z.string(), status: z.string() })),
  }),
});

/** Interrupts a thread's running turn, as its user would. */
export async function interrupt(server: AppServer, threadId: string): Promise<void> {
  const reply = await server.call("thread/read", { threadId, includeTurns: true });
  const { data } = Turns.safeParse(reply.state === "answered" ? reply.result : undefined);
  const turns = data?.thread.turns.filter(({ status }) => status === "inProgress") ?? [];
  for (const { id } of turns) await server.call("turn/interrupt", { threadId, turnId: id });
}

/** The thread of a registered agent, read through a separate connection. */
export async function threadOf(
  { codex_home, clock, tested_version }: {
    readonly codex_home: string;
    readonly clock: Clock;
    readonly tested_version: string;
  },
  { runtime_session_id }: AgentPeer,
): Promise<Thread | Unreachable | "no_session"> {
  if (runtime_session_id === null || !isThreadId(runtime_session_id)) return "no_session";
  const server = await AppServer.connect(codex_home, clock);
  if (typeof server === "string") return server;
  using connection = server;
  return await readThread(connection, runtime_session_id, tested_version);
}

type ThreadAnswer = z.infer<typeof Answer>["thread"];

function activityOf({ status, canAcceptDirectInput }: ThreadAnswer): Activity {
  if (status.type === "notLoaded") return "not_loaded";
  if (status.type === "systemError") return "broken";
  if (canAcceptDirectInput === false) return "unknown";
  if (status.type === "idle") return "idle";
  // The known flags are `waitingOnApproval` and `waitingOnUserInput`. Any other flag may be a
  // dialog, too.
  return status.activeFlags.length > 0 ? "awaiting_input" : "working";
}
