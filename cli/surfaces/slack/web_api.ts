/** A client of Slack's Web API; its errors never contain a token. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { pause, timeout } from "kit/core/timeout.ts";
import type { Secret } from "kit/core/settings.ts";
import { cleanLine, tryJson } from "kit/core/text.ts";
import { Timestamp } from "./timestamps.ts";
import {
  describeRefusal,
  SlackApiError,
  toErrorClass,
  type TokenName,
  toLostError,
} from "./web_api_errors.ts";

export const DEFAULT_BASE = "https://slack.com/api";

const CALL_MS_MAX = 30_000;
/** Slack allows about one message a second in a channel. */
const POST_INTERVAL_MS = 1_000;
const POST_WAIT_MS_MAX = 10_000;
/** How much of a word of Slack's answer is repeated in an error. */
const WORD_CHARS_MAX = 100;

/** A block of a message, in the form of Block Kit. */
export type Block = Readonly<Record<string, unknown>>;

/** A message in a channel, of an event or of the channel's history. */
export const Message = z.object({
  ts: Timestamp,
  user: z.string().optional(),
  bot_id: z.string().optional(),
  subtype: z.string().optional(),
  text: z.string().default(""),
  /** The timestamp of the thread's first message. */
  thread_ts: Timestamp.optional(),
  /** Of the first message of a thread. */
  latest_reply: Timestamp.optional(),
  blocks: z.array(z.looseObject({ block_id: z.string().optional() })).default([]),
  files: z.array(z.unknown()).default([]),
});
export type Message = z.output<typeof Message>;

const Page = z.object({
  messages: z.array(z.unknown()).transform((all) =>
    all.flatMap((one) => {
      const message = Message.safeParse(one);
      return message.success ? [message.data] : []; // Notices of a form that is unknown here.
    })
  ),
  response_metadata: z.object({ next_cursor: z.string().default("") }).optional(),
});
type Page = z.output<typeof Page>;

const Answer = z.looseObject({
  ok: z.boolean(),
  error: z.string().default("unknown_error"),
  needed: z.string().optional(),
});

export interface ApiOptions {
  readonly base: string;
  readonly app_token: Secret;
  readonly bot_token: Secret;
  readonly clock: Clock;
  readonly fetch: (request: Request) => Promise<Response>;
}

/** Where a message goes. */
export interface Place {
  readonly channel: string;
  readonly thread_ts?: Timestamp | undefined;
}

export interface OutgoingMessage extends Place {
  /** What notifications show, in Slack's escaped form. */
  readonly text: string;
  readonly blocks: readonly Block[];
}

interface Range {
  readonly oldest?: Timestamp;
  readonly latest?: Timestamp;
  readonly limit: number;
  /** How many answers of at most `limit` messages are read. */
  readonly pages_max: number;
}

type Params = Readonly<Record<string, string | number | boolean | object | undefined>>;

export class WebApi {
  readonly #options: ApiOptions;
  #nextPostAt = 0;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  /** The app's own user. */
  async authTest(signal: AbortSignal): Promise<{ user_id: string; team: string }> {
    const shape = z.object({ user_id: z.string(), team: z.string().default("") });
    return await this.#call("auth.test", shape, { signal });
  }

