/** The connection to the daemon: reopened for as long as opencode runs. */

import { platform } from "node:process";
import { ignoreErrors, later, readText, type Timer } from "./ignore_errors.ts";

/** The daemon pings every 20 s. After three missing pings, the connection counts as lost. */
const SILENCE_MS_MAX = 65_000;
/** Time limit for the daemon to accept a connection. */
const HANDSHAKE_MS_MAX = 10_000;
const RETRY_MS = [250, 500, 1000, 2000, 5000];
/** Maximum number of reports that wait for a connection; later ones are dropped. */
const WAITING_MAX = 100;
/**
 * Close codes after which no connection is opened: the peer is retired, or this process already has
 * a newer connection.
 */
const FINAL_CODES: ReadonlySet<number> = new Set([4004, 4009]);

export type Frame = Readonly<Record<string, unknown>>;

export interface Listener {
  /** The daemon has accepted the connection. */
  up(): void;
  down(): void;
  frame(frame: Frame): void;
}

/**
 * True if the daemon that wrote this file still runs. If it has ended, another user's program could
 * listen at its address to obtain the token.
 */
function isUp({ pid, process_started }: Frame): boolean {
  if (platform !== "linux" || process_started === undefined) return true;
  const stat = readText(`/proc/${pid}/stat`) ?? "";
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] === process_started;
}

export class DaemonConnection {
  readonly #state: string;
  readonly #connectFields: () => Frame;
  readonly #listener: Listener;
  #current: WebSocket | undefined;
  #connecting: WebSocket | undefined;
  #timer: Timer | undefined;
  #silence: Timer | undefined;
  #failures = 0;
  #ended = false;
  /** The reports that no connection has taken yet, oldest first. */
  readonly #waiting: Frame[] = [];

  /** `state` is the daemon's state directory; `connectFields` fills the first frame. */
  constructor(state: string, connectFields: () => Frame, listener: Listener) {
    this.#state = state;
    this.#connectFields = connectFields;
    this.#listener = listener;
  }

  /** Opens a connection. A connection that is still open is closed once the new one is accepted. */
  open(): void {
    clearTimeout(this.#timer);
    if (this.#ended) return;
    this.#connecting?.close();
    this.#connecting = undefined;
    const socket = this.#connect();
    if (!socket) return this.#retry();
    this.#connecting = socket;
    this.#expect(socket, HANDSHAKE_MS_MAX);
    socket.onopen = ignoreErrors(() => {
      const auth_token = readText(`${this.#state}/hook.token`)?.trim();
      const token = auth_token ? { auth_token } : {};
      socket.send(JSON.stringify({ type: "connect", ...this.#connectFields(), ...token }));
    });
    socket.onmessage = ignoreErrors(({ data }: MessageEvent) =>
      this.#receive(socket, JSON.parse(data))
    );
    socket.onerror = () => undefined; // A close event follows.
    socket.onclose = ignoreErrors(({ code }: CloseEvent) => this.#closed(socket, code));
  }

  /** Sends a frame that the daemon asks for again if it was lost. */
  send(frame: Frame): void {
    if (this.#current?.readyState !== WebSocket.OPEN) return;
    this.#current.send(JSON.stringify(frame));
  }

  /**
   * Reports an event of the agent as soon as a connection takes it, in order. While another
   * connection is being opened, the daemon may already ignore frames on the older one.
   */
  report(frame: Frame): void {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(frame);
    this.#sendWaiting();
  }

  #sendWaiting(): void {
    if (this.#connecting || this.#current?.readyState !== WebSocket.OPEN) return;
    for (const frame of this.#waiting.splice(0)) this.send(frame);
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#connecting?.close();
    this.#current?.close();
  }

  /** Counts a connection as lost if nothing comes; its own close would wait for the daemon. */
  #expect(socket: WebSocket, ms: number): void {
    clearTimeout(this.#silence);
    this.#silence = later(ms, () => {
      this.#closed(socket, 0);
      socket.close();
    });
  }

  /**
   * Connects to the daemon. The address is read each time, because a restarted daemon may have
   * another port.
   */
  #connect(): WebSocket | undefined {
    try {
      const info = JSON.parse(readText(`${this.#state}/daemon.json`) ?? "{}");
      if (!isUp(info)) return undefined;
      const at = new URL("/ws", info.url);
      at.protocol = at.protocol === "https:" ? "wss:" : "ws:";
      return new WebSocket(at.href);
    } catch {
      return undefined;
    }
  }

  #receive(socket: WebSocket, frame: Frame): void {
    if (socket === this.#current) this.#expect(socket, SILENCE_MS_MAX);
    if (frame["type"] === "ping") {
      return socket.send(JSON.stringify({ type: "pong", ping_id: frame["ping_id"] }));
    }
    if (frame["type"] === "connected" && socket === this.#connecting) {
      const older = this.#current;
      this.#current = socket;
      this.#connecting = undefined;
      this.#failures = 0;
      this.#expect(socket, SILENCE_MS_MAX);
      older?.close();
      this.#sendWaiting();
      return this.#listener.up();
    }
    if (socket === this.#current) this.#listener.frame(frame);
  }

  #closed(socket: WebSocket, code: number): void {
    if (socket === this.#current) {
      this.#current = undefined;
      this.#listener.down();
    } else if (socket === this.#connecting) this.#connecting = undefined;
    else return; // A newer connection has replaced it.
    this.#sendWaiting();
    if (!FINAL_CODES.has(code) && !this.#connecting) this.#retry();
  }

  #retry(): void {
    clearTimeout(this.#timer);
    if (this.#ended) return;
    const ms = RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)] ?? 0;
    this.#timer = later(ms, () => this.open());
  }
}
