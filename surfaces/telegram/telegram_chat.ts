/** A Telegram chat as the chat surface sees it: its limits, its calls, and its events. */

import * as z from "zod";
import {
  type Button,
  type Chat,
  type ChatEvent,
  type ChatStyle,
  hasFailed,
  type IncomingFile,
  type IncomingMessage,
  type OutgoingFile,
  type OutgoingText,
  type TapAnswer,
} from "../chat/chat.ts";
import type { BotApi, Keyboard, Message, Update } from "./bot_api.ts";

export const TELEGRAM: ChatStyle = {
  surface: "telegram",
  title: "Telegram",
  command_prefix: "/",
  reply_verb: "Reply to",
  text_units_max: 4096,
  tap_units_max: 200,
  button_columns_max: 48,
  button_data_bytes_max: 64,
  // The limits of the Bot API: https://core.telegram.org/bots/api#sending-files
  file_bytes_max: 50_000_000,
  download_bytes_max: 20 * 2 ** 20,
};
const PHOTO_BYTES_MAX = 10_000_000;
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

  /** A picture is sent as a file if it is too large, or if Telegram refuses it as a picture. */
  async sendFile(
    { filename, bytes, isPicture, caption, reply_to }: OutgoingFile,
    signal: AbortSignal,
  ): Promise<string> {
    const { bot } = this.#deps;
    const file = { filename, bytes, caption, reply_to: toMessageId(reply_to) };
    if (isPicture && bytes.length <= PHOTO_BYTES_MAX) {
      try {
        return String(await bot.sendFile({ ...file, as: "photo" }, signal));
      } catch (error) {
        if (!hasFailed(error, "bad_request")) throw error;
      }
    }
    return String(await bot.sendFile({ ...file, as: "document" }, signal));
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

  /** The id of an update's album; undefined if the update is in no album, or from another chat. */
  albumOf({ message }: Update): string | undefined {
    const isOurs = message && this.#deps.bot.isConfiguredChat(message.chat);
    return isOurs ? message.media_group_id : undefined;
  }

  /**
   * The event of an update, or of all updates of an album. Empty if the update is from another
   * chat, or of another kind.
   */
  toEvent(updates: readonly Update[]): ChatEvent {
    const [tap] = updates.flatMap(({ callback_query }) => callback_query ?? []);
    const messages = updates.flatMap(({ message }) => message ?? []).filter(({ chat }) =>
      !this.#isIgnored(chat)
    );
    const [edited] = updates.flatMap(({ edited_message }) => edited_message ?? []);
    return {
      edit: edited && !this.#isIgnored(edited.chat)
        ? { ref: String(edited.message_id), reply_to: this.#repliedTo(edited) }
        : undefined,
      message: this.#toMessage(messages),
      tap: tap?.message && !this.#isIgnored(tap.message.chat)
        ? { id: tap.id, data: tap.data ?? "", ref: String(tap.message.message_id) }
        : undefined,
    };
  }

  /** One message, or the messages of an album as one. */
  #toMessage(messages: readonly Message[]): IncomingMessage | undefined {
    const [first] = messages;
    if (!first) return undefined;
    const { message_id, date, chat } = first;
    const texts = messages.flatMap(({ text, caption }) => text ?? caption ?? []);
    const media = messages.map(mediaOf);
    return {
      ref: String(message_id),
      text: texts.length === 0 ? undefined : texts.join("\n"),
      written_at: date * 1000,
      reply_to: messages.map((message) => this.#repliedTo(message)).find((ref) => ref),
      // In a group, only replies to the bot's messages are for the bot.
      isForBot: chat.type === "private",
      files: media.flatMap(({ files }) => files).map((file) => this.#toFile(file)),
      hasOther: media.some(({ hasOther }) => hasOther),
    };
  }

  #repliedTo({ reply_to_message: to }: Message): string | undefined {
    return to && this.#deps.bot.isBotItself(to.from) ? String(to.message_id) : undefined;
  }

  #toFile({ file_id, filename, content_type, size }: MediaFile): IncomingFile {
    const { bot } = this.#deps;
    return {
      key: file_id,
      filename,
      content_type,
      size,
      load: (bytes_max, signal) => bot.downloadFile(file_id, bytes_max, signal),
    };
  }

  /**
   * True if the chat is not the configured one and is therefore ignored. Each ignored chat is
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

const size = z.int().nonnegative().optional().catch(undefined);
const text = z.string().optional().catch(undefined);
const StoredFile = z.object({
  file_id: z.string().min(1),
  file_size: size,
  file_name: text,
  mime_type: text,
});
/** The sizes of one picture. */
const Photo = z.array(StoredFile.extend({ width: z.number(), height: z.number() })).min(1);

/** A file of a message. `file_id` is what `getFile` takes. */
interface MediaFile {
  readonly file_id: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size: number | undefined;
}

/** The fields with one file, and what a file without a name or type gets. */
const FILE_FIELDS: Readonly<Record<string, readonly [extension: string, type: string]>> = {
  document: ["bin", "application/octet-stream"],
  video: ["mp4", "video/mp4"],
  video_note: ["mp4", "video/mp4"],
  audio: ["mp3", "audio/mpeg"],
  voice: ["ogg", "audio/ogg"],
};

/** The fields for what is neither text nor a file. */
const OTHER_FIELDS = ["sticker", "location", "contact", "poll", "dice", "story", "paid_media"];

/** A message with its fields for media, whose form is not known yet. */
type Fields = Readonly<Record<string, unknown>> & { readonly message_id: number };

/** The files of a message. `hasOther` is true if the message has other content besides text. */
function mediaOf(message: Fields): { files: MediaFile[]; hasOther: boolean } {
  const files: (MediaFile | undefined)[] = [];
  if (message["photo"] !== undefined) files.push(toPhoto(message));
  for (const field of Object.keys(FILE_FIELDS)) {
    if (message[field] !== undefined) files.push(toFile(message, field));
  }
  const readable = files.filter((file) => file !== undefined);
  const isUnreadable = readable.length < files.length;
  const hasOther = isUnreadable || OTHER_FIELDS.some((field) => message[field] !== undefined);
  return { files: readable, hasOther };
}

function toPhoto({ message_id, photo }: Fields): MediaFile | undefined {
  const sizes = Photo.safeParse(photo).data ?? [];
  const [largest] = sizes.toSorted((a, b) => b.width * b.height - a.width * a.height);
  if (!largest) return undefined;
  const { file_id, file_size } = largest;
  const filename = `photo-${message_id}.jpg`;
  return { file_id, filename, content_type: "image/jpeg", size: file_size };
}

function toFile(message: Fields, field: string): MediaFile | undefined {
  const file = StoredFile.safeParse(message[field]).data;
  const [extension, type] = FILE_FIELDS[field] ?? [];
  if (!file || extension === undefined || type === undefined) return undefined;
  const { file_id, file_name, mime_type, file_size } = file;
  const name = field === "video_note" ? "video" : field;
  return {
    file_id,
    filename: file_name ?? `${name}-${message.message_id}.${extension}`,
    content_type: mime_type ?? type,
    size: file_size,
  };
}
