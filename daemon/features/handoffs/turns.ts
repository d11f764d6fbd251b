/** The last turns of a session: read backwards page by page, up to limits that the result names. */

import { recoverableProblem } from "kit/core/problem.ts";
import type { Reader, Transcripts } from "../transcripts/transcripts.ts";
import type { TranscriptEntry } from "../transcripts/contract.ts";

/** A turn begins with a prompt. The first one may have begun earlier. */
export type Turn = readonly TranscriptEntry[];

/** How many entries are read at once, and at most. */
const PAGE_ENTRIES = 200;
const ENTRIES_MAX = 600;
/** How many characters of turns a bundle holds. */
const CHARS_MAX = 200_000;

/** What a hand-over lacks, and why. */
export interface LeftOut {
  readonly what: string;
  readonly why: string;
}

export interface LastTurns {
  /** Oldest first. */
  readonly turns: readonly Turn[];
  readonly left_out: readonly LeftOut[];
}

/**
 * Reads the last turns of a peer for those who may read them. A peer may hand its own turns over,
 * even if agents read no transcripts.
 */
export async function lastTurns(
  transcripts: Pick<Transcripts, "read">,
  { peer_id, count, requester }: {
    readonly peer_id: string;
    readonly count: number;
    readonly requester: Reader;
  },
): Promise<LastTurns> {
  const isOwn = requester.peer_id === peer_id;
  const reader = { ...requester, isHuman: requester.isHuman || isOwn };
  const entries: TranscriptEntry[] = [];
  const turnsIn = () => entries.filter(({ kind }) => kind === "prompt").length;
  let before: number | null = null;
  try {
    do {
      const query = { last: PAGE_ENTRIES, before: before ?? undefined };
      const page = await transcripts.read(peer_id, query, reader);
      entries.unshift(...page.entries);
      before = page.before;
    } while (before !== null && turnsIn() < count && entries.length < ENTRIES_MAX);
  } catch (error) {
    const refusal = recoverableProblem(error);
    if (!refusal) throw error;
    return { turns: [], left_out: [{ what: "all turns", why: refusal.toBody().detail }] };
  }
  const all = toTurns(entries);
  const isMore = before !== null || all.length > count;
  const { turns, left_out } = withinChars(all.slice(-count));
  const missing = turnsIn() < count && before !== null
    ? "there are more entries than a hand-over reads"
    : `only the last ${count} were to be handed over`;
  return {
    turns,
    left_out: [
      ...(isMore ? [{ what: "earlier turns", why: missing }] : []),
      ...left_out,
      ...shortened(turns),
    ],
  };
}

function toTurns(entries: readonly TranscriptEntry[]): Turn[] {
  const turns: TranscriptEntry[][] = [];
  for (const entry of entries) {
    const current = turns.at(-1);
    if (entry.kind === "prompt" || !current) turns.push([entry]);
    else current.push(entry);
  }
  return turns;
}

/** The latest entries that fit. Of the earliest turn, the end is kept. */
function withinChars(turns: readonly Turn[]): LastTurns {
  let left = CHARS_MAX;
  let dropped = 0;
  const kept: Turn[] = [];
  for (const turn of turns.toReversed()) {
    const entries: TranscriptEntry[] = [];
    for (const entry of turn.toReversed()) {
      left -= entry.text.length;
      if (left < 0) dropped++;
      else entries.unshift(entry);
    }
    if (entries.length > 0) kept.unshift(entries);
  }
  const why = `the turns are longer than ${CHARS_MAX} characters`;
  return {
    turns: kept,
    left_out: dropped > 0 ? [{ what: `${dropped} earlier entries`, why }] : [],
  };
}

function shortened(turns: readonly Turn[]): LeftOut[] {
  const cut = turns.flat().filter(({ text, chars }) => text.length < chars).length;
  if (cut === 0) return [];
  const what = `parts of ${cut} ${cut === 1 ? "entry" : "entries"}`;
  return [{ what, why: "long texts are shortened, and secrets are masked" }];
}
