/** The connection to Slack (Socket Mode): keeps one open, and acknowledges handled envelopes. */

// @ts-types="./socket_ws.d.ts"
import { WebSocket } from "ws";
import { pause, timeout } from "kit/core/timeout.ts";
import { CommandError } from "../../cli/client/failures.ts";
import { Backoff, type BackoffDeps } from "../../cli/client/backoff.ts";
import { ChatError } from "../chat/chat.ts";
import { type Envelope, type Frame, parseFrame } from "./envelopes.ts";
import type { WebApi } from "./web_api.ts";
import { UnreachableError } from "kit/net/outgoing/http_client.ts";
import { type OutgoingDeps, OutgoingSockets } from "kit/net/outgoing/sockets.ts";
import { connectorFor } from "kit/net/outgoing/web_socket.ts";

/** Time limit for Slack to accept a connection. */
const HELLO_MS_MAX = 15_000;
/** The interval of pings. After one interval without a sign of life, the connection is dropped. */
export const PING_MS = 30_000;
/** Time for which a connection that Slack is about to close is kept beside its successor. */
export const OVERLAP_MS_MAX = 30_000;
/** Minimum duration of a connection. A shorter one counts as a failed attempt. */
const STABLE_MS = 10_000;
const CLOSE_MS_MAX = 1_000;
const RETRY_MS_MAX = 30_000;
/** Maximum number of envelopes in work. Slack repeats the envelopes that are left out. */
export const ENVELOPES_MAX = 1_000;

interface SocketModeDeps extends BackoffDeps {
  readonly api: Pick<WebApi, "openConnection">;
  readonly connect: ConnectSlackSocket;
  /** Called when a connection is ready: earlier messages may have been missed. */
  ready(): void;
  /** Handles an envelope. It is acknowledged when the promise resolves, and not if it rejects. */
  handle(envelope: Envelope): Promise<void>;
  log(text: string): void;
}

/** The reason for a successor of a connection. */
type End = "refresh" | "lost" | "disabled";

export class SocketMode {
  readonly #deps: SocketModeDeps;
  readonly #backoff: Backoff;
  /** The connections that are ready; two while one replaces the other. */
  readonly #open = new Set<SlackSocket>();
  readonly #running = new Set<Promise<void>>();
  #inWork = 0;
  #unavailable = false;
  #warnedOfOthers = false;

  constructor(deps: SocketModeDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(deps, RETRY_MS_MAX);
  }

  /** Keeps a connection until the signal aborts; throws when Slack refuses it for good. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      const startedAt = clock.monotonic();
      const end = await this.#connect(signal);
      if (signal.aborted) break;
      if (end === "disabled") {
        throw new CommandError("Slack has turned off Socket Mode for this app; turn it on again");
      }
      const wasStable = clock.monotonic() - startedAt >= STABLE_MS;
      if (wasStable) this.#backoff.reset();
      if (end === "refresh" && wasStable) continue;
      if (end === "lost") this.#reportUnavailable("Lost the connection to Slack");
      await this.#backoff.pause(signal);
    }
    await Promise.all(this.#running);
  }

  /** Opens a connection; resolves when it needs a successor. */
  async #connect(signal: AbortSignal): Promise<End | undefined> {
    const address = await this.#getAddress(signal);
    if (address === undefined) return undefined;
    const { promise: ended, resolve } = Promise.withResolvers<End>();
    const running = this.#keepConnection(address, resolve, signal);
    this.#running.add(running);
    running.finally(() => this.#running.delete(running));
    return await ended;
  }

  async #getAddress(signal: AbortSignal): Promise<string | undefined> {
    const { api, clock } = this.#deps;
    try {
      return await api.openConnection(signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      const isTemporary = error instanceof ChatError &&
        !["unauthorized", "forbidden"].includes(error.error_class);
      if (!isTemporary) throw error;
      this.#reportUnavailable(error.message);
      if (error.retry_after_ms) await pause(clock, error.retry_after_ms, signal);
      return undefined;
    }
  }

