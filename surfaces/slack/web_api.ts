/** A client of Slack's Web API; its errors never contain a token. */

import * as z from "zod";
import { unlessRejected } from "../../cli/client/failures.ts";
import {
  ApiCaller,
  type ApiOptions,
  type Block,
  type Params,
  type Place,
  SlackApiError,
} from "./api_caller.ts";
import { FileApi, SlackFile } from "./file_api.ts";
import { Timestamp } from "./timestamps.ts";

/** A message in a channel, of an event or of the channel's history. */
export const SlackMessage = z.object({
  ts: Timestamp,
  user: z.string().optional(),
  bot_id: z.string().optional(),
  subtype: z.string().optional(),
  text: z.string().default(""),
  /** The timestamp of the thread's first message. */
  thread_ts: Timestamp.optional(),
  /** The author of the first message of the thread. */
  parent_user_id: z.string().optional(),
  /** Of the first message of a thread. */
  latest_reply: Timestamp.optional(),
  blocks: z.array(z.looseObject({ block_id: z.string().optional() })).default([]),
  files: z.array(SlackFile).default([]),
});
export type SlackMessage = z.output<typeof SlackMessage>;

const Page = z.object({
  messages: z.array(z.unknown()).transform((all) =>
    all.flatMap((entry) => {
      const message = SlackMessage.safeParse(entry);
      return message.success ? [message.data] : []; // Notices of a form that is unknown here.
    })
  ),
  response_metadata: z.object({ next_cursor: z.string().default("") }).optional(),
});
type Page = z.output<typeof Page>;

interface OutgoingMessage extends Place {
  /** The text of notifications, in Slack's escaped form. */
  readonly text: string;
  readonly blocks: readonly Block[];
}

interface Range {
  readonly oldest?: Timestamp;
  readonly latest?: Timestamp;
  readonly limit: number;
  /** Maximum number of pages, each of at most `limit` messages. */
  readonly pages_max: number;
}

export class WebApi {
  readonly #caller: ApiCaller;
  readonly files: FileApi;

  constructor(options: ApiOptions) {
    this.#caller = new ApiCaller(options);
    this.files = new FileApi(this.#caller);
  }

  /** The app's own user. */
  async authTest(signal: AbortSignal): Promise<{ user_id: string }> {
    const shape = z.object({ user_id: z.string() });
    return await this.#caller.call("auth.test", shape, { signal });
  }

  /** The address of a new connection of Socket Mode. It is valid for one connection. */
  async openConnection(signal: AbortSignal): Promise<string> {
    // Only a server on this machine may send us to an address without encryption.
    const protocol = this.#caller.options.base.startsWith("https:") ? /^wss$/ : /^wss?$/;
    const shape = z.object({ url: z.url({ protocol }) });
    const options = { signal, token: "app_token" } as const;
    return (await this.#caller.call("apps.connections.open", shape, options)).url;
  }

  /** The channel of direct messages with a user. */
  async openDirectMessage(user: string, signal: AbortSignal): Promise<string> {
    const shape = z.object({ channel: z.object({ id: z.string() }) });
    const params = { users: user };
    return (await this.#caller.call("conversations.open", shape, { params, signal })).channel.id;
  }

  /** Sends a message, at most one a second; returns its timestamp. */
  async postMessage(message: OutgoingMessage, signal: AbortSignal): Promise<Timestamp> {
    await this.#caller.postTurn(signal);
    // Otherwise Slack would fetch links in agents' texts to show a preview.
    const params = { ...message, unfurl_links: false, unfurl_media: false };
    const shape = z.object({ ts: Timestamp });
    return (await this.#caller.call("chat.postMessage", shape, { params, signal })).ts;
  }

  /** Replaces the text and the blocks of a message. */
  async updateMessage(
    message: Omit<OutgoingMessage, "thread_ts"> & { ts: Timestamp },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#caller.call("chat.update", z.unknown(), { params: { ...message }, signal });
  }

  /** Shows a text to one user only, until the user's program is restarted. */
  async postEphemeral(
    message: Place & { user: string; text: string },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#caller.call("chat.postEphemeral", z.unknown(), { params: { ...message }, signal });
  }

  async addReaction(
    params: { channel: string; timestamp: Timestamp; name: string },
    signal: AbortSignal,
  ): Promise<void> {
    const isDone = (error: unknown) =>
      error instanceof SlackApiError && error.code === "already_reacted";
    const react = () => this.#caller.call("reactions.add", z.unknown(), { params, signal });
    await unlessRejected(isDone, react);
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
  ): Promise<{ messages: SlackMessage[]; complete: boolean }> {
    const messages: SlackMessage[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < pages_max; page++) {
      const params = { ...where, ...range, cursor };
      const answer: Page = await this.#caller.call(method, Page, { params, signal });
      messages.push(...answer.messages);
      cursor = answer.response_metadata?.next_cursor;
      if (!cursor) return { messages, complete: true };
    }
    return { messages, complete: false };
  }
}
