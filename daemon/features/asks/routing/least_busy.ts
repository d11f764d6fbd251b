/** The strategy `least_busy`: idle peers first, then the fewest open asks (contract 3). */

import { type Candidate, type Choice, noChoice } from "./candidates.ts";

/** The factor on the confidence of a peer that is not known to be idle. */
const NOT_IDLE_FACTOR = 0.5;

/** The first by `byLoad`. Confidence: 1 (0.5 unless known to be idle) / (its open asks + 1). */
export function leastBusy(candidates: readonly Candidate[]): Choice {
  const [first] = candidates.toSorted(byLoad);
  if (!first) return noChoice("no_candidate");
  const confidence = (isIdle(first) ? 1 : NOT_IDLE_FACTOR) / (first.open_asks + 1);
  return { peer: first.peer_id, confidence };
}

/**
 * Orders agents before services and the human, then idle peers first, then peers with the fewest
 * open asks, then peers whose last ask was closed longest ago, so that work is spread.
 */
export function byLoad(a: Candidate, b: Candidate): number {
  return Number(isServiceOrHuman(a)) - Number(isServiceOrHuman(b)) ||
    Number(isIdle(b)) - Number(isIdle(a)) ||
    a.open_asks - b.open_asks ||
    (a.last_closed_at ?? 0) - (b.last_closed_at ?? 0) ||
    (a.peer_id < b.peer_id ? -1 : 1);
}

function isIdle({ turn_state }: Candidate): boolean {
  return turn_state === "idle";
}

function isServiceOrHuman({ role }: Candidate): boolean {
  return role === "service" || role === "human";
}
