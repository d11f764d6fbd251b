/** A fake Bot API that validates calls as the real one does, and fails on request. */

import { join } from "node:path";
import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { paramsOf, StoredFiles } from "./stored_files.ts";

export const TOKEN = "4711:AAtopsecretAAtopsecretAAtopsecret";
export const CHAT = 815;

/** Rows of at least one button, each with its data. */
const Keyboard = z.strictObject({
  inline_keyboard: z.array(
    z.array(z.strictObject({
      text: z.string().min(1),
      callback_data: z.string().refine((data) => {
        const { length } = new TextEncoder().encode(data);
        return length >= 1 && length <= 64;
      }),
    })).min(1),
  ),
});
const chat_id = z.literal(CHAT);
const reply_parameters = z.strictObject({
  message_id: z.int().positive(),
  allow_sending_without_reply: z.boolean().optional(),
}).optional();
const uploadSchema = (bytes_max: number) =>
  z.strictObject({
    filename: z.string().min(1),
    bytes: z.instanceof(Uint8Array).refine(({ length }) => length > 0 && length <= bytes_max),
  });
const FileFields = z.strictObject({
  chat_id,
  caption: z.string().max(1024).refine((text) => text.isWellFormed()),
  reply_parameters,
});

/** The parameters of each method; others are rejected. */
const METHODS = {
  getUpdates: z.strictObject({
    offset: z.int().optional(),
    timeout: z.int().min(0).max(50),
    allowed_updates: z.array(z.enum(["message", "edited_message", "callback_query"])).optional(),
  }),
  sendMessage: z.strictObject({
    chat_id,
    text: z.string().max(4096).refine((text) => text.trim() !== "" && text.isWellFormed()),
    link_preview_options: z.strictObject({ is_disabled: z.boolean() }),
    reply_parameters,
    reply_markup: Keyboard.optional(),
  }),
  sendPhoto: FileFields.extend({ photo: uploadSchema(10_000_000) }),
  sendDocument: FileFields.extend({ document: uploadSchema(50_000_000) }),
  getFile: z.strictObject({ file_id: z.string() }),
  answerCallbackQuery: z.strictObject({
    callback_query_id: z.string(),
    text: z.string().max(200).refine((text) => text.isWellFormed()),
    show_alert: z.boolean(),
  }),
  editMessageReplyMarkup: z.strictObject({ chat_id, message_id: z.int(), reply_markup: Keyboard }),
  setMessageReaction: z.strictObject({
    chat_id,
    message_id: z.int(),
    reaction: z.array(z.strictObject({ type: z.literal("emoji"), emoji: z.literal("👌") })).max(1),
  }),
} as const;
type Method = keyof typeof METHODS;
type Params<M extends Method> = z.output<(typeof METHODS)[M]>;

/** A message in the chat, by the bot or the person. */
export interface SentMessage {
  readonly message_id: number;
  /** Its text, or the caption of its file. */
  readonly text: string;
  readonly file?: SentFile | undefined;
  readonly reply_to?: number | undefined;
  keyboard?: z.output<typeof Keyboard>["inline_keyboard"] | undefined;
}

export interface SentFile {
  readonly as: "photo" | "document";
  readonly filename: string;
  readonly bytes: Uint8Array;
}

/** The outcome of one call: an answer, or the loss of the call or of its answer. */
export type CallOutcome =
  | "ok"
  | "unreached"
  | "lost"
  | "done but lost"
  | { error_code: number; [field: string]: unknown };

class Refusal extends Error {
  readonly body: Record<string, unknown>;

  constructor(error_code: number, description: string, more: Record<string, unknown> = {}) {
    super(description);
    this.body = { ok: false, error_code, description, ...more };
  }
}

