/** Controls the sockets of a client connection: skips empty writes, and ends it without a wait. */

import type { NodeTransport } from "@nats-io/transport-node/lib/node_transport.js";
import type { Clock } from "kit/core/clock.ts";
import type { Target } from "kit/net/outgoing/sockets.ts";

type Socket = NodeTransport["socket"];

/** The client gets this object as an option, through which its transport finds it. */
export class BusLink {
  readonly #clock: Clock;
  readonly #sockets: Socket[] = [];
  readonly #ended = Promise.withResolvers<never>();
  #isClosed = false;
  /** Connects instead of the client: through a proxy. */
  dial: ((target: Target) => Promise<Socket>) | undefined;
  /** Time of the last bytes from the server, in milliseconds since 1970; null before the first. */
  heard_at: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#ended.promise.catch(() => undefined);
  }

  /** Rejects once the link is destroyed. */
  get ended(): Promise<never> {
    return this.#ended.promise;
  }

  heard(): void {
    this.heard_at = this.#clock.now();
  }

  add(socket: Socket): void {
    this.#sockets.push(socket);
    if (this.#isClosed) socket.destroy();
  }

  /** Destroys every socket, even during a handshake. The client sees a closed connection. */
  destroy(): void {
    this.#isClosed = true;
    this.#ended.reject(new Error("this machine closed the connection"));
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Patches the client's transport: it passes its sockets to the link in its options. */
export function watchSockets(
  transport: Pick<NodeTransport, "dial" | "startTLS" | "setupHandlers">,
): void {
  const { dial, startTLS, setupHandlers } = transport;
  transport.dial = async function (this: NodeTransport, address) {
    const link = linkOf(this);
    const { hostname: host, port } = address;
    return keep(await (link?.dial?.({ host, port }) ?? dial.call(this, address)), link);
  };
  transport.startTLS = async function (this: NodeTransport) {
    return keep(await startTLS.call(this), linkOf(this));
  };
  transport.setupHandlers = function (this: NodeTransport) {
    const link = linkOf(this);
    link?.heard();
    this.socket.on("data", () => link?.heard());
    setupHandlers.call(this);
  };
}

function linkOf({ options }: NodeTransport): BusLink | undefined {
  return "link" in options && options.link instanceof BusLink ? options.link : undefined;
}

function keep<S extends Socket>(socket: S, link: BusLink | undefined): S {
  link?.add(socket);
  return adaptSocket(socket);
}

export function adaptSocket<S extends Socket>(socket: S): S {
  return catchErrors(skipEmptyWrites(socket));
}

/**
 * Keeps an error listener on the socket. The client removes all listeners between two steps of
 * connecting, and keeps none on the socket under TLS: a reset at that moment would end the
 * process. The socket's end still reaches the client, as its close or as its timeout.
 */
function catchErrors<S extends Socket>(socket: S): S {
  const removeAll = socket.removeAllListeners;
  const ignore = () => undefined;
  socket.removeAllListeners = (...event) => removeAll.apply(socket, event).on("error", ignore);
  return socket.on("error", ignore);
}

/**
 * Skips empty writes. In Deno 2.9.6, an empty write to a TLS socket never calls back and blocks all
 * later writes. The client makes one when it ends a stale connection.
 * `tests/daemon/machines/nats/empty_write_test.ts` fails once the runtime is fixed.
 */
function skipEmptyWrites<S extends Socket>(socket: S): S {
  const write = socket.write;
  socket.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    if (chunk.length > 0) return Reflect.apply(write, socket, [chunk, ...rest]);
    const done = rest.find((argument) => typeof argument === "function");
    if (done) queueMicrotask(() => done());
    return !socket.writableNeedDrain;
  };
  return socket;
}
