/** A client of the Telegram Bot API; its errors never contain the token. */

import * as z from "zod";
import type { Secret } from "kit/core/settings.ts";
import { tryJson } from "kit/core/text.ts";
import { ChatError, type ErrorClass, type TapAnswer } from "../chat/chat.ts";
import { readBounded } from "../chat/incoming_files.ts";
import { type ServerAccess, transfer } from "../chat/transfer.ts";

export const DEFAULT_BASE = "https://api.telegram.org";

/** Time for which Telegram may hold one long poll open. */
export const POLL_SECONDS = 50;
const POLL_GRACE_MS = 15_000;
const CALL_MS_MAX = 30_000;
/** The slowest transfer of a file that we wait for, beyond `CALL_MS_MAX`. */
const BYTES_PER_MS_MIN = 64;

const Chat = z.object({ id: z.int(), type: z.string(), username: z.string().optional() });
export type Chat = z.output<typeof Chat>;

const Message = z.looseObject({
  message_id: z.int(),
  /** Seconds since the epoch, by Telegram's clock. */
  date: z.int(),
  chat: Chat,
  text: z.string().optional(),
  caption: z.string().optional(),
  /** Messages with the same id are one album. */
  media_group_id: z.string().optional(),
  reply_to_message: z.object({
    message_id: z.int(),
    from: z.object({ id: z.int() }).optional(),
  }).optional(),
});
export type Message = z.output<typeof Message>;

const Tap = z.object({
  id: z.string(),
  data: z.string().optional(),
  message: z.object({ message_id: z.int(), chat: Chat }).optional(),
});
type Tap = z.output<typeof Tap>;

/** Unknown or unreadable updates are kept, because their numbers must be confirmed too. */
const Update = z.object({
  update_id: z.int(),
  message: Message.optional().catch(undefined),
  edited_message: Message.optional().catch(undefined),
  callback_query: Tap.optional().catch(undefined),
});
export type Update = z.output<typeof Update>;

/** Rows of buttons under a message. `callback_data` has 1 to 64 bytes. */
export type Keyboard = readonly (readonly { text: string; callback_data: string }[])[];

const Answer = z.object({
  ok: z.boolean(),
  result: z.unknown().optional(),
  error_code: z.int().optional(),
  description: z.string().default("no reason given"),
  parameters: z.object({
    retry_after: z.number().nonnegative().optional(),
    migrate_to_chat_id: z.int().optional(),
  }).default({}),
});
type Answer = z.output<typeof Answer>;

export interface BotOptions extends ServerAccess {
  readonly token: Secret;
  readonly chat_id: string;
}

/** A file as the Bot API takes it: by the method for a picture, or for any file. */
interface FileMessage {
  readonly as: "photo" | "document";
  readonly filename: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly caption: string;
  readonly reply_to?: number | undefined;
}

interface CallOptions {
  readonly params: object;
  readonly signal: AbortSignal;
  readonly ms?: number;
}

interface OutgoingText {
  readonly text: string;
  readonly reply_to?: number | undefined;
  readonly keyboard?: Keyboard | undefined;
}

export class BotApi {
  readonly #options: BotOptions;
  readonly #chat: { readonly chat_id: number | string };

  constructor(options: BotOptions) {
    this.#options = options;
    const { chat_id } = options;
    this.#chat = { chat_id: chat_id.startsWith("@") ? chat_id : Number(chat_id) };
  }

  /**
   * True if the user may be this bot, whose id is the start of its token. False only if the ids are
   * known to differ.
   */
  isBotItself(user: { id: number } | undefined): boolean {
    const [own = ""] = this.#options.token.reveal().split(":");
    return user === undefined || !/^\d+$/.test(own) || user.id === Number(own);
  }

  isConfiguredChat({ id, username }: Chat): boolean {
    const { chat_id } = this.#options;
    return String(id) === chat_id || `@${username}`.toLowerCase() === chat_id.toLowerCase();
  }

  /** Waits up to `seconds` for updates; `offset` confirms all updates with lower numbers. */
  getUpdates(
    { offset, seconds }: { offset: number | undefined; seconds: number },
    signal: AbortSignal,
  ): Promise<Update[]> {
    const params = {
      ...(offset !== undefined && { offset }),
      timeout: seconds,
      allowed_updates: ["message", "edited_message", "callback_query"],
    };
    const ms = seconds * 1000 + POLL_GRACE_MS;
    return this.#call("getUpdates", z.array(Update), { params, signal, ms });
  }

  /** Returns the unconfirmed updates at once, without confirming them. */
  peekUpdates(ms: number): Promise<Update[]> {
    const { signal } = new AbortController();
    return this.#call("getUpdates", z.array(Update), { params: { timeout: 0 }, signal, ms });
  }

