/**
 * Events inside a subagent, in the format of Claude Code and Codex: they name the session that
 * started it, and the subagent. No I/O.
 */

import * as z from "zod";
import type { HookReport, SubagentReport } from "../adapter.ts";

/** The longest id of a subagent. An event with a longer id is not the session's own either. */
const AGENT_ID_CHARS_MAX = 255;

const InSubagent = z.object({ agent_id: z.string().min(1), agent_type: z.unknown().optional() });

const PHASES: Readonly<Record<string, SubagentReport["phase"]>> = {
  SubagentStart: "started",
  SubagentStop: "ended",
};

/**
 * The report of an event that happened in a subagent. Its prompt, its turn and its last message are
 * the subagent's, so they are left out: they would prove messages that the session's model never
 * got. Only a permission dialog is the session's, because its terminal shows it.
 */
export function ofSubagent(report: HookReport, payload: unknown): HookReport {
  const { data } = InSubagent.safeParse(payload);
  if (!data) return report;
  const { event, session_id, transcript_path, cwd, permission } = report;
  return {
    event,
    session_id,
    transcript_path,
    cwd,
    ...(permission && { permission, turn_state: "awaiting_input" }),
    subagent: subagentOf(data.agent_id, data.agent_type, PHASES[event] ?? "working"),
  };
}

/** Reads the subagent that an event names. Its id has a bounded length. */
export function subagentOf(
  agent_id: string,
  type: unknown,
  phase: SubagentReport["phase"],
): SubagentReport {
  const id = agent_id.slice(0, AGENT_ID_CHARS_MAX);
  return { agent_id: id, type: typeof type === "string" ? type : "", phase };
}
