/** The outbound tunnel: dials the relay, keeps the line alive, and dials again when it is lost. */

import type { Context } from "kit/data/context.ts";
import type { Secret } from "kit/core/settings.ts";
import { cleanLine, tryJson } from "kit/core/text.ts";
import {
  CLOSE,
  HANDSHAKE_MS_MAX,
  HandshakeReply,
  type Hello,
  PROTOCOL,
} from "kit/net/tunnel/frames.ts";
import type { Connection, ConnectionListener, FrameData } from "kit/net/tunnel/connection.ts";
import { MultiplexedConnection } from "kit/net/tunnel/multiplexed.ts";
import type { Health } from "../events/contract.ts";
import type { TunnelRequest } from "./tunnel_requests.ts";
import { relayClientMachine, type RelayClientState } from "./machine.ts";

/** What this daemon can do, told by `GET /health` and to the relay. */
export const CAPABILITIES = { ask_pull_delivery: true };

const BACKOFF_MS_MIN = 1000;
const BACKOFF_MS_MAX = 60_000;
/** A line that stood for so long was a good one: the next rest is a short one again. */
const STABLE_MS = 30_000;
/** So often in so long, and two daemons push each other off by turns. */
const SUPERSEDED_MAX = 2;
const SUPERSEDED_WINDOW_MS = 60_000;
/** Of a reason, which may be the relay's: it is shown at terminals, and steers none. */
const REASON_LENGTH_MAX = 300;

export interface RelayClientOptions {
  /** The relay's own address, such as `https://relay.example`. */
  readonly url: string;
  readonly secret: Secret;
  readonly daemon_id: string;
  readonly hello: Omit<Hello, "type" | "protocol">;
}

/** How a socket to elsewhere is had. */
export type OpenSocket = (
  address: string,
  headers: Readonly<Record<string, string>>,
  ears: ConnectionListener,
) => Connection;

/** Answers a request that came through the tunnel. */
export type TunnelHandler = (connection: MultiplexedConnection, request: TunnelRequest) => void;

export class RelayClient {
  readonly #ctx: Context;
  readonly #options: RelayClientOptions;
  readonly #openSocketTo: OpenSocket;
  #onRequest: TunnelHandler = () => undefined;
  #state: RelayClientState = "down";
  #connection: Connection | undefined;
  #trunk: MultiplexedConnection | undefined;
  /** When to dial next; undefined when nobody does any more. */
  #connect_at: number | undefined;
  #connecting_since = 0;
  #failures = 0;
  #superseded_at: number[] = [];
  #connected_at: number | null = null;
  #last_error: string | null = null;
  /** What the events have told: a relay that stays away is told of once. */
  #reported: RelayClientState | undefined;

  constructor(ctx: Context, options: RelayClientOptions, openSocket: OpenSocket) {
    this.#ctx = ctx;
    this.#options = options;
    this.#openSocketTo = openSocket;
  }

  /** For `GET /health`. */
  report(): Health["relay"] {
    return {
      status: this.#state,
      url: this.#options.url,
      last_connected_at: this.#connected_at,
      last_error: this.#last_error,
    };
  }

  /** Connects at the next tick; `onRequest` answers what comes through the tunnel. */
  start(onRequest: TunnelHandler): void {
    this.#onRequest = onRequest;
    this.#connect_at = this.#ctx.clock.now();
  }

  /** Once a second: dials when it is time, and sees whether the line still lives. */
  tick(now: number): void {
    if (this.#state === "down" && this.#connect_at !== undefined && this.#connect_at <= now) {
      return this.#openSocket(now);
    }
    if (this.#state === "connecting" && now - this.#connecting_since >= HANDSHAKE_MS_MAX) {
      return this.#fail(`no answer within ${HANDSHAKE_MS_MAX / 1000} s`);
    }
    this.#trunk?.tick(now);
  }

  close(): void {
    this.#connect_at = undefined;
    const [line, trunk] = [this.#connection, this.#trunk];
    this.#connection = this.#trunk = undefined; // Nothing that it says now is news.
    if (trunk) trunk.end("going_away");
    else line?.close(CLOSE.going_away, "going_away");
  }

  #openSocket(now: number): void {
    const { url, secret, daemon_id } = this.#options;
    this.#state = relayClientMachine.step(this.#state, "dialled");
    this.#connecting_since = now;
    const headers = {
      "authorization": `Bearer ${secret.reveal()}`,
      "x-mesh-daemon-id": daemon_id,
    };
    const ears = {
      opened: () => this.#connection === line && this.#hello(line),
      received: (data: FrameData) => this.#connection === line && this.#received(line, data),
      closed: (code: number, reason: string, error?: string) =>
        this.#connection === line && this.#closed(code, reason, error),
    };
    const line = this.#openSocketTo(`${url.replace(/^http/, "ws")}/ws/daemon`, headers, ears);
    this.#connection = line;
  }

