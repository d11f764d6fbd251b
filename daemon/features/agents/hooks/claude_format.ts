/** The hook format of Claude Code, which Codex uses as well: payloads and answers. No I/O. */

import * as z from "zod";
import type { Decision, HookReader, HookReport } from "../adapter.ts";
import { commonFields, payloadReader } from "./payload_reader.ts";

const SessionStart = z.object({
  ...commonFields,
  hook_event_name: z.literal("SessionStart"),
  source: z.string(), // startup, resume, clear, compact or fork
  model: z.string().optional(), // Present at startup and after compaction.
});
const SessionEnd = z.object({
  ...commonFields,
  hook_event_name: z.literal("SessionEnd"),
  reason: z.string(), // clear, prompt_input_exit or other
});
const UserPromptSubmit = z.object({
  ...commonFields,
  hook_event_name: z.literal("UserPromptSubmit"),
  prompt: z.string(),
});
const Stop = z.object({
  ...commonFields,
  hook_event_name: z.literal("Stop"),
  stop_hook_active: z.boolean(),
  last_assistant_message: z.string().nullish(), // Absent for a turn without text.
});
const Notification = z.object({
  ...commonFields,
  hook_event_name: z.literal("Notification"),
  notification_type: z.string(), // permission_prompt, idle_prompt, …
});
const PermissionRequest = z.object({
  ...commonFields,
  hook_event_name: z.literal("PermissionRequest"),
  tool_name: z.string(),
  tool_input: z.unknown(),
});

const KnownEvent = z.discriminatedUnion("hook_event_name", [
  SessionStart,
  SessionEnd,
  UserPromptSubmit,
  Stop,
  Notification,
  PermissionRequest,
]);
type KnownEvent = z.infer<typeof KnownEvent>;

function reportFields(data: KnownEvent): Partial<HookReport> {
  switch (data.hook_event_name) {
    case "SessionStart": {
      const { source, model } = data;
      // Compaction happens inside a turn, so it does not change the turn state.
      const turn: Partial<HookReport> = source === "compact" ? {} : { turn_state: "idle" };
      return { ...turn, source, model };
    }
    case "SessionEnd":
      return data.reason === "clear" ? {} : { end_reason: data.reason };
    case "UserPromptSubmit":
      return { turn_state: "working", prompt: data.prompt };
    case "Stop":
      return { turn_state: "idle", last_message: data.last_assistant_message ?? "" };
    case "Notification":
      return notificationReport(data.notification_type);
    case "PermissionRequest":
      return {
        turn_state: "awaiting_input",
        permission: { tool: data.tool_name, input: data.tool_input },
      };
  }
}

function notificationReport(notification_type: string): Partial<HookReport> {
  if (notification_type === "permission_prompt") return { turn_state: "awaiting_input" };
  return notification_type === "idle_prompt" ? { turn_state: "idle" } : {};
}

/** Reads a payload; refuses a payload without an event or a session. */
export const readHook = payloadReader(KnownEvent, reportFields);

/**
 * Whether the model reads added context right after this event. Context added to a start is read
 * only with the first prompt, which may come late, so messages stay queued until then.
 */
export function acceptsContext(event: string): boolean {
  return event === "UserPromptSubmit";
}

/**
 * What the hook prints. `context` holds whole messages if the event accepts context. For a stop,
 * `context` only names messages, and printing it keeps the turn open. If a hook has already blocked
 * this stop, nothing is printed, because Claude Code overrides the ninth block in a row.
 */
export function hookAnswer(payload: unknown, context: string | null): Record<string, unknown> {
  const { data } = KnownEvent.safeParse(payload);
  if (!data || context === null || context === "") return {};
  const { hook_event_name: hookEventName } = data;
  if (acceptsContext(hookEventName)) {
    return { hookSpecificOutput: { hookEventName, additionalContext: context } };
  }
  const mayBlockStop = data.hook_event_name === "Stop" && !data.stop_hook_active;
  return mayBlockStop ? { decision: "block", reason: context } : {};
}

/** Answers a permission dialog for the user; the agent reads the message of a denial. */
export function formatDecision({ behavior, message }: Decision): Record<string, unknown> {
  const decision = behavior === "allow" ? { behavior } : { behavior, message };
  return { hookSpecificOutput: { hookEventName: "PermissionRequest", decision } };
}

export const claudeCodeHooks: HookReader = {
  read: readHook,
  answer: hookAnswer,
  formatDecision,
  acceptsContext,
};
