/** A Telegram chat as the chat surface sees it: its limits, its calls, and its events. */

import type {
  Button,
  Chat,
  ChatEvent,
  ChatStyle,
  IncomingMessage,
  OutgoingText,
  TapAnswer,
} from "../chat/chat.ts";
import { type BotApi, hasMedia, type Keyboard, type Message, type Update } from "./bot_api.ts";

export const TELEGRAM: ChatStyle = {
  surface: "telegram",
  title: "Telegram",
  command_prefix: "/",
  reply_verb: "Reply to",
  text_units_max: 4096,
  tap_units_max: 200,
  button_columns_max: 48,
  button_data_bytes_max: 64,
};
const IGNORED_CHATS_MAX = 1_000;

interface TelegramChatDeps {
  readonly bot: BotApi;
  log(text: string): void;
}

export class TelegramChat implements Chat {
  readonly style = TELEGRAM;
  readonly #deps: TelegramChatDeps;
  readonly #ignoredChats = new Set<number>();

  constructor(deps: TelegramChatDeps) {
    this.#deps = deps;
  }

  async sendText({ text, reply_to, buttons }: OutgoingText, signal: AbortSignal): Promise<string> {
    const keyboard = buttons && toKeyboard(buttons);
    const message = { text, reply_to: toMessageId(reply_to), keyboard };
    return String(await this.#deps.bot.sendMessage(message, signal));
  }

  setButtons(ref: string, buttons: readonly Button[], signal: AbortSignal): Promise<void> {
    return this.#deps.bot.setKeyboard(Number(ref), toKeyboard(buttons), signal);
  }

  answerTap(answer: TapAnswer, signal: AbortSignal): Promise<void> {
    return this.#deps.bot.answerTap(answer, signal);
  }

  confirm(ref: string, signal: AbortSignal): Promise<void> {
    return this.#deps.bot.react(Number(ref), "👌", signal);
  }

  /** The event of an update; empty if it is from another chat, or of another kind. */
  toEvent({ message, callback_query: tap }: Update): ChatEvent {
    const event: ChatEvent = {
      message: message && !this.#isIgnored(message.chat) ? this.#toMessage(message) : undefined,
      tap: tap?.message && !this.#isIgnored(tap.message.chat)
        ? { id: tap.id, data: tap.data ?? "", ref: String(tap.message.message_id) }
        : undefined,
    };
    return event;
  }

  #toMessage(message: Message): IncomingMessage {
    const { message_id, date, text, chat, reply_to_message: to } = message;
    return {
      ref: String(message_id),
      text,
      written_at: date * 1000,
      reply_to: to && this.#deps.bot.isBotItself(to.from) ? String(to.message_id) : undefined,
      // In a group, only replies to the bot's messages are for the bot.
      isForBot: chat.type === "private",
      hasMedia: hasMedia(message),
    };
  }

  /**
   * Whether the chat is not the configured one and is therefore ignored. Each ignored chat is
   * logged once, without its text.
   */
  #isIgnored(chat: Message["chat"]): boolean {
    const { bot, log } = this.#deps;
    if (bot.isConfiguredChat(chat)) return false;
    if (!this.#ignoredChats.has(chat.id) && this.#ignoredChats.size < IGNORED_CHATS_MAX) {
      this.#ignoredChats.add(chat.id);
      log(`Ignored a message from chat "${chat.id}": it is not surfaces.telegram.chat_id`);
    }
    return true;
  }
}

function toKeyboard(buttons: readonly Button[]): Keyboard {
  return buttons.map(({ text, data }) => [{ text, callback_data: data }]);
}

function toMessageId(ref: string | undefined): number | undefined {
  return ref !== undefined && /^\d{1,15}$/.test(ref) ? Number(ref) : undefined;
}
