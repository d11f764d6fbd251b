/**
 * Decides from evidence if a question of an agent still waits at its terminal, or has ended there.
 * Pure: the readers are in the agents' folders. No I/O.
 */

import type { Evidence } from "./adapter.ts";

/** The end of a question that was not answered through us (contract 11). */
export type EndedThere = "allowed_there" | "denied_there" | "ended_there";

/**
 * Time for which a state must hold before it counts. Between two dialogs a session is at work for a
 * moment, and a refusal is in the session's file a moment after its dialog has gone.
 */
export const SETTLE_MS = 500;

interface EvidenceTimes {
  readonly asked_at: number;
  readonly now: number;
  /** Time for which a state must hold before it counts; 0 if no records can add evidence. */
  readonly settle_ms: number;
}

/** The ending that the evidence proves; undefined while the question waits. */
export function endingOf(
  evidence: readonly Evidence[],
  times: EvidenceTimes,
): { readonly outcome: EndedThere; readonly source: string } | undefined {
  for (const decided of ["denied", "allowed"] as const) {
    const found = evidence.find(({ finding }) => finding === decided);
    if (found) return { outcome: `${decided}_there`, source: found.source };
  }
  const later = evidence.filter(({ finding, at }) => finding === "gone" || at >= times.asked_at);
  if (later.some(({ finding }) => finding === "gone")) {
    return findingThatHolds(later, "gone", times);
  }
  if (later.some(({ finding }) => finding === "waits")) return undefined;
  const idle = findingThatHolds(later, "idle", times);
  if (idle) return idle;
  const working = findingThatHolds(later, "working", times);
  // A refused call has a result at once. A running call has none.
  const runs = evidence.some(({ finding }) => finding === "not_done");
  return working && runs ? { ...working, outcome: "allowed_there" } : working;
}

function findingThatHolds(
  evidence: readonly Evidence[],
  finding: Evidence["finding"],
  { now, settle_ms }: EvidenceTimes,
) {
  // The clock may have been set back since.
  const holds = ({ at }: Evidence) => Math.abs(now - at) >= settle_ms;
  const found = evidence.find((item) => item.finding === finding && holds(item));
  return found && { outcome: "ended_there" as const, source: found.source };
}
