/** The person's acts in Slack, as events of the chat surface. Other people get one notice. */

import {
  ChatError,
  type IncomingFile,
  type IncomingMessage,
  type IncomingTap,
} from "../chat/chat.ts";
import type { Press, WrittenMessage } from "./envelopes.ts";
import type { SlackChat } from "./slack_chat.ts";
import type { SlackFile } from "./file_api.ts";
import { type Timestamp, toRef } from "./timestamps.ts";
import type { WebApi } from "./web_api.ts";

interface IncomingDeps {
  readonly chat: SlackChat;
  readonly api: WebApi;
  /** The person's id in Slack. */
  readonly user: string;
  log(text: string): void;
}

/** Messages with another subtype are notices of Slack, such as of an edit or of a new member. */
const WRITTEN = [undefined, "file_share", "thread_broadcast"];
const STRANGERS_MAX = 1_000;
const NOT_YOURS = "Only the owner of this inbox can answer here. What you write is not forwarded.";

export class Incoming {
  readonly #deps: IncomingDeps;
  /** Strangers who got the notice. */
  readonly #notified = new Set<string>();

  constructor(deps: IncomingDeps) {
    this.#deps = deps;
  }

  /** True if the person wrote a message in the conversation. Sends strangers one notice. */
  async isFromPerson(message: WrittenMessage, signal: AbortSignal): Promise<boolean> {
    const { user, subtype, bot_id, channel } = message;
    const conversation = await this.#deps.chat.getConversation(signal);
    // A message that a program writes in the person's name is not the person's.
    if (!WRITTEN.includes(subtype) || bot_id !== undefined || user === undefined) return false;
    if (user === conversation.bot_user) return false;
    if (channel === conversation.channel && user === this.#deps.user) return true;
    // In a channel, others talk to each other: only a reply to the app is meant for it.
    const isForApp = message.parent_user_id === conversation.bot_user || channel.startsWith("D");
    if (isForApp) await this.#ignore(user, channel, message, signal);
    return false;
  }

  async toMessage(message: WrittenMessage, signal: AbortSignal): Promise<IncomingMessage> {
    const { ts, thread_ts, channel, parent_user_id } = message;
    const { chat } = this.#deps;
    const { bot_user } = await chat.getConversation(signal);
    chat.recordThread(ts, thread_ts);
    const isElsewhere = parent_user_id !== undefined && parent_user_id !== bot_user;
    const answered = thread_ts === undefined || thread_ts === ts || isElsewhere
      ? undefined
      : await chat.findItem({ ts, thread_ts }, signal);
    const text = readSlackText(message.text);
    const files = message.files.filter((file) => file.url_private_download !== undefined);
    return {
      ref: toRef(ts),
      text: text.trim() === "" ? undefined : text,
      written_at: toMs(ts),
      reply_to: answered?.ref,
      item_id: answered?.item_id,
      isForBot: channel.startsWith("D"),
      files: files.map((file) => this.#toFile(file)),
      hasOther: files.length < message.files.length,
    };
  }

  #toFile(file: SlackFile): IncomingFile {
    const { id, name, mimetype, size } = file;
    return {
      key: id,
      filename: name ?? id,
      content_type: mimetype ?? "application/octet-stream",
      size,
      load: (bytes_max, signal) => this.#deps.api.files.download(file, bytes_max, signal),
    };
  }

  /** A press of the person in the conversation; undefined for strangers, who get one notice. */
  async toTap(press: Press, signal: AbortSignal): Promise<IncomingTap | undefined> {
    const { chat, user } = this.#deps;
    const { channel } = await chat.getConversation(signal);
    if (press.channel.id !== channel || press.user.id !== user) {
      await this.#ignore(press.user.id, press.channel.id, press.message, signal);
      return undefined;
    }
    const id = chat.recordPress(press);
    const { message: { ts }, actions: [action] } = press;
    return { id, data: action?.value ?? "", ref: toRef(ts) };
  }

  /** Logs each stranger once, without the stranger's text, and sends one notice. */
  async #ignore(
    user: string,
    channel: string,
    { thread_ts }: { thread_ts?: Timestamp | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { chat, log } = this.#deps;
    if (this.#notified.has(user) || this.#notified.size >= STRANGERS_MAX) return;
    this.#notified.add(user);
    log(
      user === this.#deps.user
        ? `Ignored a message in channel "${channel}": it is not the one of your inbox`
        : `Ignored what "${user}" does in Slack: it is not surfaces.slack.user`,
    );
    if (user === this.#deps.user) return;
    try {
      await chat.showTo(user, { channel, thread_ts }, NOT_YOURS, signal);
    } catch (error) {
      if (!(error instanceof ChatError) || error.error_class === "unauthorized") throw error;
      log(`Slack: ${error.message}`);
    }
  }
}

export function toMs(ts: Timestamp): number {
  return Math.trunc(Number(ts) * 1000);
}

/**
 * The text that a person typed. Slack writes links as `<address|label>`, mentions as `<@U1>`, and
 * escapes `&`, `<` and `>`.
 */
export function readSlackText(text: string): string {
  return text.replaceAll(/<([^<>]*)>/g, (_, inner: string) => readReference(inner))
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function readReference(inner: string): string {
  const bar = inner.indexOf("|");
  const target = bar < 0 ? inner : inner.slice(0, bar);
  const label = bar < 0 ? "" : inner.slice(bar + 1);
  switch (target[0]) {
    case "@": // A person.
      return label ? `@${label.replace(/^@/, "")}` : target;
    case "#": // A channel.
      return label ? `#${label}` : target;
    case "!": // A mention of a group, or a date with its fallback text.
      return label || `@${target.slice(1)}`;
    default:
      return readLink(target, label);
  }
}

function readLink(address: string, label: string): string {
  const isTyped = label === "" || address === label ||
    address.replace(/^\w+:(\/\/)?/, "") === label;
  if (!isTyped) return `${label} (${address})`;
  return label || address;
}
