/** A conversation in Slack as the chat surface sees it: its limits, its calls, and its threads. */

import type { Clock, Ids } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import { escapeMarkup } from "kit/core/text.ts";
import {
  type Button,
  type Chat,
  ChatError,
  type ChatStyle,
  hasFailed,
  type OutgoingFile,
  type OutgoingText,
  type TapAnswer,
} from "../chat/chat.ts";
import { unlessRejected } from "../../cli/client/failures.ts";
import { toBlocks, toOutcome, toSummary, toTextBlock } from "./blocks.ts";
import { EarlierMessages, toBlockId } from "./earlier_messages.ts";
import type { Press } from "./envelopes.ts";
import { isLater, type Timestamp, timestampAt, toRef, toTimestamp } from "./timestamps.ts";
import type { Place } from "./api_caller.ts";
import type { SlackMessage, WebApi } from "./web_api.ts";

const SLACK: ChatStyle = {
  surface: "slack",
  title: "Slack",
  // Slack itself handles texts that begin with a slash.
  command_prefix: "!",
  reply_verb: "Reply in the thread of",
  // Slack's documented limit of a text in a block.
  text_units_max: 3000,
  tap_units_max: 1000,
  // Slack's limit is 75 characters.
  button_columns_max: 64,
  button_data_bytes_max: 2000,
  // Slack accepts a gigabyte; these limits are for our memory.
  file_bytes_max: 100_000_000,
  download_bytes_max: 100_000_000,
};

/** Time within which a message appears in the history after its answer was lost. */
const APPEAR_MS = 2_000;
/** Maximum difference between the clocks of this machine and of Slack. */
export const CLOCK_ERROR_MS = 600_000;
const PAGE_MESSAGES = 200;
/** Maximum number of pages of a thread that are read for the item that a reply answers. */
const PAGES_MAX = 10;
/** Maximum number of threads that are remembered. */
const THREADS_MAX = 1_000;
/** Maximum number of pressed messages that are kept until their buttons are replaced. */
const PRESSES_MAX = 100;

export interface SlackChatDeps {
  readonly api: WebApi;
  readonly clock: Clock;
  readonly ids: Pick<Ids, "hex">;
  /** The person's id in Slack. */
  readonly user: string;
  /** The id of a channel; undefined for direct messages between the person and the app. */
  readonly channel: string | undefined;
}

/** The channel of the conversation, and the app's own user. */
export interface Conversation {
  readonly channel: string;
  readonly bot_user: string;
}

/** Marks the message of an item: the item's id begins the id of its first block. */
const ITEM_BLOCK = /^(inb-[0-9a-f]{12})\./;

export class SlackChat implements Chat {
  readonly style = SLACK;
  readonly #deps: SlackChatDeps;
  #conversation: Conversation | undefined;
  /** The first message of a message's thread. */
  readonly #roots = new Map<Timestamp, Timestamp>();
  readonly #pressed = new Map<Timestamp, Press>();
  readonly #earlier: EarlierMessages;

  constructor(deps: SlackChatDeps) {
    this.#deps = deps;
    this.#earlier = new EarlierMessages(deps);
  }