  /** Sends a plain text of 1 to 4096 UTF-16 units; returns the message id. */
  async sendMessage(
    { text, reply_to, keyboard }: OutgoingText,
    signal: AbortSignal,
  ): Promise<number> {
    const params = {
      ...this.#chat,
      text,
      // Otherwise Telegram would fetch links in agents' texts to show a preview.
      link_preview_options: { is_disabled: true },
      ...replyTo(reply_to),
      ...(keyboard && { reply_markup: { inline_keyboard: keyboard } }),
    };
    return (await this.#call("sendMessage", Sent, { params, signal })).message_id;
  }

  /** Uploads a file of at most 50 MB, a picture of at most 10 MB; returns the message id. */
  async sendFile(file: FileMessage, signal: AbortSignal): Promise<number> {
    const { as, filename, bytes, caption, reply_to } = file;
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...this.#chat, caption, ...replyTo(reply_to) })) {
      form.set(name, typeof value === "string" ? value : JSON.stringify(value));
    }
    form.set(as, new Blob([bytes]), filename);
    const method = as === "photo" ? "sendPhoto" : "sendDocument";
    const ms = transferMs(bytes.length);
    return (await this.#call(method, Sent, { params: form, signal, ms })).message_id;
  }

  /** Downloads a file that was sent to the bot, of at most `bytes_max` bytes. */
  async downloadFile(
    file_id: string,
    bytes_max: number,
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const found = await this.#call("getFile", StoredFile, { params: { file_id }, signal });
    const { file_path = "", file_size } = found;
    const { base, token } = this.#options;
    const url = `${base}/file/bot${token.reveal()}/${toUrlPath(file_path)}`;
    const read = (response: Response) => readFile(response, bytes_max);
    const options = { read, signal, ms: transferMs(bytes_max) };
    const bytes = await transfer(this.#options, "Telegram", [url, {}], options);
    if (file_size === undefined || bytes.length === file_size) return bytes;
    throw new ChatError("unclear", `only ${bytes.length} of ${file_size} bytes have arrived`);
  }

  /** Answers a button tap with a short text; `alert` shows it until dismissed. */
  async answerTap({ id, text, alert }: TapAnswer, signal: AbortSignal): Promise<void> {
    const params = { callback_query_id: id, text, show_alert: alert };
    await this.#call("answerCallbackQuery", z.unknown(), { params, signal });
  }

  /** Replaces the buttons of a message; an empty keyboard removes them. */
  async setKeyboard(message_id: number, keyboard: Keyboard, signal: AbortSignal): Promise<void> {
    const params = { ...this.#chat, message_id, reply_markup: { inline_keyboard: keyboard } };
    await this.#call("editMessageReplyMarkup", z.unknown(), { params, signal });
  }

  async react(message_id: number, emoji: string, signal: AbortSignal): Promise<void> {
    const params = { ...this.#chat, message_id, reaction: [{ type: "emoji", emoji }] };
    await this.#call("setMessageReaction", z.unknown(), { params, signal });
  }

  async #call<S extends z.ZodType>(
    method: string,
    shape: S,
    { params, signal, ms = CALL_MS_MAX }: CallOptions,
  ): Promise<z.output<S>> {
    const { base, token } = this.#options;
    const isForm = params instanceof FormData;
    const request = {
      method: "POST",
      body: isForm ? params : JSON.stringify(params),
      ...(!isForm && { headers: { "content-type": "application/json" } }),
    };
    const read = async (response: Response) => ({
      status: response.status,
      text: await response.text(),
    });
    const url = `${base}/bot${token.reveal()}/${method}`;
    const options = { read, signal, ms };
    const { status, text } = await transfer(this.#options, "Telegram", [url, request], options);
    const answer = Answer.safeParse(tryJson(text));
    if (!answer.success) throw unreadableResponse(status);
    if (!answer.data.ok) throw this.#toError(status, answer.data);
    const result = shape.safeParse(answer.data.result);
    if (!result.success) {
      throw new ChatError("unclear", `${method}: the answer has an unknown form`);
    }
    return result.data;
  }

  #toError(status: number, { error_code, description, parameters }: Answer): ChatError {
    // A server may repeat the requested address, which contains the token.
    const safeDescription = description.replaceAll(this.#options.token.reveal(), "[hidden]");
    const { retry_after, migrate_to_chat_id: newChatId } = parameters;
    const why = newChatId === undefined
      ? safeDescription
      : `${safeDescription}: the chat's new id is ${newChatId}`;
    return new ChatError(
      toErrorClass(error_code ?? status),
      why,
      retry_after === undefined ? undefined : retry_after * 1000,
    );
  }
}

const Sent = z.object({ message_id: z.int() });
const StoredFile = z.object({
  file_path: z.string().optional(),
  file_size: z.int().nonnegative().optional(),
});

function replyTo(message_id: number | undefined) {
  if (message_id === undefined) return {};
  return { reply_parameters: { message_id, allow_sending_without_reply: true } };
}

function transferMs(bytes: number): number {
  return CALL_MS_MAX + Math.ceil(bytes / BYTES_PER_MS_MIN);
}

/** The path of a file on Telegram's server, as it is safe in an address that we call. */
function toUrlPath(file_path: string): string {
  const segments = file_path.split("/");
  if (segments.some((segment) => ["", ".", ".."].includes(segment))) {
    throw new ChatError("bad_request", "the file's path has an unknown form");
  }
  return segments.map((segment) => encodeURIComponent(segment.toWellFormed())).join("/");
}

/** Reads a file. Stops as soon as it is too large. */
async function readFile(response: Response, bytes_max: number): Promise<Uint8Array<ArrayBuffer>> {
  const { status, body } = response;
  if (status !== 200) {
    await body?.cancel();
    throw new ChatError(toErrorClass(status === 404 ? 400 : status), `HTTP ${status}`);
  }
  return await readBounded(body, bytes_max);
}

function toErrorClass(code: number): ErrorClass {
  if (code >= 500) return "unclear";
  const known: Readonly<Record<number, ErrorClass>> = {
    401: "unauthorized",
    // Telegram gives this answer to a malformed token.
    404: "unauthorized",
    403: "forbidden",
    409: "conflict",
    429: "rate_limited",
  };
  return known[code] ?? "bad_request";
}

function unreadableResponse(status: number): ChatError {
  const refused = status >= 400 && status < 500;
  return new ChatError(
    refused ? toErrorClass(status === 404 ? 400 : status) : "unclear",
    `The answer is not from the Bot API: HTTP ${status}; check TELEGRAM_API_BASE`,
  );
}
