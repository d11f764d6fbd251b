/** A Bot API that refuses whatever the real one would, and fails when a test wants it to. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";

export const TOKEN = "4711:AAtopsecretAAtopsecretAAtopsecret";
export const CHAT = 815;

/** At least one button in a row, and each with what it says when it is tapped. */
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

/** The parameters of each method, and nothing beside them. */
const METHODS = {
  getUpdates: z.strictObject({
    offset: z.int().optional(),
    timeout: z.int().min(0).max(50),
    allowed_updates: z.array(z.enum(["message", "callback_query"])).optional(),
  }),
  sendMessage: z.strictObject({
    chat_id,
    text: z.string().max(4096).refine((text) => text.trim() !== "" && text.isWellFormed()),
    link_preview_options: z.strictObject({ is_disabled: z.boolean() }),
    reply_parameters: z.strictObject({
      message_id: z.int().positive(),
      allow_sending_without_reply: z.boolean().optional(),
    }).optional(),
    reply_markup: Keyboard.optional(),
  }),
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

/** A message in the chat, of the bot or of the person. */
export interface Told {
  readonly message_id: number;
  readonly text: string;
  readonly reply_to?: number | undefined;
  keyboard?: z.output<typeof Keyboard>["inline_keyboard"] | undefined;
}

/** What befalls one call: an answer, or that the call, or only its answer, is lost. */
export type Fate =
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
  /** Every message that stands in the chat, by the bot. */
  readonly told: Told[] = [];
  readonly reactions = new Map<number, string>();
  readonly taps: { id: string; text: string; alert: boolean }[] = [];
  readonly calls: { method: string; params: Record<string, unknown> }[] = [];
  /** The updates that are not confirmed. */
  updates: Record<string, unknown>[] = [];
  readonly #clock: Clock;
  readonly #fates = new Map<string, Fate[]>();
  #message_ids = 100;
  #update_ids = 0;
  #polling = 0;
  #held: Promise<void> | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The next calls of a method end like this, one each. */
  fate(method: Method, ...fates: Fate[]): void {
    this.#fates.set(method, [...this.#fates.get(method) ?? [], ...fates]);
  }

  /** Sends are taken, and not answered until they are released. */
  holdSends(): { release(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    return { release: resolve };
  }

  count(method: Method): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  /** The person writes; the id of the message. */
  write(text: string | undefined, more: Record<string, unknown> = {}): number {
    const message_id = ++this.#message_ids;
    const date = Math.floor(this.#clock.now() / 1000);
    const chat = { id: CHAT, type: "private" };
    this.update({ message: { message_id, date, chat, ...(text && { text }), ...more } });
    return message_id;
  }

  /** The person replies to a message of the bot. */
  reply(to: number, text: string, more: Record<string, unknown> = {}): number {
    const reply_to_message = { message_id: to, from: { id: 4711, is_bot: true } };
    return this.write(text, { reply_to_message, ...more });
  }

  /** The person taps a button of a message, by its label. */
  tap(message_id: number, label: string, chat = CHAT): void {
    const told = this.told.find((one) => one.message_id === message_id);
    const button = told?.keyboard?.flat().find(({ text }) => text === label);
    if (!button) throw new Error(`No button "${label}" under ${message_id}`);
    const message = { message_id, chat: { id: chat, type: "private" }, date: 0 };
    const id = `tap-${this.#update_ids}`;
    this.update({ callback_query: { id, from: { id: 1 }, data: button.callback_data, message } });
  }

  update(update: Record<string, unknown>): void {
    this.updates.push({ update_id: ++this.#update_ids, ...update });
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const [, token, method = ""] = /^\/bot([^/]*)\/(\w+)$/.exec(new URL(request.url).pathname) ??
      [];
    const params = JSON.parse(await request.text());
    this.calls.push({ method, params });
    if (method === "sendMessage" && this.#held) await orAborted(this.#held, request.signal);
    const fate = this.#fates.get(method)?.shift();
    if (fate === "unreached") throw fetchFailed(request, "client error (Connect): dns error");
    if (fate === "lost") {
      throw fetchFailed(request, "client error (SendRequest): connection closed");
    }
    try {
      if (typeof fate === "object") throw new Refusal(fate.error_code, "As a test wants it", fate);
      if (token !== TOKEN) throw new Refusal(401, "Unauthorized");
      const result = await this.#do(method, params, request.signal);
      if (fate === "done but lost") {
        throw fetchFailed(request, "client error (SendRequest): connection reset");
      }
      return Response.json({ ok: true, result });
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      return Response.json(fault.body, { status: Number(fault.body["error_code"]) });
    }
  };

  async #do(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    switch (method) {
      case "getUpdates":
        return await this.#getUpdates(parsed(method, params), signal);
      case "sendMessage":
        return this.#sendMessage(parsed(method, params));
      case "answerCallbackQuery": {
        const { callback_query_id: id, text, show_alert: alert } = parsed(method, params);
        this.taps.push({ id, text, alert });
        return true;
      }
      case "editMessageReplyMarkup": {
        const { message_id, reply_markup } = parsed(method, params);
        this.#mustFind(message_id).keyboard = reply_markup.inline_keyboard;
        return true;
      }
      case "setMessageReaction": {
        const { message_id, reaction } = parsed(method, params);
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
    this.told.push({ message_id, text, reply_to: to?.message_id, keyboard });
    return { message_id, date: 0, chat: { id: CHAT, type: "private" }, text };
  }

  async #getUpdates({ offset = 0, timeout }: Params<"getUpdates">, signal: AbortSignal) {
    if (this.#polling > 0) throw new Refusal(409, "Conflict: terminated by other getUpdates");
    this.updates = this.updates.filter(({ update_id }) => Number(update_id) >= offset);
    if (this.updates.length > 0 || timeout === 0) return this.updates;
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    this.#polling++;
    try {
      await Promise.race([this.#wake.promise, this.#clock.sleep(timeout * 1000, either)]);
    } finally {
      over.abort();
      this.#polling--;
    }
    return this.updates;
  }

  #mustFind(message_id: number): Told {
    const told = this.told.find((one) => one.message_id === message_id);
    if (!told) throw new Refusal(400, "Bad Request: message not found");
    return told;
  }
}

function parsed<M extends Method>(method: M, params: unknown): Params<M> {
  const result = METHODS[method].safeParse(params);
  if (!result.success) throw new Refusal(400, `Bad Request: ${result.error.message}`);
  return result.data as Params<M>;
}

/** Waits, unless the signal aborts first. */
async function orAborted(waiting: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => aborted.reject(signal.reason));
  await Promise.race([waiting, aborted.promise]);
}

/** As the runtime says it: with the address, and so with the token. */
function fetchFailed({ url }: Request, why: string): TypeError {
  const cause = new Error(`error sending request for url (${url}): ${why}`);
  return new TypeError("fetch failed", { cause });
}
