/** The Slack surface: a chat surface that gets the person's acts over Socket Mode. */

import { pause } from "kit/core/timeout.ts";
import { CommandError } from "../../cli/client/failures.ts";
import { Backoff } from "../../cli/client/backoff.ts";
import { ChatError, hasFailed } from "../chat/chat.ts";
import { reportNotSent } from "../chat/notices.ts";
import { ChatSurface, type ChatSurfaceDeps, type HandleEvent } from "../chat/surface.ts";
import {
  type Envelope,
  toEditedMessage,
  toPress,
  toWrittenMessage,
  type WrittenMessage,
} from "./envelopes.ts";
import { type HandledFile, HandledMessages } from "./handled_messages.ts";
import { Incoming, toMs } from "./incoming.ts";
import { CLOCK_ERROR_MS, SlackChat, type SlackChatDeps } from "./slack_chat.ts";
import { type ConnectSlackSocket, SocketMode } from "./socket_mode.ts";
import { isLater, type Timestamp, timestampAt } from "./timestamps.ts";
import type { Clock } from "kit/core/clock.ts";
import type { SlackMessage, WebApi } from "./web_api.ts";

export interface SurfaceDeps
  extends Omit<ChatSurfaceDeps, "chat">, Omit<SlackChatDeps, "clock" | "ids"> {
  readonly connectSlack: ConnectSlackSocket;
  readonly handledFile: HandledFile;
}

const RETRY_MS_MAX = 30_000;
/** Maximum age of a reply that is still forwarded. */
const FORWARDED_AGE_MS_MAX = 24 * 3_600_000;
const TOO_OLD = "I was off when you wrote this, more than a day ago, so I did not forward it. " +
  "If it still matters, write it again.";

export class SlackSurface {
  readonly #deps: SurfaceDeps;
  readonly #chat: SlackChat;
  readonly #surface: ChatSurface;
  readonly #incoming: Incoming;
  #handled: HandledMessages | undefined;
  /** The end of the work that was accepted last. Events are handled in order. */
  #last: Promise<unknown> = Promise.resolve();
  #isCatchingUp = false;

  constructor(deps: SurfaceDeps) {
    this.#deps = deps;
    this.#chat = new SlackChat(deps);
    this.#surface = new ChatSurface({ ...deps, chat: this.#chat });
    this.#incoming = new Incoming({ ...deps, chat: this.#chat });
  }

  /** Runs until the signal aborts; throws errors that a retry cannot fix, such as a bad token. */
  run(signal: AbortSignal): Promise<void> {
    return this.#surface.run((handle, signal) => this.#receive(handle, signal), signal);
  }

  async #receive(handle: HandleEvent, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    let failure: { error: unknown } | undefined;
    const inOrder = (work: () => Promise<void>) =>
      this.#inOrder(async () => {
        try {
          await work();
        } catch (error) {
          if (!either.aborted) failure = { error };
          stop.abort(new Error("Stopped"));
          throw error;
        }
      });
    const connection = new SocketMode({
      ...this.#deps,
      connect: this.#deps.connectSlack,
      ready: () => {
        if (this.#isCatchingUp) return;
        this.#isCatchingUp = true;
        inOrder(() => this.#catchUp(handle, either)).catch(() => {}); // `failure` holds the error.
      },
      handle: (envelope) => inOrder(() => this.#handle(envelope, handle, either)),
    });
    try {
      await connection.run(either);
      if (failure) throw failure.error;
    } catch (error) {
      throw toUserError(error);
    } finally {
      stop.abort(new Error("Stopped"));
      await this.#last;
    }
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  async #handle(envelope: Envelope, handle: HandleEvent, signal: AbortSignal): Promise<void> {
    const message = toWrittenMessage(envelope), press = toPress(envelope);
    if (message) await this.#handleMessage(message, handle, signal);
    const edited = toEditedMessage(envelope);
    if (edited) {
      const edit = await this.#retry(async () => {
        const isReply = await this.#incoming.isFromPerson(edited, signal);
        return isReply ? await this.#incoming.toMessage(edited, signal) : undefined;
      }, signal);
      if (edit) await handle({ edit }, signal);
    }
    if (press) {
      const tap = await this.#retry(() => this.#incoming.toTap(press, signal), signal);
      if (tap) await handle({ tap }, signal);
    }
    signal.throwIfAborted();
  }

  /** Handles a message, unless that was done before. */
  async #handleMessage(
    message: WrittenMessage,
    handle: HandleEvent,
    signal: AbortSignal,
  ): Promise<void> {
    const incoming = await this.#retry(async () => {
      const isHandled = (await this.#getHandled(signal)).isRecent(message.ts);
      const isNew = !isHandled && await this.#incoming.isFromPerson(message, signal);
      return isNew ? await this.#incoming.toMessage(message, signal) : undefined;
    }, signal);
    if (!incoming) return;
    const age_ms = this.#deps.clock.now() - toMs(message.ts);
    if (age_ms > FORWARDED_AGE_MS_MAX) {
      const notice = { text: TOO_OLD, reply_to: incoming.ref };
      await reportNotSent({ ...this.#deps, chat: this.#chat }, notice, signal);
    } else await handle({ message: incoming }, signal);
    signal.throwIfAborted();
    (await this.#getHandled(signal)).add(message.ts);
  }

  /**
   * Handles messages that were written while no connection was open, or that another program got.
   */
  async #catchUp(handle: HandleEvent, signal: AbortSignal): Promise<void> {
    const { api, clock, user, log } = this.#deps;
    this.#isCatchingUp = false; // A connection from here on needs another catch-up.
    const missed = await this.#retry(async () => {
      const handled = await this.#getHandled(signal);
      const conversation = await this.#chat.getConversation(signal);
      return await findMissed({ api, clock, handled, user, ...conversation }, signal);
    }, signal);
    for (const message of missed.messages) await this.#handleMessage(message, handle, signal);
    if (!missed.isComplete) {
      log("Slack's history holds more than was read: write again what was not answered");
    }
    (await this.#getHandled(signal)).advance(missed.through);
  }

  async #getHandled(signal: AbortSignal): Promise<HandledMessages> {
    const { handledFile, clock } = this.#deps;
    const { channel } = await this.#chat.getConversation(signal);
    const start = timestampAt(clock.now() - CLOCK_ERROR_MS);
    return this.#handled ??= new HandledMessages(handledFile, channel, start);
  }

  /** Repeats a call without effects until it succeeds. Throws errors that a retry cannot fix. */
  async #retry<A>(work: () => Promise<A>, signal: AbortSignal): Promise<A> {
    const { clock, log } = this.#deps;
    const backoff = new Backoff(this.#deps, RETRY_MS_MAX);
    for (;;) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        if (!hasFailed(error, "network", "unclear", "rate_limited")) throw error;
        if (backoff.waitedMs === 0) log(`${error.message}; retrying`);
        if (error.retry_after_ms) await pause(clock, error.retry_after_ms, signal);
        await backoff.pause(signal);
      }
    }
  }
}

