/** The connection to the daemon: opened again with growing pauses until it is refused or closed. */

import type { Endpoint } from "./daemon.ts";
import { MeshClosed, MeshError, MeshUnreachable } from "./errors.ts";

export type Frame = Readonly<Record<string, unknown>>;

/** The part of a WebSocket that is used. Node.js 20 has none of its own: pass that of `ws`. */
export interface Socket {
  readonly readyState: number;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
  /** Ends the connection without waiting for the other end, as the class of `ws` can. */
  terminate?(): void;
}
export type SocketClass = new (url: string) => Socket;

export interface Listener {
  /** The daemon has accepted the connection. */
  up(connected: Frame): void;
  down(): void;
  frame(frame: Frame): void;
  /** The connection is not opened again. */
  ended(error: MeshError): void;
}

const RETRY_MS = { min: 250, max: 5_000 };
/** Time limit for the daemon to answer the handshake. */
const HANDSHAKE_MS_MAX = 10_000;
/** The daemon pings every 20 s. After three missing pings, the connection is taken for dead. */
const SILENCE_MS_MAX = 65_000;
/** Time limit for the daemon to confirm the end of a connection. */
const CLOSE_MS_MAX = 1_000;
/** Close codes after which another attempt would end in the same way (docs/websocket.md). */
const FINAL_CODES: ReadonlySet<number> = new Set([4000, 4001, 4002, 4003, 4004, 4008, 4009]);
const OPEN = 1;

export class Connection {
  readonly #find: () => Promise<Endpoint>;
  readonly #connect: (token: string | undefined) => Frame;
  readonly #socketClass: SocketClass;
  readonly #listener: Listener;
  #socket: Socket | undefined;
  #isUp = false;
  #hasEnded = false;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The last error of the daemon or the socket, for the error of a connection that fails. */
  #lastError = "";

  /** `connect` makes the first frame; `find` looks up the daemon. */
  constructor(
    find: () => Promise<Endpoint>,
    connect: (token: string | undefined) => Frame,
    socketClass: SocketClass,
    listener: Listener,
  ) {
    this.#find = find;
    this.#connect = connect;
    this.#socketClass = socketClass;
    this.#listener = listener;
  }

  get lastError(): string {
    return this.#lastError;
  }

  async open(): Promise<void> {
    try {
      const { url, token } = await this.#find();
      if (!this.#hasEnded) this.#openSocket(url, token);
    } catch (error) {
      if (!(error instanceof MeshUnreachable)) return this.end(error);
      this.#lastError = error.message;
      this.#retry();
    }
  }

  /** Sends a frame; false if there is no connection now. */
  send(frame: Frame): boolean {
    if (!this.#isUp || this.#socket?.readyState !== OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** Closes the connection for good. */
  end(cause: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#drop(1000);
    const error = cause instanceof MeshError ? cause : new MeshError(String(cause), { cause });
    this.#listener.ended(error);
  }

  #openSocket(url: string, token: string | undefined): void {
    const address = new URL("/ws", url);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new this.#socketClass(address.href);
    this.#socket = socket;
    this.#expectFrame(HANDSHAKE_MS_MAX, `${url} does not answer`);
    const ifCurrent = <E>(handle: (event: E) => void) => (event: E) => {
      if (socket === this.#socket) handle(event);
    };
    socket.onopen = ifCurrent(() => socket.send(JSON.stringify(this.#connect(token))));
    socket.onmessage = ifCurrent(({ data }: { data: unknown }) => this.#receive(String(data)));
    socket.onerror = ifCurrent(() => this.#lastError ||= `No daemon answers at ${url}`);
    socket.onclose = ifCurrent(({ code, reason }: { code: number; reason: string }) =>
      this.#onClose(code, reason)
    );
  }

  #receive(text: string): void {
    const frame: Frame = JSON.parse(text);
    this.#expectFrame(
      this.#isUp ? SILENCE_MS_MAX : HANDSHAKE_MS_MAX,
      "The daemon has stopped answering",
    );
    if (frame["type"] === "ping") {
      return void this.send({ type: "pong", ping_id: frame["ping_id"] });
    }
    if (frame["type"] === "error") this.#lastError = String(frame["detail"]);
    if (frame["type"] !== "connected") return this.#listener.frame(frame);
    this.#isUp = true;
    this.#failures = 0;
    this.#lastError = "";
    this.#expectFrame(SILENCE_MS_MAX, "The daemon has stopped answering");
    this.#listener.up(frame);
  }

  #onClose(code: number, reason: string): void {
    this.#drop();
    if (FINAL_CODES.has(code)) {
      const detail = this.#lastError || reason || "no reason";
      return this.end(new MeshClosed(`The daemon closed the connection: ${detail}`, code));
    }
    this.#retry();
  }

  /** Releases the socket, so that its later events are ignored. */
  #drop(code?: number): void {
    const socket = this.#socket;
    const wasUp = this.#isUp;
    this.#socket = undefined;
    this.#isUp = false;
    if (socket) close(socket, code);
    if (wasUp) this.#listener.down();
  }

  /** Connects again if nothing arrives within this time. */
  #expectFrame(ms: number, why: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#lastError = why;
      this.#drop();
      this.#retry();
    }, ms);
  }

  /** The pause is partly random, so that many clients do not connect at the same time. */
  #retry(): void {
    clearTimeout(this.#timer);
    if (this.#hasEnded) return;
    const ms = Math.min(RETRY_MS.min * 2 ** this.#failures++, RETRY_MS.max);
    this.#timer = setTimeout(() => void this.open(), ms * (0.5 + Math.random() / 2));
  }
}

/** A frozen daemon never confirms the end, so the connection then ends without it. */
function close(socket: Socket, code?: number): void {
  const timer = socket.terminate && setTimeout(() => socket.terminate?.(), CLOSE_MS_MAX);
  socket.onclose = () => clearTimeout(timer);
  socket.close(code);
}