  async getConversation(signal: AbortSignal): Promise<Conversation> {
    const { api, user, channel } = this.#deps;
    return this.#conversation ??= await harmless(async () => ({
      bot_user: (await api.authTest(signal)).user_id,
      channel: channel ?? await api.openDirectMessage(user, signal),
    }));
  }

  async sendText(outgoing: OutgoingText, signal: AbortSignal): Promise<string> {
    const { text, buttons, item_id } = outgoing;
    const { api, ids } = this.#deps;
    const { channel, bot_user } = await this.getConversation(signal);
    const thread_ts = await this.#getThread(outgoing.first_ref ?? outgoing.reply_to, signal);
    const earlier = await this.#findEarlier(outgoing, { channel, thread_ts, bot_user }, signal);
    if (earlier) return toRef(earlier);
    const block_id = toBlockId(outgoing, ids.hex(8));
    const blocks = toBlocks({ text, buttons, block_id, hasHead: item_id !== undefined });
    const message = { channel, thread_ts, text: toSummary(text), blocks };
    let ts: Timestamp;
    try {
      ts = await api.postMessage(message, signal);
    } catch (error) {
      if (!hasFailed(error, "unclear")) throw error;
      const found = await this.#findSent({ block_id, thread_ts }, signal);
      if (found === undefined) throw error;
      ts = found;
    }
    this.recordThread(ts, thread_ts);
    return toRef(ts);
  }

  /** Sends a file into the thread of its item. Slack does not return the message that shows it. */
  async sendFile(file: OutgoingFile, signal: AbortSignal): Promise<string | undefined> {
    const { filename, caption } = file;
    const { api: { files }, ids, clock } = this.#deps;
    const { channel } = await this.getConversation(signal);
    const thread_ts = await this.#getThread(file.first_ref ?? file.reply_to, signal);
    const file_id = await harmless(() => files.upload(file, signal));
    const blocks = [toTextBlock(caption, `file.${ids.hex(8)}`)];
    const shared = { file_id, title: filename, channel, thread_ts, blocks };
    try {
      await files.share(shared, signal);
      return undefined;
    } catch (error) {
      if (!hasFailed(error, "unclear")) throw error;
      await pause(clock, APPEAR_MS, signal);
      const ts = await tryToProve(() => files.findShare(file_id, channel, signal), signal);
      if (ts === undefined) throw error;
      return toRef(ts);
    }
  }

  /** Replaces the buttons of a message by the choice, or by a note on its end. */
  async setButtons(ref: string, buttons: readonly Button[], signal: AbortSignal): Promise<void> {
    const ts = toTimestamp(ref);
    if (ts === undefined) return;
    const message = this.#pressed.get(ts)?.message ?? await this.#findMessage(ts, signal);
    if (!message?.blocks.some(({ type }) => type === "actions")) return;
    const { api, user } = this.#deps;
    const { channel } = await this.getConversation(signal);
    const rest = message.blocks.filter(({ type }) => type !== "actions");
    const blocks = [...rest, toOutcome(buttons[0], user)];
    const text = message.text || toSummary("");
    await api.updateMessage({ channel, ts, text, blocks }, signal);
    this.#pressed.delete(ts);
  }

  async #findMessage(ts: Timestamp, signal: AbortSignal): Promise<SlackMessage | undefined> {
    const { channel } = await this.getConversation(signal);
    const range = { limit: 1, pages_max: 1 };
    const { api } = this.#deps;
    const found = await unlessGone(() => api.replies(channel, ts, range, signal));
    return found?.messages.find((message) => message.ts === ts);
  }

  /** Shows an alert. Any other answer replaces the buttons of the message. */
  async answerTap({ id, text, alert }: TapAnswer, signal: AbortSignal): Promise<void> {
    const [ts = ""] = id.split("-");
    const press = this.#pressed.get(ts);
    if (!alert || !press) return;
    const place = { channel: press.channel.id, thread_ts: press.message.thread_ts };
    await this.showTo(this.#deps.user, place, text, signal);
  }

  async confirm(ref: string, signal: AbortSignal): Promise<void> {
    const { channel } = await this.getConversation(signal);
    const timestamp = toTimestamp(ref) ?? ref;
    await this.#deps.api.addReaction({ channel, timestamp, name: "ok_hand" }, signal);
  }

  /** Shows a text to one user. */
  async showTo(user: string, place: Place, text: string, signal: AbortSignal): Promise<void> {
    await this.#deps.api.postEphemeral({ ...place, user, text: escapeMarkup(text) }, signal);
  }

  /** Records the thread of a message. */
  recordThread(ts: Timestamp, root: Timestamp | undefined): void {
    remember(this.#roots, ts, root ?? ts, THREADS_MAX);
  }

  /** Keeps a pressed message; returns the id of the press. */
  recordPress(press: Press): string {
    const { message: { ts }, actions: [action] } = press;
    remember(this.#pressed, ts, press, PRESSES_MAX);
    return `${ts}-${action?.action_ts}`;
  }

  /** The item that a reply in a thread answers: the last one that the thread showed before it. */
  async findItem(
    { ts, thread_ts }: { ts: Timestamp; thread_ts: Timestamp },
    signal: AbortSignal,
  ): Promise<{ item_id: string; ref: string } | undefined> {
    const { channel, bot_user } = await this.getConversation(signal);
    const range = { latest: ts, limit: PAGE_MESSAGES, pages_max: PAGES_MAX };
    const { api } = this.#deps;
    const thread = await unlessGone(() => api.replies(channel, thread_ts, range, signal));
    if (!thread?.complete) return undefined;
    const shown = thread.messages.filter((message) =>
      message.user === bot_user && itemOf(message) !== undefined
    );
    const last = shown.filter((message) => isLater(ts, message.ts)).at(-1);
    const item_id = last && itemOf(last);
    return last && item_id ? { item_id, ref: toRef(last.ts) } : undefined;
  }

  /** The message of an earlier process that shows the same part of the same item. */
  async #findEarlier(
    { item_id, part, mayBeShown }: OutgoingText,
    place: Place & Pick<Conversation, "bot_user">,
    signal: AbortSignal,
  ): Promise<Timestamp | undefined> {
    if (!mayBeShown || item_id === undefined || part === undefined) return undefined;
    const ts = await unlessGone(() => this.#earlier.find(place, { item_id, part }, signal));
    if (ts) this.recordThread(ts, place.thread_ts);
    return ts;
  }

  /** The first message of the thread that a message is in; undefined if it no longer exists. */
  async #getThread(ref: string | undefined, signal: AbortSignal): Promise<Timestamp | undefined> {
    const ts = ref === undefined ? undefined : toTimestamp(ref);
    if (ts === undefined) return undefined;
    const known = this.#roots.get(ts);
    if (known) return known;
    const { channel } = await this.getConversation(signal);
    const range = { limit: 1, pages_max: 1 };
    const root = await unlessGone(async () => {
      const { messages } = await this.#deps.api.replies(channel, ts, range, signal);
      return messages[0] && (messages[0].thread_ts ?? messages[0].ts);
    });
    if (root) this.recordThread(ts, root);
    return root;
  }

  /** Looks for a message whose answer was lost. Undefined proves nothing. */
  async #findSent(
    { block_id, thread_ts }: { block_id: string; thread_ts: Timestamp | undefined },
    signal: AbortSignal,
  ): Promise<Timestamp | undefined> {
    const { api, clock } = this.#deps;
    const oldest = timestampAt(clock.now() - CLOCK_ERROR_MS);
    await pause(clock, APPEAR_MS, signal);
    return await tryToProve(async () => {
      const { channel } = await this.getConversation(signal);
      const range = { oldest, limit: PAGE_MESSAGES, pages_max: 1 };
      const { messages } = thread_ts === undefined
        ? await api.history(channel, range, signal)
        : await api.replies(channel, thread_ts, range, signal);
      return messages.find(({ blocks }) => blocks.some((block) => block.block_id === block_id))?.ts;
    }, signal);
  }
}

