/** A daemon's connection to the relay, which can be held up, cut, and made to repeat a frame. */

import type { OpenSocket } from "../../../daemon/api/relay/relay_client.ts";
import type { Connection, ConnectionListener, FrameData } from "kit/net/tunnel/connection.ts";

/** The frozen direction: to the relay, from it, or both. */
export type Freeze = "up" | "down" | "both";

type FramePayload = string | Uint8Array<ArrayBuffer>;

export class FaultyTunnel {
  readonly #listener: ConnectionListener;
  readonly #connection: Connection;
  /** Frames in transit, in the order of their sending, while the tunnel is held up. */
  #delayed: (() => void)[] | undefined;
  #cut = false;
  #hasEnded = false;
  #frozen: Freeze | undefined;
  #lastSent: FramePayload | undefined;
  #lastReceived: FrameData | undefined;

  constructor(
    openSocket: OpenSocket,
    address: string,
    headers: Readonly<Record<string, string>>,
    listener: ConnectionListener,
  ) {
    this.#listener = listener;
    this.#connection = openSocket(address, headers, {
      opened: () => this.#pass("down", () => listener.opened()),
      received: (data) => {
        this.#lastReceived = data;
        this.#pass("down", () => listener.received(data));
      },
      closed: (...reason) => this.#pass("down", () => this.#end(...reason)),
    });
  }

  /** The daemon's end. */
  get daemonEnd(): Connection {
    const isOpen = () => !this.#cut && this.#connection.open;
    const buffered = () => this.#connection.buffered;
    return {
      get open() {
        return isOpen();
      },
      get buffered() {
        return buffered();
      },
      send: (data) => {
        this.#lastSent = data;
        this.#pass("up", () => this.#connection.send(data));
      },
      close: (code, reason) => {
        this.#pass("up", () => this.#connection.close(code, reason));
        // Each end closes without waiting for the other one (`toConnection`).
        if (this.#frozen) queueMicrotask(() => this.#end(code, reason));
      },
    };
  }

  get open(): boolean {
    return !this.#cut && this.#connection.open;
  }

  /** Delays all frames, in both directions, until `resume`. */
  holdUp(): void {
    this.#delayed ??= [];
  }

  resume(): void {
    const delayed = this.#delayed ?? [];
    this.#delayed = undefined;
    for (const pass of delayed) if (!this.#cut) pass();
  }

  /** Freezes the connection for good. It stays open; only a new connection helps. */
  freeze(way: Freeze): void {
    this.#frozen ??= way;
  }

  /** Loses the connection and every frame in transit. */
  cut(): void {
    if (this.#cut) return;
    this.loseDaemon();
    this.#end(1006, "");
  }

  /** The daemon has lost its power: it neither sends nor hears anything any more. */
  loseDaemon(): void {
    this.#cut = true;
    this.#delayed = undefined;
    this.#connection.close(1006, "");
  }

  /** Sends the last frame of one end again. */
  repeat(end: "daemon" | "relay"): void {
    if (end === "daemon" && this.#lastSent !== undefined) this.daemonEnd.send(this.#lastSent);
    const data = this.#lastReceived;
    if (end === "relay" && data !== undefined) {
      this.#pass("down", () => this.#listener.received(data));
    }
  }

  #end(...reason: Parameters<ConnectionListener["closed"]>): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#listener.closed(...reason);
  }

  #pass(way: "up" | "down", frame: () => void): void {
    if (this.#cut || this.#frozen === way || this.#frozen === "both") return;
    if (this.#delayed) this.#delayed.push(frame);
    else frame();
  }
}
