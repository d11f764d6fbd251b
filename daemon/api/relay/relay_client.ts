/** The outbound tunnel: connects to the relay, monitors the connection, and reconnects. */

import { backoffMs } from "kit/core/timeout.ts";
import type { Monotonic } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
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
import type { RelayAccess } from "../../features/relay/relay_api.ts";
import type { Health } from "protocol/api/events.ts";
import type { TunnelRequest } from "./tunnel_requests.ts";
import { relayClientMachine, type RelayClientState } from "./states.ts";

/** Capabilities of this daemon, as reported by `GET /health` and to the relay. */
export const CAPABILITIES = { ask_pull_delivery: true, paired_devices: true };

const BACKOFF_MS = { first: 1000, max: 60_000 };
/** After a connection of this length the backoff starts again at its minimum. */
const STABLE_MS = 30_000;
/** From this many replacements within the window on, two daemons replace each other in turns. */
const SUPERSEDED_MAX = 2;
const SUPERSEDED_WINDOW_MS = 60_000;
/** The reason of a failure is stored up to this length, because the relay may have written it. */
const REASON_LENGTH_MAX = 300;
const UNKNOWN_HANDSHAKE = "the relay's handshake is not supported: update the daemon or the relay";

interface RelayClientOptions extends RelayAccess {
  readonly hello: Omit<Hello, "type" | "protocol">;
}

/** Opens a WebSocket. */
export type OpenSocket = (
  address: string,
  headers: Readonly<Record<string, string>>,
  listener: ConnectionListener,
) => Connection;

/** Answers a request from the tunnel. */
export type TunnelHandler = (connection: MultiplexedConnection, request: TunnelRequest) => void;

export class RelayClient {
  readonly #ctx: Context;
  readonly #options: RelayClientOptions;
  readonly #openSocketTo: OpenSocket;
  #onRequest: TunnelHandler = () => undefined;
  #state: RelayClientState = "down";
  #connection: Connection | undefined;
  #multiplexed: MultiplexedConnection | undefined;
  /** When to connect next; undefined once this daemon has stopped connecting. */
  #connect_at: number | undefined;
  #connecting_since = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #superseded_at: number[] = [];
  #connected_at: number | null = null;
  #accepted_at: number | undefined;
  #last_error: string | null = null;
  /** The last published status: a relay that stays unreachable is reported only once. */
  #reported: RelayClientState | undefined;

  constructor(ctx: Context, options: RelayClientOptions, openSocket: OpenSocket) {
    this.#ctx = ctx;
    this.#options = options;
    this.#openSocketTo = openSocket;
  }

