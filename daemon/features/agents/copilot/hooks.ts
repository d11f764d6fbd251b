/** What Copilot CLI's hooks tell us, with its records' help, and what they may be answered. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import type { Decision, HookReader, HookReport } from "../adapter.ts";
import { commonFields, payloadReader } from "../hooks/payload_reader.ts";
import { lastMessageOf } from "./sessions.ts";

/** Our own tools, as a permission names them: `mesh/ask`. */
const MESH_TOOL = /^mesh\//;
const SUBAGENT = "subagent";

const SessionStart = z.object({
  ...commonFields,
  hook_event_name: z.literal("sessionStart"),
  source: z.string(), // new, startup or resume; it comes with the first prompt
});
/** What `mesh mcp` says as it starts: with the session, and so before its first prompt. */
const Announced = z.object({ ...commonFields, hook_event_name: z.literal("arrived") });
const SessionEnd = z.object({
  ...commonFields,
  hook_event_name: z.literal("sessionEnd"),
  reason: z.string(), // user_exit, for `/clear` too, or complete
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
/** Asked of every tool, before Copilot looks whether it would ask its user. */
const PermissionRequest = z.object({
  ...commonFields,
  hook_event_name: z.literal("permissionRequest"),
  toolName: z.string(),
  toolInput: z.unknown(),
});
const Tool = z.object({ ...commonFields, hook_event_name: z.enum(["preToolUse", "postToolUse"]) });
/** Whatever a subagent does but ask for permission. */
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

/** Copilot's spelling; the event's name is put in by `mesh hook`, which alone is told it. */
const NativePayload = z.looseObject({
  hookName: z.unknown().optional(),
  sessionId: z.unknown().optional(),
  transcriptPath: z.unknown().optional(),
  agentId: z.unknown().optional(),
  parentAgentId: z.unknown().optional(),
});

/**
 * The same payload in the spelling that all agents share. A subagent's names itself as the session,
 * and the one that it works for as its parent: its turns are nobody's, and it is given no message.
 */
function normalize(payload: unknown): unknown {
  const { data } = NativePayload.safeParse(payload);
  if (!data) return payload;
  const { hookName, sessionId, transcriptPath, agentId, parentAgentId, ...rest } = data;
  const isOwnSession = agentId === undefined || agentId !== sessionId; // Or of a subagent's begin and end.
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

/** The first prompt follows `sessionStart` at once: what is to be read goes with it alone. */
function acceptsContext(event: string): boolean {
  return event === "userPromptSubmitted";
}

/** Our own tools ask for no approval: all they do is what a peer may do. */
function answer(payload: unknown, context: string | null): Record<string, unknown> {
  const { data } = KnownEvent.safeParse(normalize(payload));
  if (data?.hook_event_name === "permissionRequest" && MESH_TOOL.test(data.toolName)) {
    return { behavior: "allow" };
  }
  const hasContext = data && context !== null && context !== "" &&
    acceptsContext(data.hook_event_name);
  return hasContext ? { additionalContext: context } : {};
}

/** Answers for the user; the message is read where it is denied. */
function formatDecision({ behavior, message }: Decision): Record<string, unknown> {
  return behavior === "allow" ? { behavior } : { behavior, message };
}

const StopTimestamp = z.object({ timestamp: z.number().optional().catch(undefined) });

/** As in the house, where its records can be read: no hook of Copilot's holds what it said. */
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

/** The house's interface to all of this (`agents.ts`). Proved with 1.0.102. */
export const copilotHooks: HookReader = {
  read,
  answer,
  formatDecision,
  acceptsContext,
};
