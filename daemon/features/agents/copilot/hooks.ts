/** Copilot CLI's hooks: reads payloads, completes them from the records, and answers them. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import type { WaitKind } from "protocol/peers/record.ts";
import type { Decision, HookReader, HookReport } from "../adapter.ts";
import { event, payloadReader, subagentOf } from "../hooks/payload_reader.ts";
import { copilotEnds } from "./turn_ends.ts";
import { lastMessageOf } from "./sessions.ts";

/** Our own tools, as a permission request names them: `mesh/ask`. */
const MESH_TOOL = /^mesh\//;
/** The tools that ask the user themselves, plans included. */
const ASKING_TOOLS: ReadonlySet<string> = new Set(["ask_user", "exit_plan_mode"]);
/** Any event of a subagent except a permission request. It is read only by its name. */
const SUBAGENT = "subagent";

/**
 * A payload in Copilot CLI's own spelling. `mesh hook` adds the event's name, because only the
 * command line of the hook has it.
 */
const NativePayload = z.looseObject({
  hookName: z.unknown().optional(),
  sessionId: z.unknown().optional(),
  transcriptPath: z.unknown().optional(),
  agentId: z.unknown().optional(),
  agentType: z.unknown().optional(),
  parentAgentId: z.unknown().optional(),
});

/**
 * The payload in the spelling that all agents share. A subagent's payload names the subagent as the
 * session, and the real session as its parent. A subagent's turns are ignored, and it gets no
 * messages.
 */
function normalize(payload: unknown): unknown {
  const { data } = NativePayload.safeParse(payload);
  if (!data) return payload;
  const { hookName, sessionId, transcriptPath, agentId, parentAgentId, ...rest } = data;
  // If the two ids differ, the session itself reports a subagent's start or end.
  const isOwnSession = agentId === undefined || agentId !== sessionId;
  return {
    ...rest,
    hook_event_name: isOwnSession || hookName === "permissionRequest" ? hookName : SUBAGENT,
    session_id: isOwnSession ? sessionId : parentAgentId ?? sessionId,
    transcript_path: transcriptPath,
  };
}

const readCommon = payloadReader({
  // The source is new, startup or resume. The event comes with the first prompt.
  sessionStart: event({ source: z.string() }, ({ source }) => ({ turn_state: "idle", source })),
  // Sent by `mesh mcp` as it starts with the session, before the first prompt.
  arrived: event({}, () => ({ turn_state: "idle", source: "mcp" })),
  // Sent before compaction. Its answer adds no context.
  preCompact: event({}, () => ({ compacts: true })),
  // The reason is user_exit (also for `/clear`) or complete.
  sessionEnd: event({ reason: z.string() }, ({ reason }) => ({ end_reason: reason })),
  userPromptSubmitted: event(
    { prompt: z.string() },
    ({ prompt }) => ({ turn_state: "working", prompt }),
  ),
  agentStop: event(
    { stop_hook_active: z.boolean().optional() },
    ({ stop_hook_active }) => ({
      turn_state: "idle",
      may_hold_turn: stop_hook_active === false,
      after_request: true,
    }),
  ),
  // The type is permission_prompt, elicitation_dialog, …
  notification: event(
    { notification_type: z.string() },
    ({ notification_type: type }) => {
      const kind = DIALOG_NOTIFICATIONS.get(type);
      return kind ? { turn_state: "awaiting_input", waits_for: { kind } } : {};
    },
  ),
  // Sent for every tool, before Copilot CLI decides whether to ask its user.
  permissionRequest: event(
    { toolName: z.string(), toolInput: z.unknown() },
    ({ toolName: tool, toolInput: input }) =>
      MESH_TOOL.test(tool) || ASKING_TOOLS.has(tool) ? {} : { permission: { tool, input } },
  ),
  preToolUse: event({}, () => ({ turn_state: "working" })),
  // There is no turn state: a dialog of another tool call may be open.
  postToolUse: event(
    {
      toolName: z.string().optional().catch(undefined),
      toolArgs: z.unknown().optional(),
      toolResult: z.unknown().optional(),
    },
    ({ toolName: tool, toolArgs: input, toolResult: result }) => ({
      is_within_turn: true,
      ...(tool !== undefined && { ran: { tool, input, result } }),
    }),
  ),
});

const DIALOG_NOTIFICATIONS: ReadonlyMap<string, WaitKind> = new Map([
  ["permission_prompt", "permission"],
  ["elicitation_dialog", "question"],
]);

function read(payload: unknown): HookReport {
  const report = readCommon(normalize(payload));
  const { hookName, agentId, agentType } = NativePayload.safeParse(payload).data ?? {};
  if (typeof agentId !== "string" || agentId === "") return report;
  return { ...report, subagent: subagentOf(agentId, agentType, hookName) };
}

/** The first prompt follows `sessionStart` at once, so only prompts carry context. */
const CONTEXT_EVENT = "userPromptSubmitted";
const TOOL_EVENT = "postToolUse";
/** The events whose answer the model reads with its next request. */
const CONTEXT_EVENTS: ReadonlySet<string> = new Set([CONTEXT_EVENT, TOOL_EVENT]);

const MeshToolRequest = z.object({
  hook_event_name: z.literal("permissionRequest"),
  toolName: z.string().regex(MESH_TOOL),
});

/** The output of the hook. Our own tools are approved, because they do only what a peer may do. */
function answer(
  { event, may_hold_turn }: HookReport,
  context: string | null,
  payload: unknown,
): Record<string, unknown> {
  if (MeshToolRequest.safeParse(normalize(payload)).success) return { behavior: "allow" };
  if (!context) return {};
  if (may_hold_turn) return { decision: "block", reason: context };
  return CONTEXT_EVENTS.has(event) ? { additionalContext: context } : {};
}

/** Answers for the user; the agent reads the message of a denial. */
function formatDecision({ behavior, message }: Decision): Record<string, unknown> {
  return behavior === "allow" ? { behavior } : { behavior, message };
}

const StopTimestamp = z.object({ timestamp: z.number().optional().catch(undefined) });

/** `copilotHooks`, with the last message from the records, because no hook reports it. */
export function copilotReader(
  { config_dir, clock }: { readonly config_dir: string; readonly clock: Clock },
): HookReader {
  return {
    ...copilotHooks,
    lastEnd: copilotEnds(config_dir),
    lastMessage({ event, session_id: id }, payload) {
      if (event !== "agentStop") return Promise.resolve(undefined);
      const stopped_at = StopTimestamp.safeParse(payload).data?.timestamp;
      return lastMessageOf(config_dir, { id, stopped_at }, clock);
    },
  };
}

/** Tested with 1.0.102. */
export const copilotHooks: HookReader = {
  read,
  answer,
  formatDecision,
  context_event: CONTEXT_EVENT,
  tool_context: { event: TOOL_EVENT },
};
