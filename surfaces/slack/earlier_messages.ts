/** Finds the messages of items that an earlier run sent, so that none is sent twice. */

import type { Clock } from "kit/core/clock.ts";
import type { Place } from "./api_caller.ts";
import { type Timestamp, timestampAt } from "./timestamps.ts";
import type { WebApi } from "./web_api.ts";

/** The daemon offers the items of the last day. */
const AGE_MS_MAX = 25 * 3_600_000;
const PAGE_MESSAGES = 200;
const PAGES_MAX = 5;
/** Maximum number of threads that are remembered. */
const PLACES_MAX = 100;

/** An item's message: the item's id and the number of the message, as in the id of its block. */
const PART_BLOCK = /^(inb-[0-9a-f]{12}\.\d+)\./;

/** The id of the first block of a message, which is different for each message. */
export function toBlockId(
  { item_id, part }: { item_id?: string | undefined; part?: number | undefined },
  random: string,
): string {
  return `${item_id ?? "text"}.${part ?? "notice"}.${random}`;
}

type Parts = ReadonlyMap<string, Timestamp>;

export class EarlierMessages {
  readonly #deps: { readonly api: Pick<WebApi, "history" | "replies">; readonly clock: Clock };
  /** The messages that the first read of each thread found; without a thread, of the channel. */
  readonly #places = new Map<Timestamp | undefined, Parts>();

  constructor(deps: { readonly api: Pick<WebApi, "history" | "replies">; readonly clock: Clock }) {
    this.#deps = deps;
  }

  /**
   * The message of ours that shows a part of an item. Messages after the first read are not found.
   */
  async find(
    place: Place & { readonly bot_user: string },
    { item_id, part }: { item_id: string; part: number },
    signal: AbortSignal,
  ): Promise<Timestamp | undefined> {
    const parts = this.#places.get(place.thread_ts) ?? await this.#read(place, signal);
    this.#places.set(place.thread_ts, parts);
    const [oldest] = this.#places.keys();
    if (this.#places.size > PLACES_MAX) this.#places.delete(oldest);
    return parts.get(`${item_id}.${part}`);
  }

  async #read(
    { channel, thread_ts, bot_user }: Place & { readonly bot_user: string },
    signal: AbortSignal,
  ): Promise<Parts> {
    const { api, clock } = this.#deps;
    const oldest = timestampAt(clock.now() - AGE_MS_MAX);
    const range = { oldest, limit: PAGE_MESSAGES, pages_max: PAGES_MAX };
    const { messages } = thread_ts === undefined
      ? await api.history(channel, range, signal)
      : await api.replies(channel, thread_ts, range, signal);
    const shown = messages.flatMap(({ ts, user, blocks }): [string, Timestamp][] => {
      // Another app of the channel can give its messages any id.
      const key = user === bot_user && PART_BLOCK.exec(blocks[0]?.block_id ?? "")?.[1];
      return key ? [[key, ts]] : [];
    });
    return new Map(shown);
  }
}
