/** The Telegram surface: a chat surface that polls the Bot API for what the person does. */

import { pause } from "kit/core/timeout.ts";
import { Backoff } from "../../cli/client/backoff.ts";
import { ChatError } from "../chat/chat.ts";
import { ChatSurface, type ChatSurfaceDeps, type HandleEvent } from "../chat/surface.ts";
import { type BotApi, POLL_SECONDS, type Update } from "./bot_api.ts";
import { TelegramChat } from "./telegram_chat.ts";

export interface SurfaceDeps extends Omit<ChatSurfaceDeps, "chat"> {
  readonly bot: BotApi;
}

const RETRY_MS_MAX = 30_000;
/** Number of update numbers that are remembered. Telegram repeats unconfirmed updates for a day. */
const HANDLED_MAX = 1_000;
/** Maximum number of files in an album, by Telegram's rule. */
const ALBUM_PARTS_MAX = 10;
/** Maximum pause between the parts of an album, and number of polls for the other parts. */
const ALBUM_PAUSE_MS = 1_000;
const ALBUM_POLLS_MAX = 5;

export class TelegramSurface {
  readonly #deps: SurfaceDeps;
  readonly #chat: TelegramChat;
  readonly #surface: ChatSurface;
  readonly #handled = new Set<number>();
  #pollError: string | undefined;

  constructor(deps: SurfaceDeps) {
    this.#deps = deps;
    this.#chat = new TelegramChat(deps);
    this.#surface = new ChatSurface({ ...deps, chat: this.#chat });
  }

  /** Runs until the signal aborts; throws errors that a retry cannot fix, such as a bad token. */
  run(signal: AbortSignal): Promise<void> {
    return this.#surface.run((handle, signal) => this.#pollUpdates(handle, signal), signal);
  }

  /** Polls for updates. Each poll confirms the updates that were handled before it. */
  async #pollUpdates(handle: HandleEvent, signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#deps, RETRY_MS_MAX);
    for (let offset: number | undefined; !signal.aborted;) {
      // After an error, the poll does not wait, in order to notice at once that the error is over.
      const seconds = this.#pollError === undefined ? POLL_SECONDS : 0;
      const updates = await this.#getUpdates({ offset, seconds }, signal);
      if (!updates) {
        await backoff.pause(signal);
        continue;
      }
      backoff.reset();
      // Telegram may restart its numbering after a week without updates.
      if (updates.length === 0) offset = undefined;
      for (const update of updates) {
        if (!this.#handled.has(update.update_id)) await this.#handle(handle, update, signal);
        if (signal.aborted) return;
        offset = update.update_id + 1;
      }
    }
  }

  /** Handles an update, and with it all parts of its album. */
  async #handle(handle: HandleEvent, update: Update, signal: AbortSignal): Promise<void> {
    const album = this.#chat.albumOf(update);
    const updates = album === undefined ? [update] : await this.#getAlbum(album, update, signal);
    await handle(this.#chat.toEvent(updates), signal);
    if (signal.aborted) return;
    for (const { update_id } of updates) this.#markHandled(update_id);
  }

  /**
   * All parts of an album, from its first one. Telegram does not say how many there are, so this
   * polls until no more come. It confirms no part, so that none is lost if the program ends.
   */
  async #getAlbum(album: string, first: Update, signal: AbortSignal): Promise<Update[]> {
    let parts = [first];
    for (let polls = 0; polls < ALBUM_POLLS_MAX && parts.length < ALBUM_PARTS_MAX; polls++) {
      await pause(this.#deps.clock, ALBUM_PAUSE_MS, signal);
      const updates = await this.#getUpdates({ offset: first.update_id, seconds: 0 }, signal);
      if (signal.aborted) break;
      if (!updates) continue;
      const found = updates.filter((update) =>
        this.#chat.albumOf(update) === album && !this.#handled.has(update.update_id)
      );
      if (polls > 0 && found.length <= parts.length) break;
      if (found.length > 0) parts = found;
    }
    return parts;
  }

  /** Polls once; undefined when Telegram did not answer, or when another process polls this bot. */
  async #getUpdates(
    poll: Parameters<BotApi["getUpdates"]>[0],
    signal: AbortSignal,
  ): Promise<Update[] | undefined> {
    try {
      const updates = await this.#deps.bot.getUpdates(poll, signal);
      if (this.#pollError !== undefined) this.#deps.log("Telegram answers again");
      this.#pollError = undefined;
      return updates;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof ChatError) || error.error_class === "unauthorized") throw error;
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

  #markHandled(update_id: number): void {
    this.#handled.add(update_id);
    const [oldest] = this.#handled;
    if (this.#handled.size > HANDLED_MAX && oldest !== undefined) this.#handled.delete(oldest);
  }
}
