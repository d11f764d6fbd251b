/** Reads what was recorded in a session's files since the last reading: each line once, for all. */

import { setLatest } from "kit/core/bounded_map.ts";
import { tryJson } from "kit/core/text.ts";
import { stampOf } from "../../../host/agent_files.ts";
import { type NewLines, newLines } from "./growing_file.ts";
import { inBatches, type Line } from "./lines.ts";
import { positionBefore } from "./pages.ts";
import type { ModelRequest } from "./requests.ts";
import type { LastReading, NewRecords, SessionEntry } from "./session_files.ts";

/** Maximum number of files whose last change is remembered. */
const FILES_MAX = 1_000;

/** The requests in the lines of a file. */
export interface RequestFormat<S> {
  /** Every line that matters contains one of these texts. */
  readonly marks: readonly string[];
  /** The facts from earlier lines, at the beginning of a file. */
  readonly initial: S;
  /** The requests of a line, and what is known after it. */
  read(
    json: unknown,
    state: S,
  ): { readonly requests?: readonly ModelRequest[]; readonly state?: S };
}

/** A line with its value; undefined if it is not JSON. */
export interface JsonLine extends Line {
  readonly json: unknown;
}

/** The files with the records of a session. */
interface RecordedFiles {
  readonly files: readonly string[];
  /** The file of the session's own conversation. */
  readonly own: string;
}

/** Reads only files that have changed since the last reading, each with one open and one read. */
export class NewRecordReader<S> {
  readonly #format: RequestFormat<S>;
  readonly #entriesIn: EntriesIn;
  /** The state of each file when it was read last, and the position up to which it was read. */
  readonly #read = new Map<string, { readonly stamp: string; readonly at: number }>();

  constructor(format: RequestFormat<S>, entriesIn: EntriesIn) {
    this.#format = format;
    this.#entriesIn = entriesIn;
  }

  async *read({ files, own }: RecordedFiles, last: LastReading): AsyncGenerator<NewRecords> {
    for (const file of files) yield* this.#readFile(file, file === own, last);
  }

  async *#readFile(file: string, isOwn: boolean, last: LastReading): AsyncGenerator<NewRecords> {
    const cursor = last.cursorOf(file);
    // Requests are counted once, so a file may be read again for those who want earlier entries.
    const isBehind = isOwn && cursor && last.entries_after < positionBefore(cursor.at);
    const known = isBehind ? undefined : cursor;
    const stamp = stampOf(file);
    const before = this.#read.get(file);
    if (stamp === undefined) return;
    if (known && before?.stamp === stamp && before.at === known.at) return;
    let state: S = known ? JSON.parse(known.state) : this.#format.initial;
    let read_to = known?.at ?? 0;
    for await (const part of inBatches(newLines(file, known), 1)) {
      if (!part.isContinued) state = this.#format.initial;
      const lines = this.#parse(part.lines, isOwn);
      const requests: ModelRequest[] = [];
      for (const { text, json } of lines) {
        if (!this.#isMarked(text)) continue;
        const found = this.#format.read(json, state);
        requests.push(...found.requests ?? []);
        state = found.state ?? state;
      }
      const entries = isOwn ? await this.#entriesIn(file, part, lines) : [];
      read_to = part.position.at;
      yield {
        file,
        requests,
        entries,
        cursor: { ...part.position, state: JSON.stringify(state) },
        position: isOwn ? positionBefore(read_to) : undefined,
        isReplaced: known !== undefined && !part.isContinued,
      };
    }
    setLatest(this.#read, file, { stamp, at: read_to }, FILES_MAX);
  }

  /** Each line is parsed once, and one of another file only if it may have a request. */
  #parse(lines: readonly Line[], isOwn: boolean): JsonLine[] {
    return lines.filter(({ text }) => isOwn || this.#isMarked(text))
      .map((line) => ({ ...line, json: tryJson(line.text) }));
  }

  #isMarked(text: string): boolean {
    return this.#format.marks.some((mark) => text.includes(mark));
  }
}

/** The entries in a part of a session's own file, oldest first. */
export type EntriesIn = (
  file: string,
  part: NewLines,
  lines: readonly JsonLine[],
) => Promise<readonly SessionEntry[]>;
