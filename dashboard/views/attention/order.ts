/** The order of the questions: new ones do not move the questions that a person looks at. */

import type { WaitingAsk } from "protocol/derived/waiting.ts";

/** A question on the page. */
export interface ShownQuestion {
  readonly waiting: WaitingAsk;
  /** True if the ask was closed elsewhere while a person was about to answer it. */
  readonly ended: boolean;
}

interface Circumstances {
  /** True if a person points at the questions, has the focus in them, or writes an answer. */
  readonly attended: boolean;
  /** True if a question stays on the page although its ask is closed. */
  readonly isKept: (id: string) => boolean;
}

export const idOf = ({ waiting }: ShownQuestion): string => waiting.ask.correlation_id;

/** `waiting` is in the order of urgency. While attended, new questions come last. */
export function arrange(
  before: readonly ShownQuestion[],
  waiting: readonly WaitingAsk[],
  { attended, isKept }: Circumstances,
): readonly ShownQuestion[] {
  const open = new Map(waiting.map((question) => [question.ask.correlation_id, question]));
  const stay = before.flatMap((shown) => {
    const now = open.get(idOf(shown));
    if (now) return [{ waiting: now, ended: false }];
    return shown.ended || isKept(idOf(shown)) ? [{ waiting: shown.waiting, ended: true }] : [];
  });
  const known = new Set(stay.map(idOf));
  if (attended) {
    const fresh = waiting.filter(({ ask }) => !known.has(ask.correlation_id));
    return [...stay, ...fresh.map((question) => ({ waiting: question, ended: false }))];
  }
  const sorted: ShownQuestion[] = waiting.map((question) => ({ waiting: question, ended: false }));
  stay.forEach((shown, index) => shown.ended && sorted.splice(index, 0, shown));
  return sorted;
}

/** The number of questions that are more urgent than a question above them. */
export function countMisplaced(
  shown: readonly ShownQuestion[],
  waiting: readonly WaitingAsk[],
): number {
  const rank = new Map(waiting.map(({ ask }, index) => [ask.correlation_id, index]));
  const ranks = shown.filter(({ ended }) => !ended).map((question) =>
    rank.get(idOf(question)) ?? 0
  );
  return ranks.filter((own, index) => ranks.slice(0, index).some((above) => above > own)).length;
}
