/** The handled messages of the person, in a file, so that a restart handles none twice. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { isLater, Timestamp } from "./timestamps.ts";

/** Maximum number of handled messages that are stored one by one. */
export const HANDLED_MAX = 1_000;

const StoredState = z.object({
  channel: z.string(),
  since: Timestamp,
  handled: z.array(Timestamp).max(HANDLED_MAX),
});

export interface HandledFile {
  read(): string | undefined;
  write(text: string): void;
}

export class HandledMessages {
  readonly #file: HandledFile;
  readonly #channel: string;
  #since: Timestamp;
  readonly #handled: Set<Timestamp>;

  /** Opens the file. Without a file for this channel, messages before `start` count as handled. */
  constructor(file: HandledFile, channel: string, start: Timestamp) {
    this.#file = file;
    this.#channel = channel;
    const kept = StoredState.safeParse(tryJson(file.read() ?? "")).data;
    const isOurs = kept?.channel === channel;
    this.#since = isOurs ? kept.since : start;
    this.#handled = new Set(isOurs ? kept.handled : []);
    if (!isOurs) this.#write();
  }

  /** Everything up to this message is handled. */
  get since(): Timestamp {
    return this.#since;
  }

  /** True if a message is handled. An event that arrives now may be new although it is older. */
  has(ts: Timestamp): boolean {
    return this.isRecent(ts) || !isLater(ts, this.#since);
  }

  /** True if a message was handled lately. */
  isRecent(ts: Timestamp): boolean {
    return this.#handled.has(ts);
  }

  add(ts: Timestamp): void {
    if (this.#handled.has(ts)) return;
    this.#handled.add(ts);
    if (this.#handled.size > HANDLED_MAX) this.#forgetOldest();
    this.#write();
  }

  /** Records that everything up to a message is handled. */
  advance(since: Timestamp): void {
    if (!isLater(since, this.#since)) return;
    this.#since = since;
    for (const ts of this.#handled) if (!isLater(ts, since)) this.#handled.delete(ts);
    this.#write();
  }

  #forgetOldest(): void {
    const oldest = [...this.#handled].reduce((a, b) => isLater(a, b) ? b : a);
    this.#handled.delete(oldest);
    if (isLater(oldest, this.#since)) this.#since = oldest;
  }

  #write(): void {
    const kept = { channel: this.#channel, since: this.#since, handled: [...this.#handled] };
    this.#file.write(`${JSON.stringify(kept)}\n`);
  }
}
