/** The queue of typed keys on their way to a pane: in order, one request at a time. */

import type { Key } from "protocol/agents/contract.ts";

/** The limits of one request; the daemon has the same. */
export const KEYS_MAX = 64;
export const CHARS_MAX = 8_192;

/** Keys that wait while a request is under way; more than this is dropped. */
const WAITING_CHARS_MAX = 4 * CHARS_MAX;

export class TypingQueue {
  readonly #send: (keys: readonly Key[]) => Promise<boolean>;
  #waiting: Key[] = [];
  #is_sending = false;

  /** `send` resolves with true if the keys were typed; if not, the waiting keys are dropped. */
  constructor(send: (keys: readonly Key[]) => Promise<boolean>) {
    this.#send = send;
  }

  /** True if all of the keys will be sent; if too many wait, none are sent. */
  add(keys: readonly Key[]): boolean {
    if (charsOf([...this.#waiting, ...keys]) > WAITING_CHARS_MAX) return false;
    for (const key of keys.flatMap(splitKey)) this.#append(key);
    if (!this.#is_sending) this.#run();
    return true;
  }

  clear(): void {
    this.#waiting = [];
  }

  async #run(): Promise<void> {
    this.#is_sending = true;
    while (this.#waiting.length > 0) {
      if (!await this.#send(this.#next())) this.clear();
    }
    this.#is_sending = false;
  }

  /** Letters that follow one another are one text. */
  #append(key: Key): void {
    const last = this.#waiting.at(-1);
    const is_text = last !== undefined && "text" in last && "text" in key;
    if (is_text && last.text.length + key.text.length <= CHARS_MAX) {
      this.#waiting[this.#waiting.length - 1] = { text: last.text + key.text };
    } else this.#waiting.push(key);
  }

  /** The keys for the next request. */
  #next(): Key[] {
    const taken: Key[] = [];
    let chars = 0;
    while (this.#waiting.length > 0 && taken.length < KEYS_MAX) {
      const [key] = this.#waiting;
      if (!key || chars + charsOf([key]) > CHARS_MAX) break;
      chars += charsOf([key]);
      taken.push(key);
      this.#waiting.shift();
    }
    return taken;
  }
}

function charsOf(keys: readonly Key[]): number {
  return keys.reduce((sum, key) => sum + valueOf(key).length, 0);
}

function valueOf(key: Key): string {
  if ("text" in key) return key.text;
  return "paste" in key ? key.paste : key.key;
}

/** Splits a text that is longer than a request; no part ends within a character. */
function splitKey(key: Key): Key[] {
  if ("key" in key || valueOf(key).length <= CHARS_MAX) return [key];
  const parts = partsOf(valueOf(key));
  return parts.map((part) => "paste" in key ? { paste: part } : { text: part });
}

function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const cuts_pair = /[\ud800-\udbff]/.test(text[at + CHARS_MAX - 1] ?? "");
    const end = at + CHARS_MAX - Number(cuts_pair);
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}
