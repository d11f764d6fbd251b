/**
 * Decides from evidence whether a question of an agent still waits at its terminal, and how it
 * ended there. Pure: the readers are in the agents' folders. No I/O.
 */

import type { Evidence } from "./adapter.ts";

/** How a question ended that was not answered through us (contract 11). */
export type EndedThere = "allowed_there" | "denied_there" | "ended_there";

/**
 * How long a state must hold before it counts. Between two dialogs a session is at work for a
 * moment, and a refusal is in the session's file a moment after its dialog has gone.
 */
export const SETTLE_MS = 500;

export interface Judged {
  readonly asked_at: number;
  readonly now: number;
  /** How long a state must hold before it counts: 0 if no records of the agent can say more. */
  readonly settle_ms: number;
}

/** What the evidence proves; undefined while the question waits. */
export function endingOf(
  evidence: readonly Evidence[],
  judged: Judged,
): { readonly outcome: EndedThere; readonly source: string } | undefined {
  const denied = evidence.find(({ says }) => says === "denied");
  if (denied) return { outcome: "denied_there", source: denied.source };
  const allowed = evidence.find(({ says }) => says === "allowed");
  if (allowed) return { outcome: "allowed_there", source: allowed.source };
  const later = evidence.filter(({ says, at }) => says === "gone" || at >= judged.asked_at);
  if (later.some(({ says }) => says === "gone")) return settled(later, "gone", judged);
  if (later.some(({ says }) => says === "waits")) return undefined;
  const idle = settled(later, "idle", judged);
  if (idle) return idle;
  const working = settled(later, "working", judged);
  // A call that was refused has a result at once. One that runs has none.
  const runs = evidence.some(({ says }) => says === "not_done");
  return working && runs ? { ...working, outcome: "allowed_there" } : working;
}

function settled(
  evidence: readonly Evidence[],
  finding: Evidence["says"],
  { now, settle_ms }: Judged,
) {
  // The clock may have been set back since.
  const holds = ({ at }: Evidence) => Math.abs(now - at) >= settle_ms;
  const found = evidence.find((one) => one.says === finding && holds(one));
  return found && { outcome: "ended_there" as const, source: found.source };
}
