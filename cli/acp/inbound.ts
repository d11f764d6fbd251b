/** The messages that arrive for the agent: each becomes one prompt, and its receipt is reported. */

import * as z from "zod";
import type { TypedFrame } from "../client/daemon_connection.ts";

/** Messages that wait for a prompt of their own. */
export const WAITING_MAX = 1_000;
/** Number of finished messages whose ids are remembered, to recognize repeated messages. */
export const DONE_MAX = 5_000;
const DETAIL_CHARS_MAX = 1_000;

/** A message of another peer. `framed` is the text that an agent reads. */
const Message = z.looseObject({
  type: z.enum(["ask", "notify", "broadcast", "ack"]),
  delivery_id: z.string(),
  from_peer: z.string(),
  framed: z.string(),
});
export type Message = z.output<typeof Message>;

interface Receipt {
  readonly status: "seen" | "failed";
  readonly detail?: string;
}

interface InboundDeps {
  send(frame: object): void;
  /** Makes the daemon send every message again that has no receipt. */
  reoffer(): void;
  /** A message waits. */
  arrived(): void;
}

export class Inbound {
  readonly #deps: InboundDeps;
  readonly #waiting: Message[] = [];
  /** The receipts by delivery id; undefined while the message waits or runs. */
  readonly #receipts = new Map<string, Receipt | undefined>();
  #isRefusing = false;

  constructor(deps: InboundDeps) {
    this.#deps = deps;
  }

  /** Takes a frame of the daemon. Frames that are not messages are ignored. */
  received(frame: TypedFrame): void {
    const message = Message.safeParse(frame).data;
    if (!message) return;
    const { delivery_id } = message;
    const receipt = this.#receipts.get(delivery_id);
    if (receipt) return this.#report(delivery_id, receipt);
    if (this.#receipts.has(delivery_id)) return;
    // The daemon keeps a message until it has a receipt.
    if (this.#waiting.length >= WAITING_MAX) return void (this.#isRefusing = true);
    this.#receipts.set(delivery_id, undefined);
    this.#waiting.push(message);
    this.#deps.arrived();
  }

  /** The next message; undefined if none waits. */
  next(): Message | undefined {
    const message = this.#waiting.shift();
    if (this.#waiting.length === 0 && this.#isRefusing) {
      this.#isRefusing = false;
      this.#deps.reoffer();
    }
    return message;
  }

  /** Reports that the agent has read the message. */
  seen({ delivery_id }: Message): void {
    this.#finish(delivery_id, { status: "seen" });
  }

  /** Reports that the agent has refused the message, and will not read it. */
  failed({ delivery_id }: Message, detail: string): void {
    this.#finish(delivery_id, { status: "failed", detail: detail.slice(0, DETAIL_CHARS_MAX) });
  }

  /** The first receipt stands: a message that was read stays read, however its turn ended. */
  #finish(delivery_id: string, receipt: Receipt): void {
    if (this.#receipts.get(delivery_id)) return;
    this.#receipts.set(delivery_id, receipt);
    this.#report(delivery_id, receipt);
    if (this.#receipts.size <= DONE_MAX + WAITING_MAX) return;
    for (const [id, known] of this.#receipts) {
      if (known) return void this.#receipts.delete(id);
    }
  }

  /** Without a connection, the report follows when the daemon sends the message again. */
  #report(delivery_id: string, receipt: Receipt): void {
    this.#deps.send({ type: "delivery_ack", delivery_id, ...receipt });
  }
}