  /** The address of a new connection of Socket Mode. It is valid once. */
  async openConnection(signal: AbortSignal): Promise<string> {
    // Only a server on this machine may send us to an address without encryption.
    const protocol = this.#options.base.startsWith("https:") ? /^wss$/ : /^wss?$/;
    const shape = z.object({ url: z.url({ protocol }) });
    const options = { signal, token: "app_token" } as const;
    return (await this.#call("apps.connections.open", shape, options)).url;
  }

  /** The channel of direct messages with a user. */
  async openDirectMessage(user: string, signal: AbortSignal): Promise<string> {
    const shape = z.object({ channel: z.object({ id: z.string() }) });
    const params = { users: user };
    return (await this.#call("conversations.open", shape, { params, signal })).channel.id;
  }

  /** Sends a message, at most one a second; returns its timestamp. */
  async postMessage(message: OutgoingMessage, signal: AbortSignal): Promise<Timestamp> {
    const { clock } = this.#options;
    const now = clock.now();
    // The limit is for a clock that was set back.
    const at = Math.max(now, Math.min(this.#nextPostAt, now + POST_WAIT_MS_MAX));
    this.#nextPostAt = at + POST_INTERVAL_MS;
    if (at > now) await pause(clock, at - now, signal);
    signal.throwIfAborted();
    // Otherwise Slack would fetch links in agents' texts to show a preview.
    const params = { ...message, unfurl_links: false, unfurl_media: false };
    const shape = z.object({ ts: Timestamp });
    return (await this.#call("chat.postMessage", shape, { params, signal })).ts;
  }

  /** Replaces the text and the blocks of a message. */
  async updateMessage(
    message: Omit<OutgoingMessage, "thread_ts"> & { ts: Timestamp },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#call("chat.update", z.unknown(), { params: { ...message }, signal });
  }

  /** Shows a text to one user only, until the user's program is restarted. */
  async postEphemeral(
    message: Place & { user: string; text: string },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#call("chat.postEphemeral", z.unknown(), { params: { ...message }, signal });
  }

  async addReaction(
    { channel, timestamp, name }: { channel: string; timestamp: Timestamp; name: string },
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const params = { channel, timestamp, name };
      await this.#call("reactions.add", z.unknown(), { params, signal });
    } catch (error) {
      if (!(error instanceof SlackApiError) || error.code !== "already_reacted") throw error;
    }
  }

  /**
   * The messages of a channel that are in no thread or begin one, newest first. `complete` is false
   * if there are more than the range allows.
   */
  async history(channel: string, range: Range, signal: AbortSignal) {
    return await this.#read("conversations.history", { channel }, range, signal);
  }

  /** The messages of a thread, oldest first, the first one included. */
  async replies(channel: string, ts: Timestamp, range: Range, signal: AbortSignal) {
    return await this.#read("conversations.replies", { channel, ts }, range, signal);
  }

  async #read(
    method: string,
    where: Params,
    { pages_max, ...range }: Range,
    signal: AbortSignal,
  ): Promise<{ messages: Message[]; complete: boolean }> {
    const messages: Message[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < pages_max; page++) {
      const params = { ...where, ...range, cursor };
      const answer: Page = await this.#call(method, Page, { params, signal });
      messages.push(...answer.messages);
      cursor = answer.response_metadata?.next_cursor;
      if (!cursor) return { messages, complete: true };
    }
    return { messages, complete: false };
  }

  async #call<S extends z.ZodType>(
    method: string,
    shape: S,
    { params = {}, token = "bot_token", signal }: {
      params?: Params;
      token?: TokenName;
      signal: AbortSignal;
    },
  ): Promise<z.output<S>> {
    const { base, clock, fetch } = this.#options;
    const request = {
      method: "POST",
      headers: { authorization: `Bearer ${this.#options[token].reveal()}` },
      // Slack's methods that read do not accept JSON.
      body: toForm(params),
      redirect: "manual",
    } as const;
    const raw = await timeout(clock, CALL_MS_MAX, async (limit) => {
      try {
        const response = await fetch(
          new Request(`${base}/${method}`, { ...request, signal: limit }),
        );
        const { status, headers } = response;
        return { status, retryAfter: headers.get("retry-after"), text: await response.text() };
      } catch (error) {
        throw toLostError(error);
      }
    }, signal);
    signal.throwIfAborted();
    if (!raw) throw toLostError(new Error(`no answer within ${CALL_MS_MAX / 1000} s`));
    const answer = readAnswer(method, raw, { token, secret: this.#options[token] });
    const result = shape.safeParse(answer);
    if (result.success) return result.data;
    throw new SlackApiError("unclear", `${method}: the answer has an unknown form`);
  }
}

function toForm(params: Params): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    form.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  return form;
}

interface RawAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

/** The answer, if it says `ok`; otherwise throws what is known of the call. */
function readAnswer(
  method: string,
  { status, retryAfter, text }: RawAnswer,
  { token, secret }: { token: TokenName; secret: Secret },
): unknown {
  if (status === 429) {
    const seconds = /^\d{1,6}$/.test(retryAfter ?? "") ? Number(retryAfter) : undefined;
    throw new SlackApiError("rate_limited", `Slack limits the rate of ${method}`, {
      retry_after_ms: seconds === undefined ? undefined : seconds * 1000,
    });
  }
  const answer = Answer.safeParse(tryJson(text));
  if (status >= 500 || status >= 300 && status < 400) {
    throw new SlackApiError("unclear", `Slack's answer to ${method} is HTTP ${status}`);
  }
  if (!answer.success) {
    throw new SlackApiError(
      status >= 400 ? "bad_request" : "unclear",
      `The answer is not from Slack's API: HTTP ${status}; check SLACK_API_BASE`,
    );
  }
  if (answer.data.ok) return answer.data;
  const { error, needed } = answer.data;
  const toWord = (text: string) =>
    cleanLine(text).replaceAll(secret.reveal(), "[hidden]").slice(0, WORD_CHARS_MAX);
  const code = toWord(error);
  const message = describeRefusal(method, code, needed === undefined ? needed : toWord(needed));
  throw new SlackApiError(toErrorClass(code), message, { code, setting: token });
}
