/** Gemini CLI's hooks: reads payloads, completes them from the records, and answers them. */

import * as z from "zod";
import type { HookReader, HookReport } from "../adapter.ts";
import { event, payloadReader } from "../hooks/payload_reader.ts";
import { geminiEnds } from "./turn_ends.ts";
import { lastModelText } from "./sessions.ts";

const read = payloadReader({
  // The source is startup, resume or clear.
  SessionStart: event({ source: z.string() }, ({ source }) => ({ turn_state: "idle", source })),
  // The reason is exit, clear, logout, prompt_input_exit or other.
  SessionEnd: event(
    { reason: z.string() },
    ({ reason }) => reason === "clear" ? {} : { end_reason: reason },
  ),
  // Each prompt reports `auto`, whether it is compressed or not.
  PreCompress: event(
    { trigger: z.string() },
    ({ trigger }) => trigger === "manual" ? { compacts: true } : {},
  ),
  BeforeAgent: event({ prompt: z.string() }, ({ prompt }) => ({ turn_state: "working", prompt })),
  AfterAgent: event(
    { prompt_response: z.string().optional(), stop_hook_active: z.boolean().optional() },
    ({ prompt_response: text, stop_hook_active }) => ({
      turn_state: "idle",
      last_message: text ?? "",
      may_hold_turn: stop_hook_active === false,
      after_request: true,
    }),
  ),
  Notification: event(
    { notification_type: z.string() },
    ({ notification_type }) =>
      notification_type === "ToolPermission"
        ? { turn_state: "awaiting_input", waits_for: { kind: "permission" } }
        : {},
  ),
  BeforeModel: event(
    { llm_request: z.object({ model: z.string().optional() }) },
    ({ llm_request: { model } }) => ({
      turn_state: "working",
      model,
      // Does not prove an answer to the earlier request: a failed request is announced again.
      before_request: true,
    }),
  ),
  BeforeTool: event({}, () => ({ turn_state: "working" })),
  // There is no turn state: a dialog of another tool call may be open.
  AfterTool: event({}, () => ({ is_within_turn: true, after_request: true })),
});

const CONTEXT_EVENT = "BeforeAgent";
const TOOL_EVENT = "AfterTool";
/** No hook reports an interrupted turn. Hooks report each request of a continuing turn. */
const TURN_MS_MAX = 60_000;

/** The events whose answer the model reads with its next request. */
const CONTEXT_EVENTS: ReadonlySet<string> = new Set([CONTEXT_EVENT, TOOL_EVENT]);

/** Gemini CLI wraps added context in tags and escapes `<` and `>`. */
function answer(
  { event: hookEventName, may_hold_turn }: HookReport,
  context: string | null,
): Record<string, unknown> {
  if (context && may_hold_turn) return { decision: "block", reason: context };
  if (!context || !CONTEXT_EVENTS.has(hookEventName)) return {};
  return { hookSpecificOutput: { hookEventName, additionalContext: context } };
}

/** Tested with 0.61.0. */
export const geminiHooks: HookReader = {
  read,
  answer,
  context_event: CONTEXT_EVENT,
  // Each request is announced by `BeforeModel`.
  tool_context: {
    event: TOOL_EVENT,
    awaits_request: true,
    keeps_marker: true,
    turn_ms_max: TURN_MS_MAX,
  },
};

/**
 * `geminiHooks`, with the last message read from the session records, because a hook holds all
 * texts of the turn, one per line. The last record is used only if the hook's text ends with it.
 */
export function geminiReader(config_dir: string): HookReader {
  return {
    ...geminiHooks,
    lastEnd: geminiEnds(config_dir),
    lastMessage({ last_message: fullText, session_id: runtime_session_id, cwd: path }) {
      if (!fullText || path === undefined) return Promise.resolve(undefined);
      const lastText = lastModelText(config_dir, { runtime_session_id, path });
      return Promise.resolve(lastText && fullText.endsWith(`\n${lastText}`) ? lastText : undefined);
    },
  };
}
