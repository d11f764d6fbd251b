/**
 * Copilot CLI's hooks: reads their payloads, completes them from the session records, and answers
 * them.
 */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import type { Decision, HookReader, HookReport } from "../adapter.ts";
import { commonFields, payloadReader } from "../hooks/payload_reader.ts";
import { lastMessageOf } from "./sessions.ts";

/** Our own tools, as a permission request names them: `mesh/ask`. */
const MESH_TOOL = /^mesh\//;
const SUBAGENT = "subagent";

const SessionStart = z.object({
  ...commonFields,
  hook_event_name: z.literal("sessionStart"),
  source: z.string(), // new, startup or resume; comes with the first prompt
});
/** Sent by `mesh mcp` as it starts with the session, before the first prompt. */
const Announced = z.object({ ...commonFields, hook_event_name: z.literal("arrived") });
const SessionEnd = z.object({
  ...commonFields,
  hook_event_name: z.literal("sessionEnd"),
  reason: z.string(), // user_exit (also for `/clear`) or complete
});
const PromptSubmitted = z.object({
  ...commonFields,
  hook_event_name: z.literal("userPromptSubmitted"),
  prompt: z.string(),
});
const AgentStop = z.object({ ...commonFields, hook_event_name: z.literal("agentStop") });
const Notification = z.object({
  ...commonFields,
  hook_event_name: z.literal("notification"),
  notification_type: z.string(), // permission_prompt, elicitation_dialog, …
});
/** Sent for every tool, before Copilot CLI decides whether to ask its user. */
const PermissionRequest = z.object({
  ...commonFields,
  hook_event_name: z.literal("permissionRequest"),
  toolName: z.string(),
  toolInput: z.unknown(),
});
const Tool = z.object({ ...commonFields, hook_event_name: z.enum(["preToolUse", "postToolUse"]) });
/** Any event of a subagent except a permission request. */
const Subagent = z.object({ ...commonFields, hook_event_name: z.literal(SUBAGENT) });

const KnownEvent = z.discriminatedUnion("hook_event_name", [
  SessionStart,
  Announced,
  SessionEnd,
  PromptSubmitted,
  AgentStop,
  Notification,
  PermissionRequest,
  Tool,
  Subagent,
]);
type KnownEvent = z.infer<typeof KnownEvent>;

/**
 * A payload in Copilot CLI's own spelling. `mesh hook` adds the event's name, because only the
 * command line of the hook has it.
 */
const NativePayload = z.looseObject({
  hookName: z.unknown().optional(),
  sessionId: z.unknown().optional(),
  transcriptPath: z.unknown().optional(),
  agentId: z.unknown().optional(),
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
    is_subagent: !isOwnSession,
  };
}

const readCommon = payloadReader(KnownEvent, reportFields);
const SubagentMark = z.object({ is_subagent: z.literal(true) });

function read(payload: unknown): HookReport {
  const normalized = normalize(payload);
  const report = readCommon(normalized);
  return SubagentMark.safeParse(normalized).success ? { ...report, is_subagent: true } : report;
}

function reportFields(data: KnownEvent): Partial<HookReport> {
  switch (data.hook_event_name) {
    case "sessionStart":
      return { turn_state: "idle", source: data.source };
    case "arrived":
      return { turn_state: "idle", source: "mcp" };
    case "sessionEnd":
      return { end_reason: data.reason };
    case "userPromptSubmitted":
      return { turn_state: "working", prompt: data.prompt };
    case "agentStop":
      return { turn_state: "idle" };
    case "notification":
      return DIALOG_NOTIFICATIONS.has(data.notification_type)
        ? { turn_state: "awaiting_input" }
        : {};
    case "permissionRequest":
      return MESH_TOOL.test(data.toolName)
        ? {}
        : { permission: { tool: data.toolName, input: data.toolInput } };
    case "preToolUse":
    case "postToolUse":
      return { turn_state: "working" };
    case SUBAGENT:
      return {};
  }
}

const DIALOG_NOTIFICATIONS: ReadonlySet<string> = new Set([
  "permission_prompt",
  "elicitation_dialog",
]);

/**
 * Whether context can be added to this event. The first prompt follows `sessionStart` at once, so
 * only prompts carry context.
 */
function acceptsContext(event: string): boolean {
  return event === "userPromptSubmitted";
}

/** What the hook prints. Our own tools are approved, because they do only what a peer may do. */
function answer(payload: unknown, context: string | null): Record<string, unknown> {
  const { data } = KnownEvent.safeParse(normalize(payload));
  if (data?.hook_event_name === "permissionRequest" && MESH_TOOL.test(data.toolName)) {
    return { behavior: "allow" };
  }
  const hasContext = data && context !== null && context !== "" &&
    acceptsContext(data.hook_event_name);
  return hasContext ? { additionalContext: context } : {};
}

/** Answers for the user; the agent reads the message of a denial. */
function formatDecision({ behavior, message }: Decision): Record<string, unknown> {
  return behavior === "allow" ? { behavior } : { behavior, message };
}

const StopTimestamp = z.object({ timestamp: z.number().optional().catch(undefined) });

/**
 * `copilotHooks`, with the last message read from the session records, because no hook reports it.
 */
export function copilotReader({ config_dir, clock }: CopilotReaderOptions): HookReader {
  return {
    ...copilotHooks,
    lastMessage({ event, session_id: id }, payload) {
      if (event !== "agentStop") return Promise.resolve(undefined);
      const stopped_at = StopTimestamp.safeParse(payload).data?.timestamp;
      return lastMessageOf(config_dir, { id, stopped_at }, clock);
    },
  };
}

export interface CopilotReaderOptions {
  /** Copilot CLI's folder, e.g. `~/.copilot`. */
  readonly config_dir: string;
  readonly clock: Clock;
}

/** Tested with 1.0.102. */
export const copilotHooks: HookReader = {
  read,
  answer,
  formatDecision,
  acceptsContext,
};
