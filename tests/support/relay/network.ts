/** Pairs of connections in memory, which a test can stall or cut. */

import type { Connection, ConnectionListener, FrameData } from "kit/net/tunnel/connection.ts";

/** An end of a connection. A message reaches the listener of the other end one turn later. */
export class FakeConnection implements Connection {
  readonly #listener: ConnectionListener;
  #peer: FakeConnection | undefined;
  readonly #queue: FrameData[] = [];
  #state: "open" | "closing" | "closed" = "open";
  #stalled = false;
  /** Every message that was sent. */
  readonly sent: FrameData[] = [];

  constructor(listener: ConnectionListener) {
    this.#listener = listener;
  }

  static pair(
    local: ConnectionListener,
    remote: ConnectionListener,
  ): [FakeConnection, FakeConnection] {
    const [a, b] = [new FakeConnection(local), new FakeConnection(remote)];
    a.#peer = b;
    b.#peer = a;
    return [a, b];
  }

  get open(): boolean {
    return this.#state === "open";
  }

  get buffered(): number {
    return this.#queue.reduce((sum, data) => {
      return sum + (typeof data === "string" ? data.length : data.byteLength);
    }, 0);
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    if (!this.open) return;
    const frame = typeof data === "string" ? data : data.slice().buffer;
    this.sent.push(frame);
    this.#queue.push(frame);
    queueMicrotask(() => this.#flush());
  }

  close(code: number, reason: string): void {
    if (!this.open) return;
    this.#state = "closing";
    queueMicrotask(() => {
      this.#stalled = false;
      this.#flush();
      this.#peer?.end(code, reason);
      this.end(code, reason);
    });
  }

  /** Holds back all messages, without closing the connection. */
  stall(): void {
    this.#stalled = true;
  }

  resume(): void {
    this.#stalled = false;
    this.#flush();
  }

  /** Closes both ends, and drops messages in transit. */
  cut(): void {
    this.#queue.length = 0;
    this.#peer?.end(1006, "");
    this.end(1006, "");
  }

  /** Opens both ends. */
  notifyOpened(): void {
    queueMicrotask(() => this.#listener.opened());
  }

  #flush(): void {
    if (this.#stalled || this.#state === "closed") return;
    for (const frame of this.#queue.splice(0)) {
      if (this.#peer?.open) this.#peer.#listener.received(frame);
    }
  }

  end(code: number, reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#listener.closed(code, reason);
  }
}
