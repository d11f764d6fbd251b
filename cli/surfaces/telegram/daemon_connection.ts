/** The surface's connection to the daemon (contract 4): made again for ever, pings answered. */

import * as z from "zod";
import { pause } from "kit/core/timeout.ts";
import { tryJson } from "kit/core/text.ts";
import { CommandError } from "../../client/failures.ts";
import { Backoff, type BackoffDeps } from "./backoff.ts";
import { ShownItem } from "./rendering.ts";

/** One connection, as little of it as is needed here. */
export interface Socket {
  send(text: string): void;
  close(): void;
}

export interface SocketListener {
  opened(): void;
  received(text: string): void;
  /** Once, also when the connection was never made. */
  closed(code: number, reason: string): void;
}

export type Connect = (url: URL, listener: SocketListener) => Socket;

const Frame = z.discriminatedUnion("type", [
  z.object({ type: z.literal("connected"), display_name: z.string() }),
  z.object({
    type: z.literal("inbox_item"),
    delivery_id: z.string(),
    item: ShownItem,
    reply_to_ref: z.string().nullable().default(null),
  }),
  z.object({ type: z.literal("ping"), ping_id: z.string() }),
  z.object({ type: z.literal("error"), error: z.string(), detail: z.string() }),
]);
type Frame = z.output<typeof Frame>;
const TypedFrame = z.object({ type: z.string() });
export type ItemFrame = Extract<Frame, { type: "inbox_item" }>;

/** The daemon pings every 20 s; one that says nothing for so long is gone. */
const SILENCE_MS_MAX = 70_000;
const RETRY_MS_MAX = 15_000;
/** How long the other end may take to close; after that the line is given up. */
const CLOSE_MS_MAX = 1_000;
const ABNORMAL_CLOSURE = 1006;

/** Closes after which another attempt would end the same way (contract 4). */
const FATAL_CLOSE_CODES: Readonly<Record<number, string>> = {
  4001: "The daemon refuses our token: see daemon.auth_token",
  4002: "The daemon refuses our greeting",
  4004: "The daemon has retired this surface",
  4009: "Another surface of this name has connected; one is enough",
};

export interface DaemonConnectionDeps extends BackoffDeps {
  readonly connect: Connect;
  /** Where the daemon is now: after a restart it may be elsewhere. Undefined where none is. */
  url(): string | undefined;
  /** The first frame. */
  connectFrame(): Record<string, unknown>;
  item(frame: ItemFrame): void;
  log(text: string): void;
}

export class DaemonConnection {
  readonly #deps: DaemonConnectionDeps;
  readonly #backoff: Backoff;
  #socket: Socket | undefined;
  #unavailable = false;
  /** What the daemon complained of last. */
  #daemonError: string | undefined;

  constructor(deps: DaemonConnectionDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(deps, RETRY_MS_MAX);
  }

  /** Writes a frame; nothing happens while the daemon is away. */
  send(frame: object): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  /** Hangs up, and connects again: the daemon then offers what was not shown. */
  reconnect(): void {
    this.#socket?.close();
  }

  /** Connects, and connects again, until the signal aborts or the daemon will not have us. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const code = await this.#connectOnce(signal);
      if (signal.aborted) return;
      const final = FATAL_CLOSE_CODES[code];
      if (final) {
        throw new CommandError(this.#daemonError ? `${final}: ${this.#daemonError}` : final);
      }
      if (!this.#unavailable) {
        this.#deps.log(this.#daemonError ?? "The daemon is away; waiting for it");
      }
      this.#unavailable = true;
      await this.#backoff.pause(signal);
    }
  }

  /** One connection from its beginning to its end; the code it closed with. */
  async #connectOnce(signal: AbortSignal): Promise<number> {
    const { connect, url, connectFrame } = this.#deps;
    const { promise: closed, resolve } = Promise.withResolvers<number>();
    const finished = new AbortController();
    let received = false;
    const daemonUrl = url();
    if (daemonUrl === undefined) return ABNORMAL_CLOSURE;
    const socketUrl = new URL("/ws", daemonUrl.replace(/^http/, "ws"));
    const socket = connect(socketUrl, {
      opened: () => socket.send(JSON.stringify({ type: "connect", ...connectFrame() })),
      received: (text) => {
        received = true;
        if (!finished.signal.aborted) this.#handleFrame(text, socket);
      },
      closed: resolve,
    });
    const disconnect = () => {
      // What was written last goes out before the line is closed.
      socket.close();
      pause(this.#deps.clock, CLOSE_MS_MAX, finished.signal).then(() => resolve(ABNORMAL_CLOSURE));
    };
    signal.addEventListener("abort", disconnect, { signal: finished.signal });
    const monitor = this.#monitor(
      finished.signal,
      () => received ? (received = false) : disconnect(),
    );
    try {
      return await closed;
    } finally {
      finished.abort();
      this.#socket = undefined;
      await monitor;
    }
  }

  async #monitor(finished: AbortSignal, check: () => void): Promise<void> {
    while (!finished.aborted) {
      await pause(this.#deps.clock, SILENCE_MS_MAX / 2, finished);
      if (!finished.aborted) check();
    }
  }

  #handleFrame(text: string, socket: Socket): void {
    const { log, item } = this.#deps;
    const json = tryJson(text);
    const frame = Frame.safeParse(json);
    if (!frame.success) {
      // A daemon may say more than a surface understands; an item it must not lose in silence.
      if (TypedFrame.safeParse(json).data?.type === "inbox_item") {
        log("An item has an unknown form");
      }
      return;
    }
    switch (frame.data.type) {
      case "connected":
        this.#socket = socket;
        if (this.#unavailable) log("The daemon is back");
        this.#unavailable = false;
        this.#daemonError = undefined;
        return this.#backoff.reset();
      case "inbox_item":
        return item(frame.data);
      case "ping":
        return socket.send(JSON.stringify({ type: "pong", ping_id: frame.data.ping_id }));
      case "error":
        this.#daemonError = frame.data.detail;
        return;
    }
  }
}

/** A real WebSocket. */
export const connectWebSocket: Connect = (url, listener) => {
  const socket = new WebSocket(url);
  socket.onopen = () => listener.opened();
  socket.onmessage = ({ data }) => listener.received(String(data));
  // An attempt that fails says so in `onerror`, and closes as well.
  socket.onclose = ({ code, reason }) => listener.closed(code, reason);
  return {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    close: () => socket.close(),
  };
};
