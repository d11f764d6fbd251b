/** Reads a machine's waiting entries in portions of one batch, to limit the memory. */

import type { Reader } from "kit/data/sqlite.ts";
import { BATCH_ENTRIES_MAX, countFitting, ENDED, REFUSED } from "./batch.ts";
import type { LinkEntry } from "./handlers.ts";
import * as store from "./store.ts";

/** The entries after `after`, up to and including `last`, that fit into one batch, oldest first. */
export function readPortion(
  db: Reader,
  { daemon_id, after, last: until = Number.MAX_SAFE_INTEGER, entries_max = BATCH_ENTRIES_MAX }: {
    readonly daemon_id: string;
    readonly after: number;
    readonly last?: number;
    readonly entries_max?: number;
  },
): store.StoredEntry[] {
  const sizes = store.sizesAfter(db, { daemon_id, after, last: until, limit: entries_max });
  const last = sizes[countFitting(sizes.map(({ bytes }) => bytes)) - 1];
  return last ? store.entriesBetween(db, { daemon_id, after, last: last.entry_id }) : [];
}

export function toLinkEntry({ tag, kind, body, created_at: at }: store.StoredEntry): LinkEntry {
  return { tag, kind, body, at };
}

/** True if the owner of the links appended the entry, and has not learned its end. */
export function isOwn({ kind }: Pick<store.StoredEntry, "kind">): boolean {
  return kind !== REFUSED && kind !== ENDED;
}

export function ownEntries(entries: readonly store.StoredEntry[]): LinkEntry[] {
  return entries.filter(isOwn).map(toLinkEntry);
}
