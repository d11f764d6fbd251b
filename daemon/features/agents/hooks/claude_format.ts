/** The hook format of Claude Code, which Codex uses as well: payloads and answers. No I/O. */

import * as z from "zod";
import type { Decision, HookReader, HookReport } from "../adapter.ts";
import { ErrorClass } from "protocol/agents/contract.ts";
import { event, ofSubagent, payloadReader } from "./payload_reader.ts";

/** There is no turn state: a dialog of another tool call may be open. */
const WITHIN_TURN = { is_within_turn: true };

const readEvent = payloadReader({
  // The source is startup, resume, clear, compact or fork. The model is present at startup and
  // after compaction.
  SessionStart: event({ source: z.string(), model: z.string().optional() }, (fields) => {
    // Compaction happens inside a turn, so it does not change the turn state.
    return fields.source === "compact" ? fields : { turn_state: "idle", ...fields };
  }),
  // The reason is clear, prompt_input_exit or other.
  SessionEnd: event(
    { reason: z.string() },
    ({ reason }) => reason === "clear" ? {} : { end_reason: reason },
  ),
  UserPromptSubmit: event(
    { prompt: z.string() },
    ({ prompt }) => ({ turn_state: "working", prompt }),
  ),
  Stop: event(
    {
      stop_hook_active: z.boolean(),
      last_assistant_message: z.string().nullish(),
      background_tasks: z.array(z.unknown()).optional().catch(undefined),
    },
    // The message is absent for a turn without text. The list also has tasks that are no subagents,
    // and lacks a subagent for which another subagent waits. Therefore only an empty list is
    // evidence.
    ({ last_assistant_message: text, stop_hook_active, background_tasks: tasks }) => ({
      turn_state: "idle",
      last_message: text ?? "",
      may_hold_turn: !stop_hook_active,
      after_request: true,
      ...(tasks?.length === 0 && { no_subagents: true }),
    }),
  ),
  // After all tool calls of an answer. Thus the model has answered between two of these events.
  PostToolBatch: event({}, () => ({ ...WITHIN_TURN, after_request: true })),
  // After each tool call.
  PostToolUse: event(
    {
      tool_name: z.string().optional().catch(undefined),
      tool_input: z.unknown().optional(),
      tool_response: z.unknown().optional(),
    },
    ({ tool_name: tool, tool_input: input, tool_response: result }) => ({
      ...WITHIN_TURN,
      ...(tool !== undefined && { ran: { tool, input, result } }),
    }),
  ),
  // Codex's.
  PostModelRequest: event(
    { status: z.string() },
    ({ status }) => ({ ...WITHIN_TURN, after_request: status === "completed" }),
  ),
  // The error is rate_limit, overloaded, server_error, … No Stop follows.
  StopFailure: event(
    {
      error: ErrorClass.catch("unknown"),
      last_assistant_message: z.string().nullish().catch(undefined),
    },
    ({ error, last_assistant_message: text }) => ({
      turn_state: "idle",
      turn_error: error === "unknown" && UNPAID.test(text ?? "") ? "billing_error" : error,
    }),
  ),
  // The type is permission_prompt, idle_prompt, …
  Notification: event({ notification_type: z.string() }, ({ notification_type }) => {
    if (notification_type === "permission_prompt") {
      return { turn_state: "awaiting_input", waits_for: { kind: "permission" } };
    }
    if (STAYS_AT_LIMIT.has(notification_type)) return { stays_at_limit: true };
    return notification_type === "idle_prompt" ? { turn_state: "idle" } : {};
  }),
  PermissionRequest: event(
    { tool_name: z.string(), tool_input: z.unknown() },
    ({ tool_name: tool, tool_input: input }) => ({
      turn_state: "awaiting_input",
      waits_for: { kind: ASKING_TOOLS.has(tool) ? "question" : "permission", detail: tool },
      ...(!ASKING_TOOLS.has(tool) && { permission: { tool, input } }),
    }),
  ),
});

/** A response of the provider for which Claude Code names no class of error (2.1.329). */
const UNPAID = /^API Error: 402\b/;

/** Notifications that Claude Code does not go on after the reset, as its program names them. */
const STAYS_AT_LIMIT: ReadonlySet<string> = new Set([
  "quota_auto_resume_disabled",
  "quota_auto_resume_stale",
]);

/** The tools of Claude Code and Codex that ask the user themselves, plans included. */
const ASKING_TOOLS: ReadonlySet<string> = new Set([
  "AskUserQuestion",
  "EnterPlanMode",
  "ExitPlanMode",
  "exit_plan_mode",
  "request_user_input",
]);

/** Reads a payload; refuses a payload without an event or a session. */
export const readHook: HookReader["read"] = (payload) => ofSubagent(readEvent(payload), payload);

const CONTEXT_EVENT = "UserPromptSubmit";
const START_EVENT = "SessionStart";
/** The events whose answer the model reads with its next request. */
const CONTEXT_EVENTS: ReadonlySet<string> = new Set([
  START_EVENT,
  CONTEXT_EVENT,
  "PostToolBatch",
  "PostToolUse",
]);

/**
 * The output of the hook. `context` holds whole messages for `CONTEXT_EVENTS`. For a stop,
 * `context` only names messages, and printing it keeps the turn open. If a hook has already blocked
 * this stop, nothing is printed, because Claude Code overrides the ninth block in a row.
 */
function hookAnswer(
  { event: hookEventName, may_hold_turn, subagent }: HookReport,
  context: string | null,
): Record<string, unknown> {
  if (!context || subagent) return {};
  if (CONTEXT_EVENTS.has(hookEventName)) {
    return { hookSpecificOutput: { hookEventName, additionalContext: context } };
  }
  return may_hold_turn ? { decision: "block", reason: context } : {};
}

/** Answers a permission dialog for the user; the agent reads the message of a denial. */
function formatDecision({ behavior, message }: Decision): Record<string, unknown> {
  const decision = behavior === "allow" ? { behavior } : { behavior, message };
  return { hookSpecificOutput: { hookEventName: "PermissionRequest", decision } };
}

export const claudeCodeHooks: HookReader = {
  read: readHook,
  answer: hookAnswer,
  formatDecision,
  context_event: CONTEXT_EVENT,
  start_event: START_EVENT,
  tool_context: { event: "PostToolBatch", keeps_marker: true },
};
