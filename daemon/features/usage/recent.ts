/** Counts each request once, although agents record a request several times. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { hashOf } from "../agents/sessions/growing_file.ts";
import { type ModelRequest, RequestTokens, TOKEN_KINDS } from "../agents/sessions/requests.ts";

/** Maximum requests of a file whose tokens may still grow. Subagents may work side by side. */
const RECENT_MAX = 16;

const Entries = z.array(z.tuple([z.number(), RequestTokens.nullable()]));

/** New tokens of a request, and if it is counted for the first time. */
export interface Growth {
  readonly isFirst: boolean;
  readonly tokens: RequestTokens;
}

/**
 * The last requests of a file with their counted tokens; null for a request that was counted
 * elsewhere. Claude Code writes a line for each block of an answer, and only the last line has all
 * output tokens.
 */
export class RecentRequests {
  readonly #counted: Map<number, RequestTokens | null>;

  constructor(stored = "[]") {
    this.#counted = new Map(Entries.safeParse(tryJson(stored)).data);
  }

  /** The tokens that a record adds; undefined if none. `isNew` tells if no file had the request. */
  count(
    { key, at, tokens, identity = `${key} ${at}` }: ModelRequest,
    isNew: (hash: number) => boolean,
  ): Growth | undefined {
    const hash = hashOf(key);
    const before = this.#counted.get(hash);
    if (before === null) return undefined;
    if (before === undefined) {
      const isFirst = isNew(hashOf(identity));
      this.#keep(hash, isFirst ? tokens : null);
      return isFirst ? { isFirst, tokens } : undefined;
    }
    const after = combined(before, tokens, (a, b) => Math.max(a, b));
    this.#keep(hash, after);
    const grown = combined(after, before, (a, b) => a - b);
    const isMore = TOKEN_KINDS.some((kind) => (grown[kind] ?? 0) > 0);
    return isMore ? { isFirst: false, tokens: grown } : undefined;
  }

  toString(): string {
    return JSON.stringify([...this.#counted]);
  }

  #keep(hash: number, tokens: RequestTokens | null): void {
    this.#counted.delete(hash);
    this.#counted.set(hash, tokens);
    const [oldest] = this.#counted.keys();
    if (this.#counted.size > RECENT_MAX && oldest !== undefined) this.#counted.delete(oldest);
  }
}

/** Combines each kind of tokens; one that only one side has stays as it is. */
export function combined(
  a: RequestTokens,
  b: RequestTokens,
  combine: (a: number, b: number) => number,
): RequestTokens {
  const both = (kind: keyof RequestTokens) => {
    const left = a[kind], right = b[kind];
    return left === null || right === null ? left ?? right : combine(left, right);
  };
  return {
    input_tokens: both("input_tokens"),
    cached_input_read_tokens: both("cached_input_read_tokens"),
    cached_input_write_tokens: both("cached_input_write_tokens"),
    output_tokens: both("output_tokens"),
    reasoning_tokens: both("reasoning_tokens"),
  };
}