  /** Runs one connection until it is closed. */
  async #keepConnection(
    address: string,
    needsSuccessor: (end: End) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, connect } = this.#deps;
    const closed = new AbortController();
    let isAlive = true;
    const ready = Promise.withResolvers<true>();
    const socket = connect(address, {
      alive: () => isAlive = true,
      closed: (why) => {
        if (why !== undefined) this.#reportUnavailable(`Slack cannot be reached: ${why}`);
        needsSuccessor("lost");
        closed.abort();
      },
      received: (text) => {
        isAlive = true;
        const frame = parseFrame(text);
        if (!frame || closed.signal.aborted) return;
        if (frame.type === "hello") ready.resolve(true);
        this.#receive(frame, socket, (end) => {
          needsSuccessor(end);
          this.#endLater(socket, closed.signal);
        });
      },
    });
    const stop = () => this.#close(socket, closed.signal);
    signal.addEventListener("abort", stop, { once: true, signal: closed.signal });
    if (signal.aborted) stop();
    if (!await timeout(clock, HELLO_MS_MAX, ready.promise, closed.signal)) socket.drop();
    while (!closed.signal.aborted) {
      await pause(clock, PING_MS, closed.signal);
      if (closed.signal.aborted) break;
      if (!isAlive) socket.drop();
      isAlive = false;
      socket.ping();
    }
    this.#open.delete(socket);
  }

  #receive(frame: Frame, socket: SlackSocket, end: (end: End) => void): void {
    if ("envelope_id" in frame) return void this.#handle(frame, socket);
    if (frame.type === "disconnect") {
      return end(frame.reason === "link_disabled" ? "disabled" : "refresh");
    }
    this.#open.add(socket);
    const { log, ready } = this.#deps;
    if (this.#unavailable) log("Reconnected to Slack");
    this.#unavailable = false;
    this.#warnOfOthers(frame.num_connections);
    ready();
  }

  async #handle(envelope: Envelope, socket: SlackSocket): Promise<void> {
    if (this.#inWork >= ENVELOPES_MAX) return;
    this.#inWork++;
    try {
      await this.#deps.handle(envelope);
      socket.send(JSON.stringify({ envelope_id: envelope.envelope_id }));
    } catch {
      // It is not acknowledged, so Slack sends it again. The handler has reported the error.
    } finally {
      this.#inWork--;
    }
  }

  /** Slack gives each envelope to one connection of the app, whichever program holds it. */
  #warnOfOthers(connections: number | undefined): void {
    const hasOthers = connections !== undefined && connections > this.#open.size;
    if (hasOthers && !this.#warnedOfOthers) {
      this.#deps.log(
        `Slack has ${connections} connections of this app, and ${this.#open.size} from here. If ` +
          "another program uses its app token, each gets only a part of your replies: run only one",
      );
    }
    this.#warnedOfOthers = hasOthers;
  }

  /** Closes a connection that Slack is about to close, if Slack does not. */
  async #endLater(socket: SlackSocket, closed: AbortSignal): Promise<void> {
    await pause(this.#deps.clock, OVERLAP_MS_MAX, closed);
    await this.#close(socket, closed);
  }

  async #close(socket: SlackSocket, closed: AbortSignal): Promise<void> {
    if (closed.aborted) return;
    socket.close();
    await pause(this.#deps.clock, CLOSE_MS_MAX, closed);
    if (!closed.aborted) socket.drop();
  }

  #reportUnavailable(why: string): void {
    if (!this.#unavailable) this.#deps.log(`${why}; retrying`);
    this.#unavailable = true;
  }
}

interface SlackSocket {
  /** Sends a text; drops it if the connection is not open. */
  send(text: string): void;
  ping(): void;
  /** Begins the closing handshake. */
  close(): void;
  /** Ends the connection without a handshake. */
  drop(): void;
}

interface SlackSocketListener {
  received(text: string): void;
  /** Called at each ping and pong of the other end. */
  alive(): void;
  /** Called once, also if the connection failed. The reason is present if it is known. */
  closed(why?: string): void;
}

export type ConnectSlackSocket = (address: string, listener: SlackSocketListener) => SlackSocket;

const OPEN = 1;
const NORMAL_CLOSURE = 1000;
/** Far more than a message with all its blocks has. */
const FRAME_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Opens a WebSocket. The runtime's own does not report the pings of the other end and sends none,
 * so that a connection whose other end vanished would never be noticed.
 */
export const slackSockets = (deps: OutgoingDeps): ConnectSlackSocket => (address, listener) => {
  const options = {
    maxPayload: FRAME_BYTES_MAX,
    perMessageDeflate: false,
    createConnection: connectorFor(new OutgoingSockets(deps), address),
  };
  const socket = new WebSocket(address, options);
  socket.on("message", (data) => listener.received(data.toString()));
  socket.on("ping", () => listener.alive());
  socket.on("pong", () => listener.alive());
  let why: string | undefined;
  // The event `close` follows. Other errors may contain the ticket in the address, so they are
  // dropped.
  socket.on("error", (error) => why = error instanceof UnreachableError ? error.message : why);
  socket.on("close", () => listener.closed(why));
  return {
    send: (text) => {
      if (socket.readyState === OPEN) socket.send(text);
    },
    ping: () => {
      if (socket.readyState === OPEN) socket.ping();
    },
    close: () => socket.close(NORMAL_CLOSURE),
    drop: () => socket.terminate(),
  };
};
