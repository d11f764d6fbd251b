/** Session files of an agent that keeps each session in one file. */

import { setLatest } from "kit/core/bounded_map.ts";
import { tryJson } from "kit/core/text.ts";
import { changedAt } from "../../../host/agent_files.ts";
import { BackwardLines } from "./lines.ts";
import { endOf, entriesAt, pageOf, type ParsedEntry } from "./pages.ts";
import { type KeyOf, Repeats } from "./repeats.ts";
import { type EntriesIn, NewRecordReader, type RequestFormat } from "./new_records.ts";
import {
  READ_BYTES_MAX,
  type ReadOptions,
  type SessionFiles,
  type SessionPage,
  type SessionUsage,
  USAGE_BYTES_MAX,
} from "./session_files.ts";

/** The reader of a session's file. */
interface FileReader {
  read(file: string, options: ReadOptions): Promise<SessionPage>;
  usage(file: string): Promise<SessionUsage | null>;
  readonly entriesIn: EntriesIn;
}

/** The requests of sessions: their form, and the files that hold those of a session. */
interface RequestFiles<S> {
  readonly format: RequestFormat<S>;
  filesOf(file: string, session_id: string): readonly string[];
}

/** Maximum number of sessions whose files are remembered. */
const FILES_MAX = 1_000;

/** Finds a session's file, and searches for it again only when it is not there any more. */
export function remembered(locate: SessionFiles["locate"]): SessionFiles["locate"] {
  const files = new Map<string, string>();
  return (id) => {
    const known = files.get(id);
    if (known !== undefined && changedAt(known) !== undefined) return known;
    const file = locate(id);
    if (file !== undefined) setLatest(files, id, file, FILES_MAX);
    return file;
  };
}

/** Finds the file of a session before it is read. */
export function sessionsInFiles<S>(
  { locate, list }: Pick<SessionFiles, "locate" | "list">,
  reader: FileReader,
  { format, filesOf }: RequestFiles<S>,
): SessionFiles {
  const newRecords = new NewRecordReader(format, reader.entriesIn);
  return {
    locate,
    list,
    async read(id, options) {
      const file = locate(id);
      return file === undefined ? undefined : await reader.read(file, options);
    },
    async usage(id) {
      const file = locate(id);
      return file === undefined ? undefined : await reader.usage(file);
    },
    async *readNew(id, last) {
      const own = locate(id);
      if (own !== undefined) yield* newRecords.read({ files: filesOf(own, id), own }, last);
    },
  };
}

/**
 * Reads a file with a record in each line, from its end. Repeats of a record are left out, so that
 * it stays at its first place.
 */
export function lineReader(
  { entriesIn, usageIn, keyOf }: {
    readonly entriesIn: (json: unknown) => readonly ParsedEntry[];
    readonly usageIn: (lines: BackwardLines) => Promise<SessionUsage | null>;
    readonly keyOf: KeyOf;
  },
): FileReader {
  const repeats = new Repeats(keyOf);
  return {
    async read(file, options) {
      const skipped = await repeats.in(file);
      const lines = new BackwardLines(file, endOf(options.before), READ_BYTES_MAX, skipped);
      return pageOf(lines, ({ text }) => entriesIn(tryJson(text)), options);
    },
    async usage(file) {
      const skipped = await repeats.in(file);
      return usageIn(new BackwardLines(file, Infinity, USAGE_BYTES_MAX, skipped));
    },
    async entriesIn(file, part, lines) {
      const kept = await repeats.without(file, part, lines);
      return kept.flatMap(({ end, json }) => entriesAt(end, entriesIn(json)));
    },
  };
}
