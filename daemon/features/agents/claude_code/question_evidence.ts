/**
 * Evidence from Claude Code's session registry and session file about a tool call that waits for
 * permission. As of 2.1.329.
 */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import { isSameJson, tryJson } from "kit/core/text.ts";
import type { IsAlive } from "../../../host/processes.ts";
import type { Evidence, WaitingCall } from "../adapter.ts";
import { evidenceIn } from "../sessions/evidence_file.ts";
import { Timestamp } from "../sessions/pages.ts";
import { type Session, sessionOfPeer } from "./registry.ts";
import { claudeTranscript, INTERRUPTED, REFUSED } from "./session_files.ts";
import { SESSION_ID } from "./transcripts.ts";

/** Maximum time by which the answer of a dialog may precede the arrival of its hook. */
const EARLY_MS_MAX = 2_000;

const ToolUse = z.object({
  type: z.literal("tool_use"),
  id: z.string(),
  name: z.string(),
  input: z.unknown().optional(),
});
const ToolResult = z.object({ type: z.literal("tool_result"), tool_use_id: z.string() });
const Line = z.object({
  timestamp: Timestamp,
  message: z.object({ content: z.array(z.unknown()) }),
  /** In the result of a call that was refused, such as `user-rejected`. */
  toolDenialKind: z.string().optional(),
  toolUseResult: z.unknown().optional(),
});

interface EvidenceOptions {
  readonly config_dirs: readonly string[];
  readonly isAlive?: IsAlive;
}

export function claudeEvidence(
  { config_dirs, isAlive }: EvidenceOptions,
  call: WaitingCall,
  now: number,
): readonly Evidence[] {
  return [
    ...registryEvidence(sessionOfPeer(config_dirs, call.peer, isAlive), call, now),
    ...evidenceIn(fileOf(config_dirs, call), call, fileEvidence),
  ];
}

/** A state from before the question proves nothing about its dialog, except `waiting`. */
function registryEvidence(
  entry: Session | undefined,
  { session_id }: WaitingCall,
  now: number,
): readonly Evidence[] {
  const source = "session registry";
  if (entry?.status === undefined) return [];
  const at = entry.statusUpdatedAt ?? now;
  // After `/clear` or `/resume` the process runs another session.
  if (entry.sessionId !== session_id) return [{ source, finding: "idle", at }];
  if (entry.status === "waiting") return [{ source, finding: "waits", at: now }];
  return [{ source, finding: entry.status === "busy" ? "working" : "idle", at }];
}

/** The session's file, or that of the subagent that asked. */
function fileOf(
  config_dirs: readonly string[],
  { session_id, agent_id }: WaitingCall,
): string | undefined {
  const file = claudeTranscript(config_dirs, session_id);
  if (file === undefined || agent_id === undefined) return file;
  if (!SESSION_ID.test(agent_id)) return undefined;
  return join(file.slice(0, -".jsonl".length), "subagents", `agent-${agent_id}.jsonl`);
}

/**
 * The hook of a permission names no call, so the call is the last one with this tool and input. A
 * result from before the question is that of an earlier call.
 */
export function fileEvidence(
  text: string,
  { tool, input, asked_at }: Pick<WaitingCall, "tool" | "input" | "asked_at">,
): readonly Evidence[] {
  const source = "session file";
  let call: { readonly id: string; readonly at: number } | undefined;
  let result: Evidence | undefined;
  for (const line of text.split("\n")) {
    if (!line.includes('"tool_use"') && !line.includes('"tool_result"')) continue;
    const { data } = Line.safeParse(tryJson(line));
    for (const block of data?.message.content ?? []) {
      const at = data?.timestamp ?? 0;
      const use = ToolUse.safeParse(block).data;
      if (use?.name === tool && isSameJson(use.input, input)) {
        [call, result] = [{ id: use.id, at }, undefined];
      }
      const done = ToolResult.safeParse(block).data;
      const kind = data?.toolDenialKind;
      if (call === undefined || done?.tool_use_id !== call.id || kind === INTERRUPTED) continue;
      const isDenied = kind !== undefined || data?.toolUseResult === REFUSED;
      result = { source, finding: isDenied ? "denied" : "allowed", at };
    }
  }
  if (!call) return [];
  if (!result) return [{ source, finding: "not_done", at: call.at }];
  return result.at < asked_at - EARLY_MS_MAX ? [] : [result];
}
