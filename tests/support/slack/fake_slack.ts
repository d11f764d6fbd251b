/** A fake of Slack: the Web API, which validates calls, and Socket Mode. Fails on request. */

import type { Clock } from "kit/core/clock.ts";
import { type Blocks, type Method, METHODS, type Params } from "./api_shapes.ts";
import { FakeFiles } from "./fake_files.ts";
import { FakeConnections } from "./fake_connections.ts";

export const APP_TOKEN = "xapp-1-A1-topsecret";
export const BOT_TOKEN = "xoxb-1-topsecret";
export const BOT = "UBOT00001";
export const SAM = "USAM00001";
/** The channel of direct messages between the person and the app. */
export const DIRECT = "D00000001";

/** A message in Slack. */
export interface SlackMessage {
  readonly ts: string;
  readonly channel: string;
  readonly user: string;
  readonly thread_ts?: string | undefined;
  readonly more: Readonly<Record<string, unknown>>;
  readonly reactions: string[];
  text: string;
  blocks: Blocks;
}

/** The outcome of one call: an answer, or the loss of the call or of its answer. */
export type CallOutcome =
  | "ok"
  | "unreached"
  | "lost"
  | "done but lost"
  | { error: string; [field: string]: unknown }
  | { status: number; retry_after?: number };

class Refusal extends Error {
  readonly body: Record<string, unknown>;

  constructor(error: string, more: Record<string, unknown> = {}) {
    super(error);
    this.body = { ok: false, error, ...more };
  }
}

