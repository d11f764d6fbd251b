/** Reads records last to first, such as the lines of a session's file, up to a number of bytes. */

import { readBefore } from "../../../host/agent_files.ts";
import { READ_BYTES_MAX } from "./session_files.ts";
import { afterSocketReads } from "kit/core/clock.ts";

/** Records that are read last to first, until the reader has enough or a limit is reached. */
export interface RecordSource<T extends { readonly end: number }> extends Iterable<T> {
  /** The `end` of the first record that was not read; 0 if none is left. Known at the end. */
  readonly unread: number;
}

/** Bytes per read. */
const CHUNK_BYTES = 262_144;
const NEWLINE = 10;

export interface Line {
  /** The offset of the line's end in the file. */
  readonly end: number;
  readonly text: string;
}

/**
 * The lines that end at or before a position, last first. The last line may be incomplete while the
 * agent writes it.
 */
export class BackwardLines implements RecordSource<Line> {
  readonly #file: string;
  readonly #bytes_max: number;
  readonly #end: number;
  readonly #skipped: ReadonlySet<number>;
  /** The end of the last unread line; 0 if all lines were read. */
  unread = 0;

  /** Lines that end at a position in `skipped` are left out. */
  constructor(
    file: string,
    end = Infinity,
    bytes_max = READ_BYTES_MAX,
    skipped: ReadonlySet<number> = new Set(),
  ) {
    this.#file = file;
    this.#skipped = skipped;
    this.#end = end;
    this.#bytes_max = bytes_max;
  }

  *[Symbol.iterator](): Iterator<Line> {
    /** The read parts of a line whose beginning is not read yet. */
    let parts: Uint8Array[] = [];
    let line_end: number | undefined;
    let isFirst = true;
    let left = this.#bytes_max;
    let from = this.#end;
    while (left > 0 && from > 0) {
      const chunk = readBefore(this.#file, from, Math.min(CHUNK_BYTES, left));
      if (!chunk || chunk.bytes.length === 0) break;
      left -= chunk.bytes.length;
      from = chunk.from;
      let stop = chunk.bytes.length;
      line_end ??= from + stop;
      while (stop > 0) {
        const newline = chunk.bytes.lastIndexOf(NEWLINE, stop - 1);
        if (newline < 0) break;
        const text = decode([chunk.bytes.subarray(newline + 1, stop), ...parts]);
        parts = [];
        if (text !== "") {
          isFirst = false;
          if (!this.#skipped.has(line_end)) yield { end: line_end, text };
        }
        stop = newline;
        line_end = from + newline;
      }
      parts.unshift(chunk.bytes.subarray(0, stop));
    }
    if (from > 0) {
      // A line that is longer than a read is skipped, so that the next read gets past it.
      const next = isFirst ? from : line_end ?? 0;
      this.unread = Number.isFinite(next) ? next : 0;
      return;
    }
    const text = decode(parts);
    if (text === "" || line_end === undefined || this.#skipped.has(line_end)) return;
    yield { end: line_end, text };
  }
}

function decode(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
}

/** Records per batch. */
const RECORDS_AT_ONCE = 500;

/** The items of a source. Other work of the daemon runs after each batch. */
export async function* inBatches<T>(
  source: Iterable<T>,
  batch_size = RECORDS_AT_ONCE,
): AsyncGenerator<T> {
  let count = 0;
  for (const item of source) {
    yield item;
    if (++count % batch_size === 0) await new Promise<void>(afterSocketReads);
  }
}
