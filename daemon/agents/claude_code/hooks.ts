/** What Claude Code's hooks tell us, and what they may be answered. Pure: no I/O, no state. */

import { z } from "zod";
import type { Addressee } from "../adapter.ts";

/** As many ids as one line of a reminder can hold. */
const NAMED_MAX = 10;

const common = {
  session_id: z.string().min(1),
  transcript_path: z.string().default(""),
  cwd: z.string().default(""),
};

const SessionStart = z.object({
  ...common,
  hook_event_name: z.literal("SessionStart"),
  source: z.string(), // startup, resume, clear, compact or fork
  model: z.string().optional(), // At startup and after compaction.
});
const SessionEnd = z.object({
  ...common,
  hook_event_name: z.literal("SessionEnd"),
  reason: z.string(), // clear, prompt_input_exit or other; after clear the process goes on
});
const UserPromptSubmit = z.object({
  ...common,
  hook_event_name: z.literal("UserPromptSubmit"),
  prompt: z.string(),
});
const Stop = z.object({
  ...common,
  hook_event_name: z.literal("Stop"),
  stop_hook_active: z.boolean(),
  last_assistant_message: z.string().optional(),
});
const Notification = z.object({
  ...common,
  hook_event_name: z.literal("Notification"),
  notification_type: z.string(), // permission_prompt, idle_prompt, …
});
const PermissionRequest = z.object({
  ...common,
  hook_event_name: z.literal("PermissionRequest"),
  tool_name: z.string(),
});

export const HookPayload = z.discriminatedUnion("hook_event_name", [
  SessionStart,
  SessionEnd,
  UserPromptSubmit,
  Stop,
  Notification,
  PermissionRequest,
]);
export type HookPayload = z.infer<typeof HookPayload>;
export type HookEvent = HookPayload["hook_event_name"];

export interface HookReport {
  readonly event: HookEvent;
  readonly session_id: string;
  readonly transcript_path: string;
  readonly cwd: string;
  readonly turn_state?: NonNullable<Addressee["turn_state"]>;
  readonly model?: string;
  /** What the agent was asked. The id of a message in it proves that the message was seen. */
  readonly prompt?: string;
  readonly last_message?: string;
  readonly end_reason?: string;
  readonly source?: string;
  /** The agent goes on because a stop hook asked it to. */
  readonly stop_hook_active?: boolean;
  readonly tool_name?: string;
}

/** What a hook prints, or answers over HTTP; the empty object says nothing. */
export type HookAnswer =
  | Record<never, never>
  | { hookSpecificOutput: { hookEventName: ContextEvent; additionalContext: string } }
  | { decision: "block"; reason: string };

/** The events after which the model reads what we add. */
export type ContextEvent = "SessionStart" | "UserPromptSubmit";

/** Undefined for an event that we do not take, and for a payload that we do not understand. */
export function readHook(payload: unknown): HookReport | undefined {
  const { data } = HookPayload.safeParse(payload);
  if (!data) return undefined;
  const { session_id, transcript_path, cwd } = data;
  return { event: data.hook_event_name, session_id, transcript_path, cwd, ...particulars(data) };
}

function particulars(data: HookPayload): Partial<HookReport> {
  switch (data.hook_event_name) {
    case "SessionStart": {
      const { source, model } = data;
      // Compaction happens inside a turn: it says nothing about the turn.
      const turn: Partial<HookReport> = source === "compact" ? {} : { turn_state: "idle" };
      return { ...turn, source, ...(model === undefined ? {} : { model }) };
    }
    case "SessionEnd":
      return { end_reason: data.reason };
    case "UserPromptSubmit":
      return { turn_state: "working", prompt: data.prompt };
    case "Stop": {
      const { stop_hook_active, last_assistant_message: last } = data;
      const said = last === undefined ? {} : { last_message: last };
      return { turn_state: "idle", stop_hook_active, ...said };
    }
    case "Notification":
      return noticed(data.notification_type);
    case "PermissionRequest":
      return { turn_state: "awaiting_input", tool_name: data.tool_name };
  }
}

function noticed(notification_type: string): Partial<HookReport> {
  if (notification_type === "permission_prompt") return { turn_state: "awaiting_input" };
  return notification_type === "idle_prompt" ? { turn_state: "idle" } : {};
}

/** Lets the model read `text` beside the prompt; the user's own words stay as they are. */
export function contextAnswer(event: ContextEvent, text: string): HookAnswer {
  if (text === "") return {};
  return { hookSpecificOutput: { hookEventName: event, additionalContext: text } };
}

/**
 * Keeps a turn open to name what waits, once: a stop that a hook has already put off is let
 * through, because Claude Code overrides the ninth block in a row. Never a message's text.
 */
export function stopAnswer(
  { stop_hook_active }: Pick<HookReport, "stop_hook_active">,
  ids: readonly string[],
): HookAnswer {
  if (stop_hook_active !== false || ids.length === 0) return {};
  const named = ids.slice(0, NAMED_MAX).join(", ");
  const more = ids.length > NAMED_MAX ? `, and ${ids.length - NAMED_MAX} more` : "";
  const what = ids.length === 1 ? "1 message waits" : `${ids.length} messages wait`;
  const reason = `[mesh] ${what} for you: ${named}${more}. Read with: mesh show ID`;
  return { decision: "block", reason };
}
