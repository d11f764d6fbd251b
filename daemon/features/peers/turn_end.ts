/** The rule that decides from all evidence whether a turn has ended, and how. */

import type { TurnEnd } from "../agents/adapter.ts";

/** Time for which an agent must be idle before a turn without a reported end counts as ended. */
export const UNREPORTED_MS = 10_000;

/** A begun turn: its start, and the ids that only its prompt has. */
interface BegunTurn {
  readonly begun_at: number;
  readonly ids: readonly string[];
}

/** Evidence of all sources about an agent's turns at one moment. */
export interface TurnEvidence {
  readonly now: number;
  /** The ends of this turn or of other turns that were reported or found now. */
  readonly ends: readonly TurnEnd[];
  /** Start of the agent's idle time, and its source; null if it is not, or if that is unknown. */
  readonly idle: { readonly at: number; readonly source: string } | null;
  /** A prompt that the agent begins to work on now. */
  readonly prompt?: string | undefined;
}

/**
 * The end of the turn; undefined if it continues. The first end since the turn began is its own,
 * unless the turn's prompt follows that end: then the prompt waited in the agent while another turn
 * ended. Without such an end, the turn is over once the idle agent begins another prompt, or stays
 * idle.
 */
export function endOfTurn({ begun_at, ids }: BegunTurn, evidence: TurnEvidence):
  | TurnEnd
  | undefined {
  const { now, ends, idle, prompt } = evidence;
  const isOfTurn = (text: string) => ids.some((id) => text.includes(id));
  const [first] = ends
    .filter(({ at, prompts_since = [] }) => at >= begun_at && !prompts_since.some(isOfTurn))
    .toSorted((a, b) => a.at - b.at);
  if (first) return first;
  if (idle === null || idle.at <= begun_at) return undefined;
  const isLeft = prompt !== undefined && !isOfTurn(prompt);
  if (!isLeft && now - idle.at < UNREPORTED_MS) return undefined;
  return { how: "unreported", at: idle.at, source: idle.source };
}
