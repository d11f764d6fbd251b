/**
 * Gemini CLI's hooks: reads their payloads, completes them from the session records, and answers
 * them.
 */

import * as z from "zod";
import type { HookReader, HookReport } from "../adapter.ts";
import { commonFields, payloadReader } from "../hooks/payload_reader.ts";
import { lastModelText } from "./sessions.ts";

const SessionStart = z.object({
  ...commonFields,
  hook_event_name: z.literal("SessionStart"),
  source: z.string(), // startup, resume or clear
});
const SessionEnd = z.object({
  ...commonFields,
  hook_event_name: z.literal("SessionEnd"),
  reason: z.string(), // exit, clear, logout, prompt_input_exit or other
});
const BeforeAgent = z.object({
  ...commonFields,
  hook_event_name: z.literal("BeforeAgent"),
  prompt: z.string(),
});
const AfterAgent = z.object({
  ...commonFields,
  hook_event_name: z.literal("AfterAgent"),
  prompt_response: z.string().optional(),
});
const Notification = z.object({
  ...commonFields,
  hook_event_name: z.literal("Notification"),
  notification_type: z.string(), // ToolPermission
});
const BeforeModel = z.object({
  ...commonFields,
  hook_event_name: z.literal("BeforeModel"),
  llm_request: z.object({ model: z.string().optional() }),
});
const Tool = z.object({
  ...commonFields,
  hook_event_name: z.enum(["BeforeTool", "AfterTool"]),
});

const KnownEvent = z.discriminatedUnion("hook_event_name", [
  SessionStart,
  SessionEnd,
  BeforeAgent,
  AfterAgent,
  Notification,
  BeforeModel,
  Tool,
]);
type KnownEvent = z.infer<typeof KnownEvent>;

function reportFields(data: KnownEvent): Partial<HookReport> {
  switch (data.hook_event_name) {
    case "SessionStart":
      return { turn_state: "idle", source: data.source };
    case "SessionEnd":
      return data.reason === "clear" ? {} : { end_reason: data.reason };
    case "BeforeAgent":
      return { turn_state: "working", prompt: data.prompt };
    case "AfterAgent":
      return { turn_state: "idle", last_message: data.prompt_response ?? "" };
    case "Notification":
      return data.notification_type === "ToolPermission" ? { turn_state: "awaiting_input" } : {};
    case "BeforeModel":
      return { turn_state: "working", model: data.llm_request.model };
    case "BeforeTool":
    case "AfterTool":
      return { turn_state: "working" };
  }
}

/**
 * Whether the model reads added context right after this event. Context that is added to a
 * session's start is read only with the first prompt, which may come much later, so messages stay
 * queued until then.
 */
function acceptsContext(event: string): boolean {
  return event === "BeforeAgent";
}

/** Gemini CLI wraps added context in tags and escapes `<` and `>`. */
function answer(payload: unknown, context: string | null): Record<string, unknown> {
  const { data } = KnownEvent.safeParse(payload);
  if (!data || context === null || context === "" || !acceptsContext(data.hook_event_name)) {
    return {};
  }
  const { hook_event_name: hookEventName } = data;
  return { hookSpecificOutput: { hookEventName, additionalContext: context } };
}

/** Tested with 0.61.0. */
export const geminiHooks: HookReader = {
  read: payloadReader(KnownEvent, reportFields),
  answer,
  acceptsContext,
};

/**
 * `geminiHooks`, with the last message read from the session records, because a hook holds all
 * texts of the turn, one per line. The last record is used only if the hook's text ends with it.
 */
export function geminiReader(config_dir: string): HookReader {
  return {
    ...geminiHooks,
    lastMessage({ last_message: fullText, session_id: runtime_session_id, cwd: path }) {
      if (!fullText || path === undefined) return Promise.resolve(undefined);
      const lastText = lastModelText(config_dir, { runtime_session_id, path });
      return Promise.resolve(lastText && fullText.endsWith(`\n${lastText}`) ? lastText : undefined);
    },
  };
}
