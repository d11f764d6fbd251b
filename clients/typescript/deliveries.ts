/** The messages that arrive: each is handled once, and reported to the daemon once it is done. */

import type { Frame } from "./connection.ts";

/** Number of handled messages whose ids are remembered, to recognize repeated messages. */
const DONE_MAX = 5_000;

type Receipt = "seen" | "failed";

interface Delivery {
  readonly frame: Frame;
  /** Undefined while the message waits for a handler, or is being handled. */
  receipt: { readonly status: Receipt; readonly detail?: string } | undefined;
}

export type Handler = (frame: Frame) => void | Promise<void>;

/**
 * The daemon sends a message again until it has a receipt. The receipt goes out when the handler is
 * done, so that a crash before loses nothing.
 */
export class Deliveries {
  readonly #send: (frame: Frame) => boolean;
  readonly #handlers = new Map<string, Handler>();
  readonly #kept = new Map<string, Delivery>();
  /** Messages of a type that has no handler yet. */
  readonly #waiting = new Map<string, Delivery[]>();

  constructor(send: (frame: Frame) => boolean) {
    this.#send = send;
  }

  /** Sets the handler of a type, and passes it the messages that waited for one. */
  handle(type: string, handler: Handler): void {
    this.#handlers.set(type, handler);
    const waiting = this.#waiting.get(type) ?? [];
    this.#waiting.delete(type);
    for (const kept of waiting) void this.#run(kept, handler);
  }

  take(frame: Frame): void {
    const id = String(frame["delivery_id"]), type = String(frame["type"]);
    const known = this.#kept.get(id);
    if (known) return this.#report(known);
    const kept: Delivery = { frame, receipt: undefined };
    this.#kept.set(id, kept);
    this.#forgetOldest();
    const handler = this.#handlers.get(type);
    if (handler) return void this.#run(kept, handler);
    const waiting = this.#waiting.get(type) ?? [];
    this.#waiting.set(type, [...waiting, kept]);
  }

  async #run(kept: Delivery, handler: Handler): Promise<void> {
    try {
      await handler(kept.frame);
      kept.receipt = { status: "seen" };
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      kept.receipt = { status: "failed", detail: detail.slice(0, 1000) };
    }
    this.#report(kept);
  }

  /** Without a connection, the report follows when the daemon sends the message again. */
  #report({ frame, receipt }: Delivery): void {
    if (!receipt) return;
    this.#send({ type: "delivery_ack", delivery_id: frame["delivery_id"], ...receipt });
  }

  #forgetOldest(): void {
    if (this.#kept.size <= DONE_MAX) return;
    for (const [id, { receipt }] of this.#kept) {
      if (receipt) return void this.#kept.delete(id);
    }
  }
}
