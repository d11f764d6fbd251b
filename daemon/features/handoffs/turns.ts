/** The last turns of a session: read backwards page by page, up to limits that the result names. */

import { recoverableProblem } from "protocol/problems.ts";
import type { Reader, Transcripts } from "../transcripts/transcripts.ts";
import type { Manifest } from "protocol/handoffs.ts";
import type { TranscriptEntry } from "protocol/transcripts.ts";

/** A turn begins with a prompt. The first one may have begun earlier. */
export type Turn = readonly TranscriptEntry[];

/** Entries read at once, and in total. */
const PAGE_ENTRIES = 200;
const ENTRIES_MAX = 600;
/** Maximum pages read. A page may be empty, and is up to 8 MB of a file. */
const PAGES_MAX = 20;
/** Maximum characters of turns in a bundle. */
const CHARS_MAX = 200_000;

const OUT_OF_REACH = "the earlier part of its session's file cannot be read";

/** A part that a hand-over lacks, and the reason. */
export type LeftOut = Manifest["left_out"][number];

interface LastTurns {
  /** Oldest first. */
  readonly turns: readonly Turn[];
  readonly left_out: readonly LeftOut[];
}

/** Reads the last turns of a peer for a reader that may read them. */
export async function lastTurns(
  transcripts: Pick<Transcripts, "read">,
  { peer_id, count, requester }: {
    readonly peer_id: string;
    readonly count: number;
    readonly requester: Reader;
  },
): Promise<LastTurns> {
  const entries: TranscriptEntry[] = [];
  const turnsIn = () => entries.filter(({ kind }) => kind === "prompt").length;
  let before: number | null = null;
  /** The reason why earlier entries are not read. */
  let unread: string | undefined;
  try {
    for (let pages = 1; unread === undefined; pages++) {
      const query = { last: PAGE_ENTRIES, before: before ?? undefined };
      const page = await transcripts.read(peer_id, query, requester);
      entries.unshift(...page.entries);
      if (page.before === null && !page.cut) break;
      if (turnsIn() >= count) unread = `only the last ${count} were to be handed over`;
      else if (page.before === null || page.before >= (before ?? Infinity)) unread = OUT_OF_REACH;
      else if (entries.length >= ENTRIES_MAX) {
        unread = "there are more entries than a hand-over reads";
      } else if (pages >= PAGES_MAX) unread = "its session is longer than a hand-over reads";
      before = page.before;
    }
  } catch (error) {
    const refusal = recoverableProblem(error);
    if (!refusal) throw error;
    return { turns: [], left_out: [{ what: "all turns", why: refusal.toBody().detail }] };
  }
  const all = toTurns(entries);
  if (all.length > count) unread ??= `only the last ${count} were to be handed over`;
  const { turns, left_out } = withinChars(all.slice(-count));
  return {
    turns,
    left_out: [
      ...(unread === undefined ? [] : [{ what: "earlier turns", why: unread }]),
      ...left_out,
      ...shortenedEntries(turns),
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

/** The latest entries that fit. The earliest turn loses its beginning. */
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
  const left_out = dropped > 0 ? [{ what: `${dropped} earlier entries`, why }] : [];
  return { turns: kept, left_out };
}

function shortenedEntries(turns: readonly Turn[]): LeftOut[] {
  const cut = turns.flat()
    .filter(({ text, chars, masked }) => text.length < chars || masked > 0).length;
  if (cut === 0) return [];
  const what = `parts of ${cut} ${cut === 1 ? "entry" : "entries"}`;
  return [{ what, why: "long texts are shortened, and secrets are masked" }];
}
