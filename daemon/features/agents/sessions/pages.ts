/** Makes a page of a conversation out of the agent's records, which are read last to first. */

import * as z from "zod";
import { inBatches, type RecordSource } from "./lines.ts";
import {
  type CallOutcome,
  ENTRY_CHARS_MAX,
  type ReadOptions,
  type SessionEntry,
  type SessionPage,
} from "./session_files.ts";

/** The time of a record, in milliseconds since 1970. */
export const Timestamp = z.iso.datetime().transform((text) => Date.parse(text));

/** An entry of a record, before it has a position. */
export type ParsedEntry =
  & Pick<SessionEntry, "at" | "kind" | "text">
  & {
    readonly tool?: string | undefined;
    readonly call?: string | undefined;
    readonly outcome?: CallOutcome;
  };

/**
 * A position is the end of the record and the number of the entry within it. Records have fewer
 * entries than this; the rest is left out.
 */
const ENTRIES_PER_RECORD = 1_000;

/** The `end` up to which records are to be read for the entries before a position. */
export function endOf(before: number | undefined): number {
  return before === undefined ? Infinity : Math.floor(before / ENTRIES_PER_RECORD);
}

/** The last position that an entry can have before a place in the file. */
export function positionBefore(at: number): number {
  return at * ENTRIES_PER_RECORD - 1;
}

/** The entries of a record, which ends at a place in the file. */
export function entriesAt(end: number, parsed: readonly ParsedEntry[]): SessionEntry[] {
  return parsed.slice(0, ENTRIES_PER_RECORD - 1)
    .flatMap((entry, index) => entryAt(end * ENTRIES_PER_RECORD + index, entry) ?? []);
}

/** Reads entries from the last record backwards; returns them oldest first. */
export async function pageOf<T extends { readonly end: number }>(
  source: RecordSource<T>,
  parse: (record: T) => readonly ParsedEntry[],
  { before = Infinity, after = -1, entries_max, select = (entry) => entry }: ReadOptions,
): Promise<SessionPage> {
  const found: SessionEntry[] = [];
  for await (const record of inBatches(source)) {
    for (const entry of entriesAt(record.end, parse(record)).toReversed()) {
      if (entry.position >= before) continue;
      if (entry.position <= after) return toPage(found, null);
      const selected = select(entry);
      if (selected) found.push(selected);
      if (selected && found.length >= entries_max) return toPage(found, entry.position);
    }
  }
  if (source.unread <= 0) return toPage(found, null);
  // After the entries of the unread record, and before those of the next record.
  const next = source.unread * ENTRIES_PER_RECORD + ENTRIES_PER_RECORD - 1;
  // Continuing from an unchanged position would read the same page for ever.
  return next < before ? toPage(found, next) : toPage(found, null, true);
}

/** The entries were found last first. */
function toPage(found: readonly SessionEntry[], before: number | null, isCut = false): SessionPage {
  return { entries: found.toReversed(), before, isCut };
}

function entryAt(position: number, parsed: ParsedEntry): SessionEntry | undefined {
  // A result without a text still ends its call.
  if (parsed.text === "" && parsed.call === undefined) return undefined;
  const { at, kind, text, tool = null, call = null, outcome = null } = parsed;
  const shown = text.slice(0, ENTRY_CHARS_MAX);
  return { position, at, kind, text: shown, chars: text.length, tool, call, outcome };
}
