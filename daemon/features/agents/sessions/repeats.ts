/** The lines of session files that repeat an earlier line, because agents rewrite their history. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { setLatest } from "kit/core/bounded_map.ts";
import { inBatches, type Line } from "./lines.ts";
import { type FilePosition, hashOf, type NewLines, newLines } from "./growing_file.ts";

/** Parts read before other work of the daemon runs. */
const PARTS_AT_ONCE = 4;
/** Maximum number of files that are remembered, and maximum number of their keys. */
const FILES_MAX = 200;
const KEYS_MAX = 500_000;

/**
 * Returns a key that identifies the record of a line wherever it is written again; undefined for a
 * line that is never compared.
 */
export type KeyOf = (line: string) => string | undefined;

interface SearchState {
  position: FilePosition | undefined;
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
    const searched = this.#stateOf(file);
    for await (const part of inBatches(newLines(file, searched.position), PARTS_AT_ONCE)) {
      this.#compare(searched, part);
    }
    return searched.repeats;
  }

  /** The lines of a part, in the form of its reader, that repeat no earlier line of the file. */
  async without<L extends Line>(
    file: string,
    part: NewLines,
    lines: readonly L[],
  ): Promise<readonly L[]> {
    const searched = this.#stateOf(file);
    // After a restart, the lines before this part have not been compared.
    if (part.isContinued && (searched.position?.at ?? 0) < part.from) await this.in(file);
    else this.#compare(searched, part);
    const { repeats } = searched;
    return repeats.size === 0 ? lines : lines.filter(({ end }) => !repeats.has(end));
  }

  #stateOf(file: string): SearchState {
    const searched = this.#searched.get(file) ??
      { position: undefined, keys: new Set(), repeats: new Set() };
    setLatest(this.#searched, file, searched, FILES_MAX);
    let keys = 0;
    for (const { keys: { size } } of this.#searched.values()) keys += size;
    for (const [oldest, { keys: { size } }] of this.#searched) {
      if (keys <= KEYS_MAX || oldest === file) break;
      this.#searched.delete(oldest);
      keys -= size;
    }
    return searched;
  }

  /** Compares the lines of a part that were not compared before. */
  #compare(searched: SearchState, { lines, position, isContinued }: NewLines): void {
    const { keys, repeats } = searched;
    if (!isContinued) {
      keys.clear();
      repeats.clear();
      searched.position = undefined;
    }
    const compared = searched.position?.at ?? 0;
    for (const { end, text } of lines) {
      const key = end < compared ? undefined : this.#keyOf(text);
      if (key === undefined) continue;
      const hash = hashOf(key);
      if (keys.has(hash)) repeats.add(end);
      keys.add(hash);
    }
    if (position.at > compared) searched.position = position;
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
