/** The lines of session files that repeat an earlier line, because agents rewrite their history. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { readBefore } from "../../../host/agent_files.ts";
import { inBatches } from "./lines.ts";

/** Number of bytes that are searched. The first part of a longer file is left out. */
const BYTES_MAX = 134_217_728;
const CHUNK_BYTES = 1_048_576;
/** A longer line is not compared. */
const LINE_BYTES_MAX = 16_777_216;
/** Chunks read before other work of the daemon runs. */
const CHUNKS_AT_ONCE = 4;
/** Maximum number of files that are remembered. */
const FILES_MAX = 8;
const NEWLINE = 10;

/**
 * Returns a key that identifies the record of a line wherever it is written again; undefined for a
 * line that is never compared.
 */
export type KeyOf = (line: string) => string | undefined;

interface SearchState {
  /** The position up to which the file was searched: the start of a line. */
  at: number;
  /** The last bytes before `at`. A difference shows that the file was replaced. */
  before: string;
  readonly keys: Set<number>;
  /** The ends of the lines that repeat an earlier one. */
  readonly repeats: Set<number>;
}

/** Number of bytes before a position that are compared. */
const PROBE_BYTES = 256;

/** Finds repeats; of a file that has grown, only the new lines are read. */
export class Repeats {
  readonly #keyOf: KeyOf;
  readonly #searched = new Map<string, SearchState>();

  constructor(keyOf: KeyOf) {
    this.#keyOf = keyOf;
  }

  /** The ends of the lines that are repeats, as `BackwardLines` counts them. */
  async in(file: string): Promise<ReadonlySet<number>> {
    const last = readBefore(file, Infinity, 1);
    const size = last ? last.from + last.bytes.length : 0;
    const known = this.#searched.get(file);
    const isGrown = known && known.at <= size && known.before === probe(file, known.at);
    const searched: SearchState = isGrown
      ? known
      : { at: Math.max(0, size - BYTES_MAX), before: "", keys: new Set(), repeats: new Set() };
    this.#searched.delete(file);
    this.#searched.set(file, searched);
    const [oldest] = this.#searched.keys();
    if (this.#searched.size > FILES_MAX && oldest !== undefined) this.#searched.delete(oldest);
    for await (const chunk of inBatches(chunks(file, searched, size), CHUNKS_AT_ONCE)) {
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

/** The parts of a file that were not searched yet, each with at least one whole line. */
function* chunks(file: string, searched: SearchState, size: number): Generator<Uint8Array> {
  let length = CHUNK_BYTES;
  while (searched.at < size) {
    const end = Math.min(size, searched.at + length);
    const bytes = readBefore(file, end, end - searched.at)?.bytes;
    if (!bytes || bytes.length === 0) return;
    const hasLine = bytes.includes(NEWLINE);
    if (!hasLine && end === size) return; // The agent is writing this line.
    if (!hasLine && length < LINE_BYTES_MAX) {
      length *= 2;
      continue;
    }
    length = CHUNK_BYTES;
    yield bytes;
  }
}

function probe(file: string, at: number): string {
  const part = at > 0 ? readBefore(file, at, PROBE_BYTES) : undefined;
  return part ? new TextDecoder().decode(part.bytes) : "";
}

/** A hash of 53 bits, the most that a number holds (cyrb53). */
function hashOf(text: string): number {
  let a = 0xdeadbeef, b = 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
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