  #hello(line: Connection): void {
    const hello: Hello = { type: "hello", protocol: PROTOCOL, ...this.#options.hello };
    line.send(JSON.stringify(hello));
  }

  #received(line: Connection, data: FrameData): void {
    if (this.#trunk) return this.#trunk.received(data);
    const greeting = HandshakeReply.safeParse(typeof data === "string" ? tryJson(data) : undefined);
    if (!greeting.success) return this.#fail("it greets in a way that this daemon does not know");
    if (greeting.data.type === "refused") return this.#fail(greeting.data.detail);
    const { clock, log } = this.#ctx;
    this.#state = relayClientMachine.step(this.#state, "welcomed");
    const trunk: MultiplexedConnection = new MultiplexedConnection(line, {
      clock,
      onRequest: (head, stream, body) => this.#onRequest(trunk, { head, stream, body }),
    });
    this.#trunk = trunk;
    this.#connected_at = clock.now();
    this.#last_error = null;
    log.info("The relay is connected", { url: this.#options.url });
    this.#publishStatus(null);
  }

  #closed(code: number, reason: string, error: string | undefined): void {
    this.#trunk?.closed("the tunnel broke");
    if (code === CLOSE.superseded) return this.#onSuperseded();
    this.#fail(error === undefined ? reason || "the line was lost" : explainFailure(error));
  }

  /** Another connection has our id: once is our own newer one, twice a minute is another daemon. */
  #onSuperseded(): void {
    const now = this.#ctx.clock.now();
    this.#superseded_at = this.#superseded_at.filter((at) => now - at < SUPERSEDED_WINDOW_MS);
    this.#superseded_at.push(now);
    const { daemon_id } = this.#options;
    if (this.#superseded_at.length < SUPERSEDED_MAX) {
      return this.#fail(`another connection of ${daemon_id} took its place`);
    }
    this.#fail(
      `another daemon has the id ${daemon_id} and this secret: it took our place ` +
        `${SUPERSEDED_MAX} times within a minute, so that this one dials no more. ` +
        "Stop the other (a copied state directory?), then start this daemon again",
    );
    this.#connect_at = undefined;
  }

  #fail(why: string): void {
    const { clock, log } = this.#ctx;
    const now = clock.now();
    const wasStable = this.#state === "connected" && now - (this.#connected_at ?? now) >= STABLE_MS;
    this.#failures = wasStable ? 0 : this.#failures + 1;
    const line = this.#connection;
    this.#connection = this.#trunk = undefined;
    line?.close(CLOSE.going_away, "going_away");
    this.#state = relayClientMachine.step(this.#state, "failed");
    this.#connect_at = now + this.#backoff_ms();
    this.#last_error = cleanLine(why.slice(0, REASON_LENGTH_MAX));
    if (this.#reported !== "down") {
      log.warn("The relay is away", { url: this.#options.url, why: this.#last_error });
    }
    this.#publishStatus(this.#last_error);
  }

  /** Longer each time, and never the same for two daemons that lost their relay at once. */
  #backoff_ms(): number {
    const longest_ms = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(this.#failures, 16));
    const jitter = Number.parseInt(this.#ctx.ids.hex(2), 16) / 0x1_0000;
    return Math.floor(longest_ms * (0.5 + jitter / 2));
  }

  #publishStatus(reason: string | null): void {
    const { db, events } = this.#ctx;
    const status = this.#state;
    if (this.#reported === status) return;
    this.#reported = status;
    db.transact(() => events.append("relay_status", { status, url: this.#options.url, reason }));
  }
}

/** What the runtime says of a dial that failed, in words of ours. */
function explainFailure(error: string): string {
  const status = /(?:status code|server response): (\d+)/.exec(error)?.[1];
  if (status === "401") return "the relay does not take relay.secret (401)";
  if (status !== undefined) return `the relay answered ${status} where the tunnel should be`;
  return error.replace(/^NetworkError: /, "");
}
