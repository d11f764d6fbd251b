/**
 * The messages that the daemon sent, and the state of each, so that no message reaches the agent
 * twice.
 */

import type { Frame } from "./connection.ts";

/** Maximum deliveries remembered. The oldest accepted deliveries are forgotten first. */
const KNOWN_MAX = 5000;

export interface Delivery {
  readonly id: string;
  /**
   * The id that the text carries. A prompt that contains this id proves that the message was seen.
   */
  readonly proof: string;
  readonly text: string;
  /** `unclear` means that the call failed, but opencode may have taken the text. */
  state: "waiting" | "prompting" | "unclear" | "accepted";
  seen: boolean;
}

export class Deliveries {
  readonly #known = new Map<string, Delivery>();
  readonly #queue: Delivery[] = [];
  readonly #send: (frame: Frame) => void;

  constructor(send: (frame: Frame) => void) {
    this.#send = send;
  }

  /** Queues a new message and returns true. A known message is reported again, but not queued. */
  take(frame: Frame): boolean {
    const { type, delivery_id: id, correlation_id, framed: text } = frame;
    if (typeof id !== "string" || typeof text !== "string") return false;
    const known = this.#known.get(id);
    if (known) {
      this.#report(known);
      return false;
    }
    const proof = type === "ask" ? String(correlation_id) : id;
    const delivery: Delivery = { id, proof, text, state: "waiting", seen: false };
    this.#known.set(id, delivery);
    this.#queue.push(delivery);
    for (const { id, state } of this.#known.values()) {
      if (this.#known.size <= KNOWN_MAX) break;
      if (state === "accepted") this.#known.delete(id);
    }
    return true;
  }

  next(): Delivery | undefined {
    return this.#queue.shift();
  }

  requeue(delivery: Delivery): void {
    delivery.state = "waiting";
    this.#queue.unshift(delivery);
  }

  /** Drops all waiting messages. The daemon keeps undelivered messages and sends them again. */
  dropWaiting(): void {
    for (const { id } of this.#queue.splice(0)) this.#known.delete(id);
  }

  accepted(delivery: Delivery): void {
    // The message appeared in the transcript before the call returned.
    if (delivery.state === "accepted") return;
    delivery.state = "accepted";
    this.#report(delivery);
  }

  rejected({ id }: Delivery, detail: string): void {
    this.#known.delete(id);
    this.#send({ type: "delivery_ack", delivery_id: id, status: "rejected", detail });
  }

  /**
   * Marks as seen, and returns, the messages whose id appears in a prompt of the agent's
   * transcript.
   */
  markSeenIn(text: string): readonly Delivery[] {
    const shown = [...this.#known.values()].filter(({ proof, state }) =>
      state !== "waiting" && text.includes(proof)
    );
    for (const delivery of shown) {
      delivery.seen = true;
      delivery.state = "accepted";
      this.#report(delivery);
    }
    return shown;
  }

  #report({ id, state, seen }: Delivery): void {
    if (state !== "accepted") return;
    this.#send({ type: "delivery_ack", delivery_id: id, status: "accepted" });
    if (seen) this.#send({ type: "delivery_ack", delivery_id: id, status: "seen" });
  }
}
