/** The surface of a chat: sends inbox items to it, and the person's replies to the daemon. */

import * as z from "zod";
import { messageOf } from "kit/core/text.ts";
import { Backoff } from "../../cli/client/backoff.ts";
import { ConfigError } from "../../cli/client/daemon_client.ts";
import { DaemonConnection, type DaemonConnectionDeps } from "../../cli/client/daemon_connection.ts";
import { type ChatEvent, hasFailed } from "./chat.ts";
import { type ChatDeps, isDaemonUnavailable } from "./daemon_calls.ts";
import { ChatHandler } from "./handler.ts";
import { sendNotice } from "./notices.ts";
import { PushQueue } from "./push_queue.ts";
import { ShownItem } from "./rendering.ts";

const ItemFrame = z.object({
  type: z.literal("inbox_item"),
  delivery_id: z.string(),
  item: ShownItem,
  reply_to_ref: z.string().nullable().default(null),
});

const UpdateFrame = z.object({ type: z.literal("inbox_update"), item: ShownItem });

export interface ChatSurfaceDeps
  extends Omit<ChatDeps, "pushes">, Pick<DaemonConnectionDeps, "connect" | "url"> {
  readonly auth_token: string | undefined;
}

/** Handles one event of the chat. When it returns, the chat may forget the event. */
export type HandleEvent = (event: ChatEvent, signal: AbortSignal) => Promise<void>;

/**
 * Receives the events of the chat, in order, until the signal aborts. Throws an error that a retry
 * cannot fix.
 */
type Receive = (handle: HandleEvent, signal: AbortSignal) => Promise<void>;

const RETRY_MS_MAX = 30_000;
const DAEMON_UNAVAILABLE =
  "The daemon is not reachable. I will forward this as soon as it is back.";

export class ChatSurface {
  readonly #deps: ChatSurfaceDeps;
  readonly #connection: DaemonConnection;
  readonly #pushes: PushQueue;
  readonly #chatDeps: ChatDeps;
  readonly #handler: ChatHandler;
  readonly #stopped = new AbortController();
  /** Resolves when the buttons of all ended items so far are replaced. */
  #ending: Promise<void> = Promise.resolve();

  constructor(deps: ChatSurfaceDeps) {
    const { auth_token, chat, log } = deps;
    this.#deps = deps;
    this.#connection = new DaemonConnection({
      ...deps,
      connectFrame: () => ({
        display_name: chat.style.surface,
        backend: "sdk",
        capabilities: ["inbox_surface"],
        ...(auth_token !== undefined && { auth_token }),
      }),
      client: "surface",
      received: (frame) => {
        if (frame.type === "inbox_update") this.#onUpdate(frame);
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
    this.#chatDeps = { ...deps, pushes: this.#pushes, log };
    this.#handler = new ChatHandler(this.#chatDeps);
  }

  /** The ask of an item has ended. */
  #onUpdate(frame: unknown): void {
    const { data } = UpdateFrame.safeParse(frame);
    if (!data) return this.#deps.log("An inbox item has an unknown form and is not updated");
    this.#pushes.update(data.item);
    this.#ending = this.#ending.then(() => this.#handler.end(data.item, this.#stopped.signal))
      .catch((error) => this.#deps.log(messageOf(error)));
  }

  /** Runs until the signal aborts; throws errors that a retry cannot fix, such as a bad token. */
  async run(receive: Receive, signal: AbortSignal): Promise<void> {
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
    const receiving = receive((event, signal) => this.#handle(event, signal), anyStop);
    await Promise.all([runPart(this.#pushes.run(anyStop)), runPart(receiving)]);
    disconnect.abort(new Error("Stopped"));
    this.#stopped.abort(new Error("Stopped"));
    await connection;
    await this.#ending;
    if (errors.length > 0) throw this.#toUserError(errors[0]);
  }

  /** Handles one event; retries while the daemon is unavailable. */
  async #handle({ message, tap, edit }: ChatEvent, signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#deps, RETRY_MS_MAX);
    for (let firstTriedAt: number | undefined; !signal.aborted;) {
      const now = this.#deps.clock.now();
      try {
        if (message) await this.#handler.message(message, signal, firstTriedAt);
        if (tap) await this.#handler.tap(tap, signal);
        if (edit) await this.#handler.edit(edit, signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!isDaemonUnavailable(error)) throw error;
        if (firstTriedAt === undefined) {
          await sendNotice(this.#chatDeps, { text: DAEMON_UNAVAILABLE }, signal);
        }
        firstTriedAt ??= now;
        await backoff.pause(signal);
      }
    }
  }

  /** The error to show at the terminal. */
  #toUserError(error: unknown): unknown {
    if (!hasFailed(error, "unauthorized")) return error;
    const { surface, title } = this.#deps.chat.style;
    return new ConfigError(
      `surfaces.${surface}.${error.setting}: ${title} rejects it: ${error.message}`,
    );
  }
}
