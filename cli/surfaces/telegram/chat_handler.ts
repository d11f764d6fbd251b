/** Handles the person's replies, button taps and commands in the chat, using the daemon's inbox. */

import type { Clock } from "kit/core/clock.ts";
import { ApiError, type Call, type WireResponse } from "kit/http/client.ts";
import { cleanText } from "kit/core/text.ts";
import {
  getInboxItem,
  listInbox,
  readInboxItem,
  replyByRef,
  replyInboxItem,
} from "../../../daemon/features/inbox/contract.ts";
import { DaemonUnreachable } from "../../client/daemon_client.ts";
import { type BotApi, BotApiError, type Keyboard, type Message, type Tap } from "./bot_api.ts";
import type { PushQueue } from "./push_queue.ts";
import {
  chosenKeyboard,
  formatSummary,
  getOption,
  MESSAGE_UNITS_MAX,
  parseChoice,
  renderItem,
  ShownItem,
  splitText,
  SURFACE,
} from "./rendering.ts";

const HELP = `I show you the questions and messages of your agents.

Reply to a message to answer it, or tap one of its buttons.

/inbox lists your unread items
/show ID shows one item again
/read marks an item as read (as a reply or with an ID); alone, it marks all
/help shows this text`;
const HOW_TO_REPLY =
  "Reply to one of the messages above, so that I know which one you mean. /inbox lists them.";
const UNKNOWN_MESSAGE = "I do not know that message. Reply to a message from an agent.";
const TEXT_ONLY = "I can forward only text.";
const FORWARDED_AS_ASK = "Sent as a new question; the answer will appear here.";
const ALREADY_CLOSED = "This is already closed.";
const ALREADY_REPLIED = "This item was answered in the meantime, possibly with this reply. " +
  "To send it anyway, reply again.";
const NO_UNREAD = "You have no unread items.";
const LISTED_MAX = 10;
/** The longest answer to a tap that Telegram shows. */
const TAP_UNITS_MAX = 200;
/** How many items up to a message are searched for the item of that message. */
const SEARCHED_ITEMS_MAX = 20;

export interface ChatHandlerDeps {
  readonly bot: BotApi;
  readonly call: Call;
  readonly clock: Clock;
  readonly pushes: Pick<PushQueue, "getItemId" | "recordMessage">;
  log(text: string): void;
}

/**
 * Handles messages and taps. A method throws only when it must be retried because the daemon is
 * unavailable. A refusal of the daemon is shown in the chat.
 */
export class ChatHandler {
  readonly #deps: ChatHandlerDeps;
  readonly #startedAt: number;
  readonly #ignoredChats = new Set<number>();

  constructor(deps: ChatHandlerDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
  }

