/**
 * Evidence from the session records of Copilot CLI about a tool call that waits for permission. Its
 * hook continues to wait when the turn is interrupted. Tested with 1.0.102.
 */

import * as z from "zod";
import { isSameJson, tryJson } from "kit/core/text.ts";
import type { Evidence, WaitingCall } from "../adapter.ts";
import { evidenceIn } from "../sessions/evidence_file.ts";
import { Timestamp } from "../sessions/pages.ts";
import { recordsFileOf } from "./sessions.ts";

const Fields = z.record(z.string(), z.unknown());
const Line = z.object({
  type: z.enum(["abort", "assistant.turn_end", "tool.execution_start", "tool.execution_complete"]),
  timestamp: Timestamp,
  /** The subagent that the record belongs to; absent for a record of the session itself. */
  agentId: z.string().optional(),
  data: z.object({
    toolCallId: z.string().optional(),
    toolName: z.string().optional(),
    arguments: Fields.optional().catch(undefined),
  }),
});

export function copilotEvidence(config_dir: string, call: WaitingCall): readonly Evidence[] {
  return evidenceIn(recordsFileOf(config_dir, call.session_id), call, recordEvidence);
}

export function recordEvidence(
  text: string,
  call: Pick<WaitingCall, "tool" | "input" | "agent_id" | "asked_at">,
): readonly Evidence[] {
  const source = "session file";
  const found: Evidence[] = [];
  let toolCallId: string | undefined;
  for (const line of text.split("\n")) {
    const { type, timestamp: at, agentId, data } = Line.safeParse(tryJson(line)).data ?? {};
    if (type === undefined || at === undefined) continue;
    if (type === "tool.execution_start") {
      if (isCall(call, data)) toolCallId = data?.toolCallId;
    } else if (at < call.asked_at) continue;
    else if (type === "abort") found.push({ source, finding: "denied", at });
    else if (type === "assistant.turn_end") {
      if (agentId === call.agent_id) found.push({ source, finding: "idle", at });
    } else if (toolCallId !== undefined && data?.toolCallId === toolCallId) {
      found.push({ source, finding: "allowed", at });
    }
  }
  return found;
}

/** The hook of a permission names no call, and leaves out some arguments. */
function isCall(
  { tool, input }: Pick<WaitingCall, "tool" | "input">,
  data: z.infer<typeof Line>["data"] | undefined,
): boolean {
  const fields = Fields.safeParse(input).data ?? {};
  return data?.toolName === tool &&
    Object.entries(fields).every(([key, value]) => isSameJson(data.arguments?.[key], value));
}
