/** Finds two peers that answer each other without a new word. Numbers alone are nothing new. */

import { setLatest } from "kit/core/bounded_map.ts";
import { hashOf } from "../agents/sessions/growing_file.ts";

/** A message from one peer to another. */
export interface Exchanged {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly at: number;
}

/** An exchange without anything new. */
export interface EmptyExchange {
  readonly peers: readonly [from: string, to: string];
  /** Number of messages without anything new, in turns. */
  readonly times: number;
  readonly since: number;
  /** True after the first time that it is found. */
  readonly isReported: boolean;
}

/** Messages in turns without anything new until they count as a loop. */
const TIMES_MIN = 8;
/** Maximum share of a message's words that may be new if it says nothing new. */
const NEW_SHARE_MAX = 0.2;
/** Silence after which an exchange begins anew. */
const SILENCE_MS = 10 * 60_000;
/** Maximum pairs of peers, words of an exchange, and characters of a message that are compared. */
const PAIRS_MAX = 1_000;
const WORDS_MAX = 2_000;
const TEXT_CHARS_MAX = 4_000;

interface Exchange {
  readonly words: Set<number>;
  last: Exchanged;
  times: number;
  since: number;
  isReported: boolean;
}

/** An id of a message, which differs in each. */
const ID = /\b(?:ask|qd|notif|askm|bud)-[0-9a-f]+\b/g;
const WORD = /[\p{L}_][\p{L}\p{N}_./:-]*/gu;

/** A word such as `src/api.ts`. */
const PATH = /\w[/.]\w/;

/**
 * The words of a text, as hashes, with true for those that look like the name of a file. Numbers
 * and ids are no words.
 */
function wordsOf(text: string): Map<number, boolean> {
  const plain = text.slice(0, TEXT_CHARS_MAX).toLowerCase().replaceAll(ID, " ");
  const words = [...plain.matchAll(WORD)].map(([word]) => word.replaceAll(/\d+/g, "#"));
  return new Map(words.map((word) => [hashOf(word), PATH.test(word)]));
}

export class Exchanges {
  readonly #exchanges = new Map<string, Exchange>();

  /** Adds a message. Returns the exchange if it is a loop. */
  add(message: Exchanged): EmptyExchange | undefined {
    const { from, to, text, at } = message;
    const pair = [from, to].toSorted().join("\n");
    const known = this.#exchanges.get(pair);
    const words = wordsOf(text);
    const isOver = !known || Math.abs(at - known.last.at) > SILENCE_MS;
    if (isOver) {
      const begun = {
        words: new Set(words.keys()),
        last: message,
        times: 0,
        since: at,
        isReported: false,
      };
      setLatest(this.#exchanges, pair, begun, PAIRS_MAX);
      return undefined;
    }
    const fresh = [...words].filter(([word]) => !known.words.has(word));
    const namesFile = fresh.some(([, isPath]) => isPath);
    const isNew = namesFile || fresh.length > words.size * NEW_SHARE_MAX;
    const isInTurns = known.last.from !== from;
    if (isNew || !isInTurns) Object.assign(known, { times: 0, since: at, isReported: false });
    else known.times++;
    known.last = message;
    for (const [word] of fresh) if (known.words.size < WORDS_MAX) known.words.add(word);
    setLatest(this.#exchanges, pair, known, PAIRS_MAX);
    const { times, since, isReported } = known;
    if (times < TIMES_MIN) return undefined;
    known.isReported = true;
    return { peers: [from, to], times, since, isReported };
  }

  /** The peers of a found loop have done something else meanwhile: it begins anew. */
  restart([from, to]: readonly [string, string], at: number): void {
    const known = this.#exchanges.get([from, to].toSorted().join("\n"));
    if (known) Object.assign(known, { times: 0, since: at, isReported: false });
  }
}