export class FakeSlack {
  readonly messages: SlackMessage[] = [];
  readonly ephemerals: Params<"chat.postEphemeral">[] = [];
  readonly calls: { method: string; params: Record<string, string> }[] = [];
  readonly connections: FakeConnections;
  readonly files = new FakeFiles(BOT_TOKEN);
  readonly #clock: Clock;
  readonly #outcomes = new Map<string, CallOutcome[]>();
  #count = 0;
  #hold: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.connections = new FakeConnections();
  }

  /** The app's own messages. */
  get sent(): SlackMessage[] {
    return this.messages.filter(({ user }) => user === BOT);
  }

  /** The texts of the app's messages, as their blocks show them. */
  get shown(): string[] {
    return this.sent.map(({ blocks }) => textOf(blocks));
  }

  /** Sets the outcomes of the next calls of a method. */
  failNext(method: Method, ...outcomes: CallOutcome[]): void {
    this.#outcomes.set(method, [...this.#outcomes.get(method) ?? [], ...outcomes]);
  }

  /** Holds the answers to posts until released. */
  holdPosts(): { release(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#hold = promise;
    return { release: resolve };
  }

  count(method: Method): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  /** Adds a message, and sends its event; returns the message's timestamp. */
  write(text: string, more: Partial<SlackMessage> & Record<string, unknown> = {}): string {
    const message = this.addMessage(text, more);
    this.connections.send("events_api", this.eventOf(message));
    return message.ts;
  }

  /** Adds a message of which no event arrives. */
  addMessage(
    text: string,
    { user = SAM, channel = DIRECT, thread_ts, ...more }: Partial<SlackMessage> = {},
  ): SlackMessage {
    const message = {
      ts: this.#nextTimestamp(),
      channel,
      user,
      thread_ts,
      more,
      text,
      blocks: [],
      reactions: [],
    };
    this.messages.push(message);
    return message;
  }

  /** The payload of a message's event. */
  eventOf(message: SlackMessage): Record<string, unknown> {
    const parent_user_id = this.messages.find(({ ts }) => ts === message.thread_ts)?.user;
    const event = {
      channel: message.channel,
      ...toJson(message),
      ...(parent_user_id && { parent_user_id }),
    };
    return { type: "event_callback", event_id: `Ev${message.ts.replace(".", "")}`, event };
  }

  /** Adds a reply by the person in the thread of a message. */
  reply(thread_ts: string, text: string, more: Record<string, unknown> = {}): string {
    return this.write(text, { thread_ts, ...more });
  }

  /** Presses the button with this label under a message. */
  press(ts: string, label: string, { user = SAM }: { user?: string } = {}): void {
    const message = this.mustFind(ts);
    const buttons = message.blocks.flatMap((block) =>
      block.type === "actions" ? block.elements : []
    );
    const button = buttons.find(({ text }) => text.text === label);
    if (!button) throw new Error(`No button "${label}" under ${ts}`);
    this.connections.send("interactive", {
      type: "block_actions",
      user: { id: user, username: "sam" },
      channel: { id: message.channel },
      message: toJson(message),
      actions: [{ ...button, action_ts: this.#nextTimestamp() }],
    });
  }

  mustFind(ts: string): SlackMessage {
    const message = this.messages.find((stored) => stored.ts === ts);
    if (!message) throw new Refusal("message_not_found");
    return message;
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const transfer = await this.files.answer(request);
    if (transfer) return transfer;
    const method = pathname.replace(/^\/api\//, "");
    const params = Object.fromEntries(new URLSearchParams(await request.text()));
    this.calls.push({ method, params });
    if (method === "chat.postMessage" && this.#hold) {
      await untilAborted(this.#hold, request.signal);
    }
    const outcome = this.#outcomes.get(method)?.shift();
    if (outcome === "unreached") throw fetchFailed(request, "client error (Connect): dns error");
    if (outcome === "lost") throw fetchFailed(request, "client error (SendRequest): closed");
    if (typeof outcome === "object" && "status" in outcome) {
      const { status, retry_after } = outcome as { status: number; retry_after?: number };
      const headers = retry_after === undefined ? {} : { "retry-after": String(retry_after) };
      return new Response("A page", { status, headers });
    }
    try {
      if (typeof outcome === "object") throw new Refusal(String(outcome.error), outcome);
      const token = method === "apps.connections.open" ? APP_TOKEN : BOT_TOKEN;
      if (request.headers.get("authorization") !== `Bearer ${token}`) {
        throw new Refusal("invalid_auth");
      }
      const answer = this.#answer(method as Method, params, request);
      if (outcome === "done but lost") {
        throw fetchFailed(request, "client error (SendRequest): connection reset");
      }
      return Response.json({ ok: true, ...answer });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return Response.json(error.body);
    }
  };

  #answer(method: Method, params: unknown, request: Request): Record<string, unknown> {
    switch (method) {
      case "auth.test":
        return { user_id: BOT, team: "Mesh" };
      case "apps.connections.open":
        return { url: this.connections.newAddress(request.url) };
      case "conversations.open":
        return { channel: { id: DIRECT } };
      case "conversations.history":
        return history(this.messages, parseParams(method, params));
      case "conversations.replies": {
        const range = parseParams(method, params);
        return replies(this.messages, this.mustFind(range.ts), range);
      }
      case "chat.postMessage":
        return this.#post(parseParams(method, params));
      case "chat.update": {
        const { ts, text, blocks } = parseParams(method, params);
        Object.assign(this.mustFind(ts), { text, blocks });
        return { ts };
      }
      case "chat.postEphemeral":
        this.ephemerals.push(parseParams(method, params));
        return {};
      case "files.getUploadURLExternal":
        return this.files.begin(parseParams(method, params), request.url);
      case "files.completeUploadExternal":
        return this.#share(parseParams(method, params));
      case "files.info": {
        const { file } = parseParams(method, params);
        return { file: { id: file, shares: { private: sharesOf(this.messages, file) } } };
      }
      case "reactions.add": {
        const { timestamp, name } = parseParams(method, params);
        const { reactions } = this.mustFind(timestamp);
        if (reactions.includes(name)) throw new Refusal("already_reacted");
        reactions.push(name);
        return {};
      }
      default:
        throw new Refusal("unknown_method");
    }
  }

  #post({ channel, text, blocks, thread_ts }: Params<"chat.postMessage">) {
    const root = thread_ts && this.messages.find(({ ts }) => ts === thread_ts);
    if (root && root.thread_ts) throw new Error("A thread must be named by its first message");
    const message = this.addMessage(
      text,
      { user: BOT, channel, thread_ts, bot_id: "B1" } as object,
    );
    message.blocks = blocks;
    return { channel, ts: message.ts };
  }

  #share({ files: [file], channel_id, thread_ts, blocks }: Params<"files.completeUploadExternal">) {
    const bytes = file && this.files.uploaded.get(file.id);
    if (!file || !bytes) throw new Refusal("file_not_found");
    const more = { bot_id: "B1", subtype: "file_share", files: [{ id: file.id }] };
    const place = { user: BOT, channel: channel_id, thread_ts };
    const message = this.addMessage("", { ...place, ...more } as object);
    message.blocks = blocks;
    return { files: [file] };
  }

  #nextTimestamp(): string {
    const seconds = Math.floor(this.#clock.now() / 1000);
    return `${seconds}.${String(++this.#count).padStart(6, "0")}`;
  }
}

/** The messages that show a file, by their channel. */
function sharesOf(messages: SlackMessage[], id: string): Record<string, { ts: string }[]> {
  const shown = messages.filter(({ more }) => JSON.stringify(more).includes(`"${id}"`));
  return Object.fromEntries(shown.map(({ channel, ts }) => [channel, [{ ts }]]));
}

function history(
  messages: SlackMessage[],
  { channel, ...range }: Params<"conversations.history">,
) {
  const all = messages.filter((message) => message.channel === channel && !message.thread_ts).map(
    (message) => {
      const latest_reply = messages.findLast(({ thread_ts }) => thread_ts === message.ts)?.ts;
      return { ...toJson(message), ...(latest_reply && { latest_reply, thread_ts: message.ts }) };
    },
  );
  return page(all.toReversed(), range);
}

/** The messages of a thread; of a reply, that reply alone. */
function replies(
  messages: SlackMessage[],
  { thread_ts }: SlackMessage,
  { channel, ts, ...range }: Params<"conversations.replies">,
) {
  const all = messages.filter((message) =>
    message.channel === channel && (message.ts === ts || !thread_ts && message.thread_ts === ts)
  );
  return page(all.map(toJson), range);
}

type Range = Pick<Params<"conversations.history">, "oldest" | "latest" | "limit" | "cursor">;

/** Slack leaves out both ends of a range. */
function page(
  messages: (Record<string, unknown> & { ts: string })[],
  { oldest = "0", latest = "9", limit, cursor = "0" }: Range,
) {
  const within = messages.filter(({ ts }) => ts > oldest && ts < latest);
  const end = Number(cursor) + limit;
  const next_cursor = end < within.length ? String(end) : "";
  return { messages: within.slice(Number(cursor), end), response_metadata: { next_cursor } };
}

function toJson({ ts, user, text, blocks, thread_ts, more }: SlackMessage) {
  return { type: "message", ts, user, text, blocks, ...(thread_ts && { thread_ts }), ...more };
}

/** The visible text of a message's blocks. */
export function textOf(blocks: Blocks): string {
  return blocks.flatMap((block) => {
    if (block.type === "actions") {
      return [`[${block.elements.map(({ text }) => text.text).join("|")}]`];
    }
    return block.elements.map(({ elements }) =>
      elements.map((element) => element.type === "text" ? element.text : `@${element.user_id}`)
        .join("")
    );
  }).join("\n");
}

function parseParams<M extends Method>(method: M, params: unknown): Params<M> {
  const result = METHODS[method].safeParse(params);
  if (!result.success) throw new Refusal("invalid_arguments", { detail: result.error.message });
  return result.data as Params<M>;
}

/** Waits, unless the signal aborts first. */
async function untilAborted(waiting: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => aborted.reject(signal.reason));
  await Promise.race([waiting, aborted.promise]);
}

/** The runtime's error, which contains the address. */
function fetchFailed({ url }: Request, why: string): TypeError {
  const cause = new Error(`error sending request for url (${url}): ${why}`);
  return new TypeError("fetch failed", { cause });
}