  report(): Health["relay"] {
    return {
      status: this.#state,
      url: this.#options.url,
      last_connected_at: this.#connected_at,
      ...(this.#multiplexed && { last_heard_at: this.#multiplexed.heard_at }),
      last_error: this.#last_error,
    };
  }

  /** Connects at the next tick. `onRequest` answers the requests that come through the tunnel. */
  start(onRequest: TunnelHandler): void {
    this.#onRequest = onRequest;
    this.#connect_at = this.#ctx.clock.monotonic();
  }

  /** Called once a second: connects when it is due, and monitors the connection. */
  tick(now: Monotonic): void {
    if (this.#state === "down" && this.#isConnectDue(now)) return this.#openSocket(now);
    const isTooLate = now - this.#connecting_since >= HANDSHAKE_MS_MAX;
    if (this.#state === "connecting" && isTooLate) {
      return this.#fail(`the relay gave no answer within ${HANDSHAKE_MS_MAX / 1000} s`);
    }
    this.#multiplexed?.tick(now);
  }

  close(): void {
    this.#connect_at = undefined;
    const [connection, multiplexed] = [this.#connection, this.#multiplexed];
    this.#connection = this.#multiplexed = undefined; // Ignores further events.
    if (multiplexed) multiplexed.end("going_away");
    else connection?.close(CLOSE.going_away, "going_away");
  }

  #isConnectDue(now: Monotonic): boolean {
    return this.#connect_at !== undefined && this.#connect_at <= now;
  }

  #openSocket(now: Monotonic): void {
    const { url, secret, daemon_id } = this.#options;
    this.#state = relayClientMachine.step(this.#state, "opened");
    this.#connecting_since = now;
    const address = `${url.replace(/^http/, "ws")}/ws/daemon`;
    const headers = {
      "authorization": `Bearer ${secret.reveal()}`,
      "x-mesh-daemon-id": daemon_id,
    };
    const isCurrent = () => this.#connection === connection;
    const connection = this.#openSocketTo(address, headers, {
      opened: () => isCurrent() && this.#hello(connection),
      received: (data) => isCurrent() && this.#received(connection, data),
      closed: (code, reason, error) => isCurrent() && this.#closed(code, reason, error),
    });
    this.#connection = connection;
  }

  #hello(connection: Connection): void {
    const hello: Hello = { type: "hello", protocol: PROTOCOL, ...this.#options.hello };
    connection.send(JSON.stringify(hello));
  }

  #received(connection: Connection, data: FrameData): void {
    if (this.#multiplexed) return this.#multiplexed.received(data);
    const reply = HandshakeReply.safeParse(typeof data === "string" ? tryJson(data) : undefined);
    if (!reply.success) return this.#fail(UNKNOWN_HANDSHAKE);
    if (reply.data.type === "refused") return this.#fail(reply.data.detail);
    const { clock, log } = this.#ctx;
    this.#state = relayClientMachine.step(this.#state, "accepted");
    const multiplexed: MultiplexedConnection = new MultiplexedConnection(connection, {
      clock,
      onRequest: (head, stream, body) => this.#onRequest(multiplexed, { head, stream, body }),
    });
    this.#multiplexed = multiplexed;
    this.#connected_at = clock.now();
    this.#accepted_at = clock.monotonic();
    this.#last_error = null;
    log.info("The relay is connected", { url: this.#options.url });
    this.#publishStatus(null);
  }

  #closed(code: number, reason: string, error: string | undefined): void {
    this.#multiplexed?.closed("the tunnel broke");
    if (code === CLOSE.superseded) return this.#onSuperseded();
    this.#fail(error === undefined ? reason || "the connection was lost" : explainFailure(error));
  }

  /**
   * Called when another connection uses our id. If this happens once, it may be a newer connection
   * of this daemon. If it is repeated, another daemon has the same id.
   */
  #onSuperseded(): void {
    const now = this.#ctx.clock.monotonic();
    this.#superseded_at = this.#superseded_at.filter((at) => now - at < SUPERSEDED_WINDOW_MS);
    this.#superseded_at.push(now);
    const { daemon_id } = this.#options;
    if (this.#superseded_at.length < SUPERSEDED_MAX) {
      return this.#fail(`a newer connection of ${daemon_id} replaced this one`);
    }
    this.#fail(
      `another daemon uses the id ${daemon_id} and this secret: it replaced this one ` +
        `${SUPERSEDED_MAX} times within a minute, so this one has stopped connecting. ` +
        "Stop the other daemon (a copied state directory?), then restart this one",
    );
    this.#connect_at = undefined;
  }

  #fail(why: string): void {
    const { clock, log } = this.#ctx;
    const now = clock.monotonic();
    const wasStable = this.#state === "connected" && now - (this.#accepted_at ?? now) >= STABLE_MS;
    this.#failures = wasStable ? 0 : this.#failures + 1;
    const connection = this.#connection;
    this.#connection = this.#multiplexed = undefined;
    connection?.close(CLOSE.going_away, "going_away");
    this.#state = relayClientMachine.step(this.#state, "failed");
    this.#connect_at = now + backoffMs(this.#ctx.ids, { ...BACKOFF_MS, failures: this.#failures });
    this.#last_error = cleanLine(why.slice(0, REASON_LENGTH_MAX));
    if (this.#reported !== "down") {
      log.warn("Not connected to the relay", { url: this.#options.url, why: this.#last_error });
    }
    this.#publishStatus(this.#last_error);
  }

  #publishStatus(reason: string | null): void {
    const { db, events } = this.#ctx;
    const status = this.#state;
    if (this.#reported === status) return;
    this.#reported = status;
    db.transact(() => events.append("relay_status", { status, url: this.#options.url, reason }));
  }
}

/** Explains the error that the runtime reports for a failed connection. */
function explainFailure(error: string): string {
  const status = /(?:status code|server response): (\d+)/.exec(error)?.[1];
  if (status === "401") return "the relay does not accept relay.secret (401)";
  if (status !== undefined) {
    return `the relay answered ${status} instead of opening the tunnel: check relay.url`;
  }
  return error.replace(/^NetworkError: /, "");
}
