/** A network in memory: lines in pairs, in order, that a test may stall or cut. */

import type { Data, Ears, Line } from "kit/net/tunnel/connection.ts";

/** One end of a line. What is sent arrives at the other's ears, a turn later. */
export class End implements Line {
  readonly #ears: Ears;
  #other: End | undefined;
  readonly #unsent: Data[] = [];
  #state: "open" | "closing" | "closed" = "open";
  #stalled = false;
  /** Every frame that was sent on it. */
  readonly sent: Data[] = [];

  constructor(ears: Ears) {
    this.#ears = ears;
  }

  static pair(here: Ears, there: Ears): [End, End] {
    const [a, b] = [new End(here), new End(there)];
    a.#other = b;
    b.#other = a;
    return [a, b];
  }

  get open(): boolean {
    return this.#state === "open";
  }

  get buffered(): number {
    return this.#unsent.reduce((sum, data) => {
      return sum + (typeof data === "string" ? data.length : data.byteLength);
    }, 0);
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    if (!this.open) return;
    const frame = typeof data === "string" ? data : data.slice().buffer;
    this.sent.push(frame);
    this.#unsent.push(frame);
    queueMicrotask(() => this.#flow());
  }

  close(code: number, reason: string): void {
    if (!this.open) return;
    this.#state = "closing";
    queueMicrotask(() => {
      this.#stalled = false;
      this.#flow();
      this.#other?.end(code, reason);
      this.end(code, reason);
    });
  }

  /** Nothing more gets out, and nobody is told. */
  stall(): void {
    this.#stalled = true;
  }

  resume(): void {
    this.#stalled = false;
    this.#flow();
  }

  /** The network is gone: both ends hear of it, and what was on the way is lost. */
  cut(): void {
    this.#unsent.length = 0;
    this.#other?.end(1006, "");
    this.end(1006, "");
  }

  /** Both ends are there. */
  established(): void {
    queueMicrotask(() => this.#ears.opened());
  }

  #flow(): void {
    if (this.#stalled || this.#state === "closed") return;
    for (const frame of this.#unsent.splice(0)) {
      if (this.#other?.open) this.#other.#ears.heard(frame);
    }
  }

  end(code: number, reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#ears.closed(code, reason);
  }
}