  /** `firstTriedAt`: when an earlier attempt with an unclear outcome began. */
  async message(message: Message, signal: AbortSignal, firstTriedAt?: number): Promise<void> {
    if (this.#isIgnored(message.chat)) return;
    const { text, chat, reply_to_message: to } = message;
    const ref = to && this.#deps.bot.isBotItself(to.from) ? to.message_id : undefined;
    const command = /^\/(start|help|inbox|read|show)(?:@\w+)?(?:\s+(\S+))?\s*$/.exec(text ?? "");
    const [, commandName, id] = command ?? [];
    if (commandName !== undefined) return await this.#runCommand({ commandName, id, ref }, signal);
    // In a group, only replies to the bot's messages are for the bot.
    if (ref === undefined && chat.type !== "private") return;
    if (text === undefined) {
      if (hasMedia(message)) await this.sendText(TEXT_ONLY, signal, message.message_id);
    } else if (ref === undefined) await this.sendText(HOW_TO_REPLY, signal, message.message_id);
    else await this.#reply({ ...message, text, ref, firstTriedAt }, signal);
  }

  async tap(tap: Tap, signal: AbortSignal): Promise<void> {
    const { id, data = "", message } = tap;
    if (!message || this.#isIgnored(message.chat)) return;
    const answer = (text: string, alert: boolean) =>
      this.#tryTelegram(() =>
        this.#deps.bot.answerTap(
          { id, text: splitText(cleanText(text), TAP_UNITS_MAX)[0] ?? "", alert },
          signal,
        )
      );
    const keyboard = (keyboard: Keyboard) =>
      this.#tryTelegram(() => this.#deps.bot.setKeyboard(message.message_id, keyboard, signal));
    const choice = parseChoice(data);
    if (!choice) return await answer(ALREADY_CLOSED, false);
    const { item_id } = choice;
    const chosen = await this.#catchRefusal(async () => {
      const item = await this.#item(item_id, signal);
      const option = choice.option === undefined
        ? undefined
        : getOption(item.question, choice.option);
      if (choice.option !== undefined && !option) return undefined;
      const body = { surface: SURFACE, text: "", ...(option && { option_id: option.id }) };
      const request = { params: { id: item_id }, body, signal };
      const { action } = await this.#deps.call(replyInboxItem, request);
      // Any other action means that the item was already closed.
      return action === "acked" || action === "answered" ? option?.label ?? "OK" : undefined;
    });
    if (chosen instanceof ApiError) {
      await answer(chosen.problem.detail, true);
      if (isClosed(chosen)) await keyboard([]);
    } else if (chosen === undefined) {
      await answer(ALREADY_CLOSED, true);
      await keyboard([]);
    } else {
      await answer(chosen, false);
      await keyboard(chosenKeyboard(chosen, item_id));
    }
  }

  /** Sends a text that is not an item. A failure is only logged. */
  async sendText(
    text: string,
    signal: AbortSignal,
    reply_to?: number,
  ): Promise<number | undefined> {
    return await this.#tryTelegram(() => this.#deps.bot.sendMessage({ text, reply_to }, signal));
  }

  async #reply(reply: Reply, signal: AbortSignal): Promise<void> {
    const { message_id } = reply;
    const done = await this.#catchRefusal(async () => {
      return await this.#wasForwarded(reply, signal)
        ? undefined
        : await this.#forwardReply(reply, signal);
    });
    if (done === undefined) await this.sendText(ALREADY_REPLIED, signal, message_id);
    else if (done instanceof ApiError) {
      const { error, detail } = done.problem;
      const why = error === "unknown_surface_ref" ? UNKNOWN_MESSAGE : `Not sent. ${detail}`;
      await this.sendText(why, signal, message_id);
    } else if (done.action === "asked") await this.sendText(FORWARDED_AS_ASK, signal, message_id);
    else await this.#confirm(message_id, signal);
  }

  /** The daemon maps messages to items, except those whose receipt it does not have yet. */
  async #forwardReply(
    { ref, text }: Reply,
    signal: AbortSignal,
  ): Promise<WireResponse<typeof replyByRef>> {
    const { call, pushes } = this.#deps;
    const body = { surface: SURFACE, text };
    try {
      return await call(replyByRef, { body: { ...body, surface_ref: String(ref) }, signal });
    } catch (error) {
      const id = pushes.getItemId(ref);
      const unknown = error instanceof ApiError && error.problem.error === "unknown_surface_ref";
      if (!unknown || id === undefined) throw error;
      const request = { params: { id }, body: { ...body, ref: String(ref) }, signal };
      return await call(replyInboxItem, request);
    }
  }

  async #confirm(message_id: number, signal: AbortSignal): Promise<void> {
    const { bot } = this.#deps;
    const confirmed = await this.#tryTelegram(() =>
      bot.react(message_id, "👌", signal).then(() => true)
    );
    if (!confirmed) await this.sendText("Sent.", signal, message_id);
  }

  /**
   * Whether the reply may already have been forwarded, by an earlier process or by an attempt whose
   * answer was lost. Forwarding it again would open a new ask.
   */
  async #wasForwarded({ ref, date, firstTriedAt }: Reply, signal: AbortSignal): Promise<boolean> {
    const writtenAt = date * 1000;
    if (firstTriedAt === undefined && writtenAt >= this.#startedAt) return false;
    const { replied_at } = await this.#getItemByRef(ref, signal) ?? {};
    if (!replied_at) return false;
    const at = Date.parse(replied_at);
    return firstTriedAt === undefined
      ? at >= writtenAt && at < this.#startedAt
      : at >= firstTriedAt;
  }

  async #getItemByRef(ref: number, signal: AbortSignal): Promise<Item | undefined> {
    const query = { surface: SURFACE, through_ref: String(ref), limit: String(SEARCHED_ITEMS_MAX) };
    const { items } = await this.#deps.call(listInbox, { query, signal });
    return items.find(({ pushes }) =>
      pushes.some(({ surface, surface_refs }) =>
        surface === SURFACE && surface_refs.includes(String(ref))
      )
    );
  }

  async #runCommand(
    { commandName, id, ref }: {
      commandName: string;
      id: string | undefined;
      ref: number | undefined;
    },
    signal: AbortSignal,
  ): Promise<void> {
    if (commandName === "start" || commandName === "help") {
      return void await this.sendText(HELP, signal);
    }
    const response = await this.#catchRefusal(async () => {
      if (commandName === "inbox") return await this.#list(signal);
      const item_id = id ??
        (ref === undefined ? undefined : await this.#getItemIdByRef(ref, signal));
      if (item_id === undefined && ref !== undefined) return UNKNOWN_MESSAGE;
      if (commandName === "show") return await this.#show(item_id, signal);
      return await this.#read(item_id, signal);
    });
    if (response instanceof ApiError) await this.sendText(response.problem.detail, signal);
    else if (response !== undefined) await this.sendText(response, signal);
  }

  async #item(id: string, signal: AbortSignal): Promise<ShownItem> {
    return ShownItem.parse(await this.#deps.call(getInboxItem, { params: { id }, signal }));
  }

  async #getItemIdByRef(ref: number, signal: AbortSignal): Promise<string | undefined> {
    return this.#deps.pushes.getItemId(ref) ?? (await this.#getItemByRef(ref, signal))?.item_id;
  }

  async #list(signal: AbortSignal): Promise<string> {
    const query = { unread: "1", limit: String(LISTED_MAX + 1) } as const;
    const { items } = await this.#deps.call(listInbox, { query, signal });
    if (items.length === 0) return NO_UNREAD;
    const lines = items.slice(0, LISTED_MAX).map((item) => formatSummary(item));
    const more = items.length > LISTED_MAX ? ["More: mesh inbox list --unread"] : [];
    return splitText([...lines, ...more].join("\n\n"), MESSAGE_UNITS_MAX)[0] ?? "";
  }

  async #show(item_id: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    if (item_id === undefined) return "Use /show ID, with an ID from /inbox.";
    const item = await this.#item(item_id, signal);
    const { texts, keyboard } = renderItem({ ...item, pushes: [] });
    for (const [at, text] of texts.entries()) {
      const last = at === texts.length - 1;
      const ref = await this.#tryTelegram(() =>
        this.#deps.bot.sendMessage({ text, ...(last && { keyboard }) }, signal)
      );
      if (ref === undefined) return undefined;
      this.#deps.pushes.recordMessage(ref, item_id);
    }
    return undefined;
  }

  async #read(item_id: string | undefined, signal: AbortSignal): Promise<string> {
    const { call } = this.#deps;
    const body = { surface: SURFACE };
    if (item_id !== undefined) {
      await call(readInboxItem, { params: { id: item_id }, body, signal });
      return "Marked as read.";
    }
    const { items } = await call(listInbox, { query: { unread: "1", limit: "500" }, signal });
    for (const { item_id: id } of items) {
      await call(readInboxItem, { params: { id }, body, signal });
    }
    return items.length === 0 ? NO_UNREAD : `Marked ${items.length} as read.`;
  }

  /** Ignores chats other than the configured one; each is logged once, without its text. */
  #isIgnored(chat: Message["chat"]): boolean {
    if (this.#deps.bot.isConfiguredChat(chat)) return false;
    if (!this.#ignoredChats.has(chat.id) && this.#ignoredChats.size < IGNORED_CHATS_MAX) {
      this.#ignoredChats.add(chat.id);
      this.#deps.log(
        `Ignored a message from chat "${chat.id}": it is not surfaces.telegram.chat_id`,
      );
    }
    return true;
  }

  /** Returns a refusal of the daemon; throws when the daemon is unavailable. */
  async #catchRefusal<A>(work: () => Promise<A>): Promise<A | ApiError> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ApiError && !isDaemonUnavailable(error)) return error;
      throw error;
    }
  }

  /** Runs an optional call to Telegram; on failure logs it and returns undefined. */
  async #tryTelegram<A>(work: () => Promise<A>): Promise<A | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof BotApiError) || error.error_class === "unauthorized") throw error;
      this.#deps.log(`Telegram: ${error.message}`);
      return undefined;
    }
  }
}

type Item = WireResponse<typeof getInboxItem>;
type Reply = Pick<Message, "message_id" | "date"> & {
  readonly text: string;
  /** The bot's message that this replies to. */
  readonly ref: number;
  readonly firstTriedAt: number | undefined;
};
const IGNORED_CHATS_MAX = 1_000;

/** Whether the daemon is unreachable, shutting down, or cannot write: the call must be retried. */
export function isDaemonUnavailable(error: unknown): boolean {
  if (error instanceof DaemonUnreachable) return true;
  return error instanceof ApiError && error.status === 503 && error.problem.error !== "no_human";
}

/** Whether buttons of this item can no longer have an effect. */
function isClosed({ problem }: ApiError): boolean {
  return ["already_closed", "unknown_item"].includes(problem.error);
}

function hasMedia(message: Message): boolean {
  const { photo, document, voice, audio, video, video_note, sticker, location } = message;
  const media = [photo, document, voice, audio, video, video_note, sticker, location];
  return media.some((one) => one !== undefined);
}
