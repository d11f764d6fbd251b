/** The arm `least_busy`: idle peers first, then those with the fewest open asks (contract 3). */

import { type Candidate, type Choice, noChoice } from "./contract.ts";

/** How sure one is of a peer that is not known to be idle, before its asks are counted. */
const NOT_IDLE_FACTOR = 0.5;

/** The first in the order of `byLoad`: 1, or 0.5 when not idle, divided by its open asks and one. */
export function leastBusy(candidates: readonly Candidate[]): Choice {
  const [first] = candidates.toSorted(byLoad);
  if (!first) return noChoice("no_candidate");
  const confidence = (isIdle(first) ? 1 : NOT_IDLE_FACTOR) / (first.open_asks + 1);
  return { peer: first.peer_id, confidence };
}

/**
 * Who is an agent before who is not, idle ones, fewest open asks; among equals the one that was
 * done with its last ask the longest ago, so that work goes round.
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

/** Services and the human, where they may be picked at all. */
function isServiceOrHuman({ role }: Candidate): boolean {
  return role === "service" || role === "human";
}
