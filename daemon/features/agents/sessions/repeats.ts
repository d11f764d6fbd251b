/** The lines of session files that repeat an earlier line, because agents rewrite their history. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { inBatches } from "./lines.ts";
import { continued, type FilePosition, hashOf, newBytes, NEWLINE, probe } from "./growing_file.ts";

/** Chunks read before other work of the daemon runs. */
const CHUNKS_AT_ONCE = 4;
/** Maximum number of files that are remembered. */
const FILES_MAX = 8;

/**
 * Returns a key that identifies the record of a line wherever it is written again; undefined for a
 * line that is never compared.
 */
export type KeyOf = (line: string) => string | undefined;

interface SearchState extends FilePosition {
  readonly keys: Set<number>;
  /** The ends of the lines that repeat an earlier one. */
  readonly repeats: Set<number>;
}

/** Finds repeats; of a file that has grown, only the new lines are read. */
export class Repeats {
  readonly #keyOf: KeyOf;
  readonly #searched = new Map<string, SearchState>();

  constructor(keyOf: KeyOf) {
    this.#keyOf = keyOf;
  }

  /** The ends of the lines that are repeats, as `BackwardLines` counts them. */
  async in(file: string): Promise<ReadonlySet<number>> {
    const known = this.#searched.get(file);
    const { at, size, isKnown } = continued(file, known);
    const searched: SearchState = known && isKnown
      ? known
      : { at, before: 0, keys: new Set(), repeats: new Set() };
    this.#searched.delete(file);
    this.#searched.set(file, searched);
    const [oldest] = this.#searched.keys();
    if (this.#searched.size > FILES_MAX && oldest !== undefined) this.#searched.delete(oldest);
    for await (const chunk of inBatches(newBytes(file, searched, size), CHUNKS_AT_ONCE)) {
      this.#compare(chunk, searched);
    }
    searched.before = probe(file, searched.at);
    return searched.repeats;
  }

  /** Compares the whole lines of a chunk, and moves on behind them. */
  #compare(bytes: Uint8Array, searched: SearchState): void {
    const decoder = new TextDecoder();
    let start = 0;
    for (;;) {
      const newline = bytes.indexOf(NEWLINE, start);
      if (newline < 0) break;
      const key = this.#keyOf(decoder.decode(bytes.subarray(start, newline)));
      if (key !== undefined) {
        const hash = hashOf(key);
        if (searched.keys.has(hash)) searched.repeats.add(searched.at + newline);
        searched.keys.add(hash);
      }
      start = newline + 1;
    }
    // A line that is longer than any chunk is skipped.
    searched.at += start === 0 ? bytes.length : start;
  }
}

/** The uuid of a line, under its first-level key `name`. */
export function uuidKey(name: string): KeyOf {
  const uuid = new RegExp(`"${name}":"([0-9a-fA-F-]{36})"`, "g");
  const Keyed = z.object({ [name]: z.string() });
  return (line) => {
    const found = [...line.matchAll(uuid)];
    if (found.length <= 1) return found[0]?.[1];
    // A tool's input or output may hold the same key.
    return Keyed.safeParse(tryJson(line)).data?.[name];
  };
}
