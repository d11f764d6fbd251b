/** A client's `/ws` connection to the daemon (contract 4): reconnects and answers pings. */

import * as z from "zod";
import { pause } from "kit/core/timeout.ts";
import { tryJson } from "kit/core/text.ts";
import { Silence } from "kit/net/silence.ts";
import { Backoff, type BackoffDeps } from "./backoff.ts";
import { CommandError } from "./failures.ts";

/** The part of a WebSocket that is used here. */
export interface Socket {
  send(text: string): void;
  close(): void;
}

export interface SocketListener {
  opened(): void;
  received(text: string): void;
  /** Called once, also when the connection could not be made. */
  closed(code: number, reason: string): void;
}

export type Connect = (url: URL, listener: SocketListener) => Socket;

const Frame = z.discriminatedUnion("type", [
  z.object({ type: z.literal("connected"), display_name: z.string(), peer_id: z.string() }),
  z.object({ type: z.literal("ping"), ping_id: z.string() }),
  z.object({ type: z.literal("error"), error: z.string(), detail: z.string() }),
]);
type Frame = z.output<typeof Frame>;
const TypedFrame = z.looseObject({ type: z.string() });
export type TypedFrame = z.output<typeof TypedFrame>;
type ConnectedFrame = Extract<Frame, { type: "connected" }>;

/** The daemon pings every 20 s; after this silence the connection counts as lost. */
const SILENCE_MS_MAX = 65_000;
const RETRY_MS_MAX = 15_000;
/** Time limit for the closing handshake before the connection is dropped. */
const CLOSE_MS_MAX = 1_000;
const ABNORMAL_CLOSURE = 1006;

/** Close codes after which another attempt would fail the same way (contract 4). */
const fatalCloseCodes = (client: string): Readonly<Record<number, string>> => ({
  4001: "The daemon rejects our token; check daemon.auth_token",
  4002: "The daemon rejects our connect frame",
  4004: `The daemon has retired this ${client}`,
  4009: `Another ${client} with this name has connected; run only one`,
});

export interface DaemonConnectionDeps extends BackoffDeps {
  readonly connect: Connect;
  /** The kind of this client, for errors, such as `surface`. */
  readonly client: string;
  /**
   * The daemon's current address, which a restart may change; undefined while no daemon is running.
   */
  url(): string | undefined;
  /** The fields of the `connect` frame. */
  connectFrame(): Record<string, unknown>;
  /** Called each time that the daemon has accepted a connection. */
  connected?(frame: ConnectedFrame): void;
  /** Called with each frame that is not the connection's own. Its fields are not checked. */
  received(frame: TypedFrame): void;
  log(text: string): void;
}

export class DaemonConnection {
  readonly #deps: DaemonConnectionDeps;
  readonly #backoff: Backoff;
  #socket: Socket | undefined;
  #unavailable = false;
  /** The detail of the daemon's last `error` frame. */
  #daemonError: string | undefined;

  constructor(deps: DaemonConnectionDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(deps, RETRY_MS_MAX);
  }

  /** Sends a frame; drops it while disconnected. */
  send(frame: object): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  /** Reconnects, so that the daemon sends every message again that has no receipt. */
  reconnect(): void {
    this.#socket?.close();
  }

  /** Keeps a connection until the signal aborts; throws when the daemon rejects it for good. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const code = await this.#connectOnce(signal);
      if (signal.aborted) return;
      const final = fatalCloseCodes(this.#deps.client)[code];
      if (final) {
        throw new CommandError(this.#daemonError ? `${final}: ${this.#daemonError}` : final);
      }
      if (!this.#unavailable) {
        this.#deps.log(this.#daemonError ?? "Lost the daemon; waiting for it");
      }
      this.#unavailable = true;
      await this.#backoff.pause(signal);
    }
  }

  /** Runs one connection; returns its close code. */
  async #connectOnce(signal: AbortSignal): Promise<number> {
    const { connect, url, connectFrame } = this.#deps;
    const { promise: closed, resolve } = Promise.withResolvers<number>();
    const finished = new AbortController();
    const daemonUrl = url();
    if (daemonUrl === undefined) return ABNORMAL_CLOSURE;
    const socketUrl = new URL("/ws", daemonUrl.replace(/^http/, "ws"));
    const socket = connect(socketUrl, {
      opened: () => socket.send(JSON.stringify({ type: "connect", ...connectFrame() })),
      received: (text) => {
        silence.heard();
        if (!finished.signal.aborted) this.#handleFrame(text, socket);
      },
      closed: resolve,
    });
    const disconnect = () => {
      // Frames already written are sent before the connection closes.
      socket.close();
      pause(this.#deps.clock, CLOSE_MS_MAX, finished.signal).then(() => resolve(ABNORMAL_CLOSURE));
    };
    signal.addEventListener("abort", disconnect, { signal: finished.signal });
    using silence = new Silence(this.#deps.clock, SILENCE_MS_MAX, disconnect);
    try {
      return await closed;
    } finally {
      finished.abort();
      this.#socket = undefined;
    }
  }

  #handleFrame(text: string, socket: Socket): void {
    const { log, connected, received } = this.#deps;
    const json = tryJson(text);
    const frame = Frame.safeParse(json);
    if (!frame.success) {
      const typed = TypedFrame.safeParse(json);
      return typed.success ? received(typed.data) : undefined;
    }
    switch (frame.data.type) {
      case "connected":
        this.#socket = socket;
        if (this.#unavailable) log("Reconnected to the daemon");
        this.#unavailable = false;
        this.#daemonError = undefined;
        this.#backoff.reset();
        return connected?.(frame.data);
      case "ping":
        return socket.send(JSON.stringify({ type: "pong", ping_id: frame.data.ping_id }));
      case "error":
        this.#daemonError = frame.data.detail;
        return;
    }
  }
}

export const connectWebSocket: Connect = (url, listener) => {
  const socket = new WebSocket(url);
  socket.onopen = () => listener.opened();
  socket.onmessage = ({ data }) => listener.received(String(data));
  // A failed attempt calls `onclose` too, so `onerror` is not needed.
  socket.onclose = ({ code, reason }) => listener.closed(code, reason);
  return {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    close: () => socket.close(),
  };
};
