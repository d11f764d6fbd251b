/** The Telegram surface: sends inbox items to the chat, and the person's replies to the daemon. */

import * as z from "zod";
import { pause } from "kit/core/timeout.ts";
import { ConfigError } from "../../client/daemon_client.ts";
import { type BotApi, BotApiError, POLL_SECONDS, type Update } from "./bot_api.ts";
import { Backoff, type BackoffDeps } from "../../client/backoff.ts";
import { DaemonConnection, type DaemonConnectionDeps } from "../../client/daemon_connection.ts";
import { type ChatDeps, isDaemonUnavailable } from "./chat_calls.ts";
import { ChatHandler } from "./chat_handler.ts";
import { PushQueue } from "./push_queue.ts";
import { ShownItem, SURFACE } from "./rendering.ts";

const ItemFrame = z.object({
  type: z.literal("inbox_item"),
  delivery_id: z.string(),
  item: ShownItem,
  reply_to_ref: z.string().nullable().default(null),
});

export interface SurfaceDeps extends BackoffDeps, Pick<DaemonConnectionDeps, "connect" | "url"> {
  readonly bot: BotApi;
  readonly call: ChatDeps["call"];
  readonly auth_token: string | undefined;
  log(text: string): void;
}

const RETRY_MS_MAX = 30_000;
/**
 * How many update numbers are remembered, because Telegram repeats unconfirmed updates for a day.
 */
const HANDLED_MAX = 1_000;
const DAEMON_UNAVAILABLE =
  "The daemon is not reachable. I will forward this as soon as it is back.";

export class TelegramSurface {
  readonly #deps: SurfaceDeps;
  readonly #connection: DaemonConnection;
  readonly #pushes: PushQueue;
  readonly #chatHandler: ChatHandler;
  readonly #handled = new Set<number>();
  #pollError: string | undefined;

  constructor(deps: SurfaceDeps) {
    const { auth_token, log } = deps;
    this.#deps = deps;
    this.#connection = new DaemonConnection({
      ...deps,
      connectFrame: () => ({
        display_name: SURFACE,
        backend: "sdk",
        capabilities: ["inbox_surface"],
        ...(auth_token !== undefined && { auth_token }),
      }),
      client: "surface",
      received: (frame) => {
        if (frame.type !== "inbox_item") return; // Other frames are ignored.
        const item = ItemFrame.safeParse(frame);
        if (item.success) this.#pushes.add(item.data);
        else log("An inbox item has an unknown form and is not shown");
      },
    });
    this.#pushes = new PushQueue({
      ...deps,
      receipt: (receipt) => this.#connection.send(receipt),
      reoffer: () => this.#connection.reconnect(),
    });
    this.#chatHandler = new ChatHandler({ ...deps, pushes: this.#pushes, log });
  }

  /** Runs until the signal aborts; throws errors that a retry cannot fix, such as a bad token. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController(), disconnect = new AbortController();
    const anyStop = AbortSignal.any([signal, stop.signal]);
    const errors: unknown[] = [];
    const runPart = async (running: Promise<void>) => {
      try {
        await running;
      } catch (error) {
        if (!anyStop.aborted) errors.push(error);
        stop.abort(new Error("Stopped"));
      }
    };
    const connection = runPart(this.#connection.run(disconnect.signal));
    await Promise.all([runPart(this.#pushes.run(anyStop)), runPart(this.#pollUpdates(anyStop))]);
    disconnect.abort(new Error("Stopped"));
    await connection;
    if (errors.length > 0) throw toUserError(errors[0]);
  }

  /** Polls for updates. Each poll confirms the updates that were handled before it. */
  async #pollUpdates(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#deps, RETRY_MS_MAX);
    for (let offset: number | undefined; !signal.aborted;) {
      const updates = await this.#getUpdates(offset, signal);
      if (!updates) {
        await backoff.pause(signal);
        continue;
      }
      backoff.reset();
      // Telegram may restart its numbering after a week without updates.
      if (updates.length === 0) offset = undefined;
      for (const update of updates) {
        if (!this.#handled.has(update.update_id)) await this.#handleUpdate(update, signal);
        if (signal.aborted) return;
        this.#markHandled(update.update_id);
        offset = update.update_id + 1;
      }
    }
  }

  /** Polls once; undefined when Telegram did not answer, or when another process polls this bot. */
  async #getUpdates(
    offset: number | undefined,
    signal: AbortSignal,
  ): Promise<Update[] | undefined> {
    try {
      // After an error, the poll does not wait, in order to notice at once that the error is over.
      const seconds = this.#pollError === undefined ? POLL_SECONDS : 0;
      const updates = await this.#deps.bot.getUpdates({ offset, seconds }, signal);
      if (this.#pollError !== undefined) this.#deps.log("Telegram answers again");
      this.#pollError = undefined;
      return updates;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof BotApiError) || error.error_class === "unauthorized") throw error;
      const prefix = error.error_class === "conflict" ? "Another process polls this bot: " : "";
      if (this.#pollError !== error.message) {
        this.#deps.log(`${prefix}${error.message}; retrying`);
      }
      this.#pollError = error.message;
      const { retry_after_ms } = error;
      if (retry_after_ms) await pause(this.#deps.clock, retry_after_ms, signal);
      return undefined;
    }
  }

  /** Handles one update; retries while the daemon is unavailable. */
  async #handleUpdate(update: Update, signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#deps, RETRY_MS_MAX);
    const { message, callback_query } = update;
    for (let firstTriedAt: number | undefined; !signal.aborted;) {
      const now = this.#deps.clock.now();
      try {
        if (message) await this.#chatHandler.message(message, signal, firstTriedAt);
        if (callback_query) await this.#chatHandler.tap(callback_query, signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!isDaemonUnavailable(error)) throw error;
        if (firstTriedAt === undefined) {
          await this.#chatHandler.sendText(DAEMON_UNAVAILABLE, signal);
        }
        firstTriedAt ??= now;
        await backoff.pause(signal);
      }
    }
  }

  #markHandled(update_id: number): void {
    this.#handled.add(update_id);
    const [oldest] = this.#handled;
    if (this.#handled.size > HANDLED_MAX && oldest !== undefined) this.#handled.delete(oldest);
  }
}

/** The error to show at the terminal. */
function toUserError(error: unknown): unknown {
  if (error instanceof BotApiError && error.error_class === "unauthorized") {
    return new ConfigError(`surfaces.telegram.token: Telegram rejects it: ${error.message}`);
  }
  return error;
}