export class FakeBotApi {
  /** The bot's messages in the chat. */
  readonly sentMessages: SentMessage[] = [];
  readonly reactions = new Map<number, string>();
  readonly answeredTaps: { id: string; text: string; alert: boolean }[] = [];
  readonly calls: { method: string; params: Record<string, unknown> }[] = [];
  /** Files that the person has sent. */
  readonly files = new StoredFiles();
  /** The unconfirmed updates. */
  updates: Record<string, unknown>[] = [];
  readonly #clock: Clock;
  readonly #outcomes = new Map<string, CallOutcome[]>();
  #message_ids = 100;
  #update_ids = 0;
  #polls = 0;
  #sendHold: Promise<void> | undefined;
  #newUpdate = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets the outcomes of the next calls of a method. */
  failNext(method: Method, ...outcomes: CallOutcome[]): void {
    this.#outcomes.set(method, [...this.#outcomes.get(method) ?? [], ...outcomes]);
  }

  /** Holds the answers to sends until released. */
  holdSends(): { release(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#sendHold = promise;
    return { release: resolve };
  }

  count(method: Method): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  /** Adds a message by the person; returns its id. */
  write(text: string | undefined, more: Record<string, unknown> = {}): number {
    const message_id = ++this.#message_ids;
    const date = Math.floor(this.#clock.now() / 1000);
    const chat = { id: CHAT, type: "private" };
    this.update({ message: { message_id, date, chat, ...(text && { text }), ...more } });
    return message_id;
  }

  /** Adds a reply by the person to a message of the bot. */
  reply(to: number, text: string, more: Record<string, unknown> = {}): number {
    const reply_to_message = { message_id: to, from: { id: 4711, is_bot: true } };
    return this.write(text, { reply_to_message, ...more });
  }

  /** The person changes a reply. */
  edit(message_id: number, to: number, text: string): void {
    const reply_to_message = { message_id: to, from: { id: 4711, is_bot: true } };
    const chat = { id: CHAT, type: "private" };
    const date = Math.floor(this.#clock.now() / 1000);
    this.update({ edited_message: { message_id, date, chat, text, reply_to_message } });
  }

  /** Adds a tap by the person on a button with this label. */
  tap(message_id: number, label: string, chat = CHAT): void {
    const sentMessages = this.sentMessages.find((sent) => sent.message_id === message_id);
    const button = sentMessages?.keyboard?.flat().find(({ text }) => text === label);
    if (!button) throw new Error(`No button "${label}" under ${message_id}`);
    const message = { message_id, chat: { id: chat, type: "private" }, date: 0 };
    const id = `tap-${this.#update_ids}`;
    this.update({ callback_query: { id, from: { id: 1 }, data: button.callback_data, message } });
  }

  update(update: Record<string, unknown>): void {
    this.updates.push({ update_id: ++this.#update_ids, ...update });
    this.#newUpdate.resolve();
    this.#newUpdate = Promise.withResolvers();
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const prefix = `/file/bot${TOKEN}/`;
    if (pathname.startsWith(prefix)) return this.files.serve(pathname.slice(prefix.length));
    const [, token, method = ""] = /^\/bot([^/]*)\/(\w+)$/.exec(pathname) ?? [];
    const params = await paramsOf(request);
    this.calls.push({ method, params });
    if (method.startsWith("send") && this.#sendHold) {
      await untilAborted(this.#sendHold, request.signal);
    }
    const failNext = this.#outcomes.get(method)?.shift();
    if (failNext === "unreached") throw fetchFailed(request, "client error (Connect): dns error");
    if (failNext === "lost") {
      throw fetchFailed(request, "client error (SendRequest): connection closed");
    }
    try {
      if (typeof failNext === "object") {
        throw new Refusal(failNext.error_code, "As a test wants it", failNext);
      }
      if (token !== TOKEN) throw new Refusal(401, "Unauthorized");
      const result = await this.#callMethod(method, params, request.signal);
      if (failNext === "done but lost") {
        throw fetchFailed(request, "client error (SendRequest): connection reset");
      }
      return Response.json({ ok: true, result });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return Response.json(error.body, { status: Number(error.body["error_code"]) });
    }
  };

  async #callMethod(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    switch (method) {
      case "getUpdates":
        return await this.#getUpdates(parseParams(method, params), signal);
      case "sendMessage":
        return this.#sendMessage(parseParams(method, params));
      case "sendPhoto": {
        const { photo, ...fields } = parseParams(method, params);
        return this.#sendFile({ as: "photo", ...photo }, fields);
      }
      case "sendDocument": {
        const { document, ...fields } = parseParams(method, params);
        return this.#sendFile({ as: "document", ...document }, fields);
      }
      case "getFile": {
        const found = this.files.find(parseParams(method, params).file_id);
        if (typeof found === "string") throw new Refusal(400, found);
        return found;
      }
      case "answerCallbackQuery": {
        const { callback_query_id: id, text, show_alert: alert } = parseParams(method, params);
        this.answeredTaps.push({ id, text, alert });
        return true;
      }
      case "editMessageReplyMarkup": {
        const { message_id, reply_markup } = parseParams(method, params);
        this.#mustFind(message_id).keyboard = reply_markup.inline_keyboard;
        return true;
      }
      case "setMessageReaction": {
        const { message_id, reaction } = parseParams(method, params);
        if (message_id > this.#message_ids) throw new Refusal(400, "message to react not found");
        this.reactions.set(message_id, reaction[0]?.emoji ?? "");
        return true;
      }
      default:
        throw new Refusal(404, "Not Found");
    }
  }

  #sendMessage({ text, reply_parameters, reply_markup }: Params<"sendMessage">) {
    const to = reply_parameters;
    if (to && !to.allow_sending_without_reply) this.#mustFind(to.message_id);
    const message_id = ++this.#message_ids;
    const keyboard = reply_markup?.inline_keyboard;
    this.sentMessages.push({ message_id, text, reply_to: to?.message_id, keyboard });
    return { message_id, date: 0, chat: { id: CHAT, type: "private" }, text };
  }

  #sendFile(file: SentFile, { caption, reply_parameters: to }: z.output<typeof FileFields>) {
    const message_id = ++this.#message_ids;
    this.sentMessages.push({ message_id, text: caption, file, reply_to: to?.message_id });
    return { message_id, date: 0, chat: { id: CHAT, type: "private" }, caption };
  }

  async #getUpdates({ offset = 0, timeout }: Params<"getUpdates">, signal: AbortSignal) {
    if (this.#polls > 0) throw new Refusal(409, "Conflict: terminated by other getUpdates");
    this.updates = this.updates.filter(({ update_id }) => Number(update_id) >= offset);
    if (this.updates.length > 0 || timeout === 0) return this.updates;
    const timeUp = new AbortController();
    const stopSignal = AbortSignal.any([signal, timeUp.signal]);
    this.#polls++;
    try {
      await Promise.race([this.#newUpdate.promise, this.#clock.sleep(timeout * 1000, stopSignal)]);
    } finally {
      timeUp.abort();
      this.#polls--;
    }
    return this.updates;
  }

  #mustFind(message_id: number): SentMessage {
    const sentMessages = this.sentMessages.find((sent) => sent.message_id === message_id);
    if (!sentMessages) throw new Refusal(400, "Bad Request: message not found");
    return sentMessages;
  }
}

function parseParams<M extends Method>(method: M, params: unknown): Params<M> {
  const result = METHODS[method].safeParse(params);
  if (!result.success) throw new Refusal(400, `Bad Request: ${result.error.message}`);
  return result.data as Params<M>;
}

/** Waits, unless the signal aborts first. */
async function untilAborted(waiting: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => aborted.reject(signal.reason));
  await Promise.race([waiting, aborted.promise]);
}

/** The runtime's error, which contains the address and so the token. */
function fetchFailed({ url }: Request, why: string): TypeError {
  const cause = new Error(`error sending request for url (${url}): ${why}`);
  return new TypeError("fetch failed", { cause });
}

/** The environment of the surface's program, with a state of its own in a folder. */
export function surfaceEnvironment(
  cwd: string,
  ports: { readonly daemon: number; readonly api: number },
): Record<string, string> {
  return {
    MESH_CONFIG: join(cwd, "none.yaml"),
    MESH_STATE: cwd,
    MESH_DAEMON__PORT: String(ports.daemon),
    MESH_SURFACES__TELEGRAM__TOKEN: TOKEN,
    MESH_SURFACES__TELEGRAM__CHAT_ID: "815",
    TELEGRAM_API_BASE: `http://127.0.0.1:${ports.api}`,
  };
}
