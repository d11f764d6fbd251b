/** Handles the person's replies, button taps and commands in the chat, using the daemon's inbox. */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { cleanText } from "kit/core/text.ts";
import { replyByRef, replyInboxItem } from "../../../daemon/features/inbox/contract.ts";
import { hasMedia, type Keyboard, type Message, type Tap } from "./bot_api.ts";
import {
  catchRefusal,
  type ChatDeps,
  getItemByRef,
  mustGetItem,
  tryTelegram,
} from "./chat_calls.ts";
import { parseCommand, runCommand, UNKNOWN_MESSAGE } from "./chat_commands.ts";
import { chosenKeyboard, getOption, parseChoice, splitText, SURFACE } from "./rendering.ts";

const HOW_TO_REPLY =
  "Reply to one of the messages above, so that I know which one you mean. /inbox lists them.";
const TEXT_ONLY = "I can forward only text.";
const FORWARDED_AS_ASK = "Sent as a new question; the answer will appear here.";
const ALREADY_CLOSED = "This is already closed.";
const ALREADY_REPLIED = "This item was answered in the meantime, possibly with this reply. " +
  "To send it anyway, reply again.";
/** The longest answer to a tap that Telegram shows. */
const TAP_UNITS_MAX = 200;
const IGNORED_CHATS_MAX = 1_000;

/**
 * Handles messages and taps. A method throws only when it must be retried because the daemon is
 * unavailable. A refusal of the daemon is shown in the chat.
 */
export class ChatHandler {
  readonly #deps: ChatDeps;
  readonly #startedAt: number;
  readonly #ignoredChats = new Set<number>();

  constructor(deps: ChatDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
  }

  /**
   * Handles one message. If an earlier attempt had an unclear outcome, `firstTriedAt` is when that
   * attempt began.
   */
  async message(message: Message, signal: AbortSignal, firstTriedAt?: number): Promise<void> {
    if (this.#isIgnored(message.chat)) return;
    const { text, chat, reply_to_message: to } = message;
    const ref = to && this.#deps.bot.isBotItself(to.from) ? to.message_id : undefined;
    const command = parseCommand(text ?? "");
    if (command !== undefined) {
      const answer = await runCommand(this.#deps, { ...command, ref }, signal);
      if (answer !== undefined) await this.sendText(answer, signal);
      return;
    }
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
      tryTelegram(this.#deps, () =>
        this.#deps.bot.answerTap(
          { id, text: splitText(cleanText(text), TAP_UNITS_MAX)[0] ?? "", alert },
          signal,
        ));
    const keyboard = (keyboard: Keyboard) =>
      tryTelegram(
        this.#deps,
        () => this.#deps.bot.setKeyboard(message.message_id, keyboard, signal),
      );
    const choice = parseChoice(data);
    if (!choice) return await answer(ALREADY_CLOSED, false);
    const { item_id } = choice;
    const chosen = await catchRefusal(async () => {
      const item = await mustGetItem(this.#deps, item_id, signal);
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
    return await tryTelegram(
      this.#deps,
      () => this.#deps.bot.sendMessage({ text, reply_to }, signal),
    );
  }

  async #reply(reply: Reply, signal: AbortSignal): Promise<void> {
    const { message_id } = reply;
    const done = await catchRefusal(async () => {
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

  /**
   * Forwards a reply to the daemon, which finds the item by the message that was replied to. If the
   * daemon does not have that message's receipt yet, the push queue supplies the item's id.
   */
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
    const confirmed = await tryTelegram(
      this.#deps,
      () => bot.react(message_id, "👌", signal).then(() => true),
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
    const { replied_at } = await getItemByRef(this.#deps, ref, signal) ?? {};
    if (!replied_at) return false;
    const at = Date.parse(replied_at);
    return firstTriedAt === undefined
      ? at >= writtenAt && at < this.#startedAt
      : at >= firstTriedAt;
  }

  /**
   * Whether the chat is not the configured one and is therefore ignored. Each ignored chat is
   * logged once, without its text.
   */
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
}

type Reply = Pick<Message, "message_id" | "date"> & {
  readonly text: string;
  /** The bot's message to which this is a reply. */
  readonly ref: number;
  readonly firstTriedAt: number | undefined;
};

/** Whether the refusal means that the buttons of this item can no longer have an effect. */
function isClosed({ problem }: ApiError): boolean {
  return ["already_closed", "unknown_item"].includes(problem.error);
}
