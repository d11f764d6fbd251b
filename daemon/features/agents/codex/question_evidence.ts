/**
 * Evidence from a rollout of Codex about a tool call that waits for permission. While our hook is
 * held, Codex shows no dialog: its user can only interrupt the turn. Tested with 0.169.0.
 */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import type { Evidence, WaitingCall } from "../adapter.ts";
import { evidenceIn } from "../sessions/evidence_file.ts";
import { Timestamp } from "../sessions/pages.ts";
import { rolloutFile } from "./rollouts.ts";

const Line = z.object({
  timestamp: Timestamp,
  payload: z.object({ type: z.enum(["turn_aborted", "task_complete"]) }),
});

export function codexEvidence(codex_home: string, call: WaitingCall): readonly Evidence[] {
  return evidenceIn(rolloutFile(codex_home, call.session_id), call, rolloutEvidence);
}

export function rolloutEvidence(
  text: string,
  { asked_at }: Pick<WaitingCall, "asked_at">,
): readonly Evidence[] {
  const lines = text.split("\n").filter((line) => /turn_aborted|task_complete/.test(line));
  return lines.flatMap((line): Evidence[] => {
    const { data } = Line.safeParse(tryJson(line));
    if (!data || data.timestamp < asked_at) return [];
    const finding = data.payload.type === "turn_aborted" ? "denied" as const : "idle" as const;
    return [{ source: "session file", finding, at: data.timestamp }];
  });
}