/** The error for the terminal. A refusal that does not concern a token ends the program, too. */
function toUserError(error: unknown): unknown {
  if (!(error instanceof ChatError) || error.error_class === "unauthorized") return error;
  return new CommandError(error.message);
}

/** Maximum age of the first message of a thread whose new replies are read. */
const THREAD_AGE_MS_MAX = 7 * 24 * 3_600_000;
const PAGE_MESSAGES = 200;
const PAGES_MAX = 5;
/** Maximum number of threads with new replies that are read at once, the newest first. */
const THREADS_MAX = 40;
/** Messages may appear in the history a little later than their timestamp says. */
const APPEAR_MS_MAX = 600_000;

interface MissedMessages {
  /** In the order in which they were written. */
  readonly messages: readonly WrittenMessage[];
  /** False if the history has more messages than were read. */
  readonly isComplete: boolean;
  /** Once these messages are handled, all messages up to this one are handled. */
  readonly through: Timestamp;
}

/** Finds the messages since `handled.since` that are not handled. */
async function findMissed(
  { api, clock, handled, channel, bot_user, user }: {
    api: Pick<WebApi, "history" | "replies">;
    clock: Clock;
    handled: HandledMessages;
    channel: string;
    /** The app's id. */
    bot_user: string;
    /** The person's id. */
    user: string;
  },
  signal: AbortSignal,
): Promise<MissedMessages> {
  const range = { limit: PAGE_MESSAGES, pages_max: PAGES_MAX };
  const oldest = timestampAt(clock.now() - THREAD_AGE_MS_MAX);
  const top = await api.history(channel, { ...range, oldest }, signal);
  const isNew = ({ user, latest_reply }: SlackMessage) =>
    user === bot_user && latest_reply !== undefined && isLater(latest_reply, handled.since);
  const threads = top.messages.filter(isNew);
  const found = [...top.messages];
  let isComplete = top.complete && threads.length <= THREADS_MAX;
  for (const { ts } of threads.slice(0, THREADS_MAX)) {
    const replies = await api.replies(channel, ts, { ...range, oldest: handled.since }, signal);
    found.push(...replies.messages.filter((message) => message.ts !== ts));
    isComplete &&= replies.complete;
  }
  const inOrder = found.sort((a, b) => isLater(a.ts, b.ts) ? 1 : -1);
  const newest = inOrder.at(-1)?.ts;
  const through = newest === undefined
    ? handled.since
    : timestampAt(Math.max(0, toMs(newest) - APPEAR_MS_MAX));
  const messages = inOrder.filter((message) => message.user === user && !handled.has(message.ts));
  return { messages: messages.map((message) => ({ ...message, channel })), isComplete, through };
}