/** The item that a message of the app shows. */
function itemOf({ blocks }: SlackMessage): string | undefined {
  return ITEM_BLOCK.exec(blocks[0]?.block_id ?? "")?.[1];
}

/**
 * Runs calls that send no message. They can be repeated, so an unclear outcome becomes a network
 * error.
 */
async function harmless<A>(work: () => Promise<A>): Promise<A> {
  try {
    return await work();
  } catch (error) {
    throw hasFailed(error, "unclear") ? new ChatError("network", error.message) : error;
  }
}

/** As `harmless`; undefined if Slack refuses, as it does for a message that was deleted. */
async function unlessGone<A>(work: () => Promise<A>): Promise<A | undefined> {
  return await unlessRejected((error) => hasFailed(error, "bad_request"), () => harmless(work));
}

/** Searches for proof. Returns undefined if the search fails. */
async function tryToProve<A>(
  work: () => Promise<A | undefined>,
  signal: AbortSignal,
): Promise<A | undefined> {
  return await unlessRejected((error) => error instanceof ChatError || signal.aborted, work);
}

/** Adds an entry, and removes the oldest beyond the limit. */
function remember<K, V>(known: Map<K, V>, key: K, value: V, max: number): void {
  known.delete(key);
  known.set(key, value);
  const [oldest] = known.keys();
  if (known.size > max && oldest !== undefined) known.delete(oldest);
}
