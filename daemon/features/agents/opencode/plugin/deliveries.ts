/** The messages that the daemon sent, and how far each got: no message reaches the agent twice. */

import type { Frame } from "./connection.ts";

/** Deliveries that are remembered; the oldest accepted ones are forgotten first. */
const KNOWN_MAX = 5000;

export interface Delivery {
  readonly id: string;
  /** The id that the text carries. A prompt that shows it proves that the message was seen. */
  readonly proof: string;
  readonly text: string;
  /** `unclear`: the call failed, and opencode may have taken the text all the same. */
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

  /** True for a new message. A known one is reported again, and not queued. */
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

  /** The daemon keeps undelivered messages and sends them again. */
  dropWaiting(): void {
    for (const { id } of this.#queue.splice(0)) this.#known.delete(id);
  }

  accepted(delivery: Delivery): void {
    // The message itself arrived before the call returned.
    if (delivery.state === "accepted") return;
    delivery.state = "accepted";
    this.#report(delivery);
  }

  rejected({ id }: Delivery, detail: string): void {
    this.#known.delete(id);
    this.#send({ type: "delivery_ack", delivery_id: id, status: "rejected", detail });
  }

  /** The messages that a prompt in the agent's own transcript shows. */
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
