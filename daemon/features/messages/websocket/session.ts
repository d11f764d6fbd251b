/** One open `/ws` connection: sends frames, limits its buffer, pings. Knows no delivery rules. */

import type { Clock, Monotonic } from "kit/core/clock.ts";
import { KeepAlive } from "kit/net/keep_alive.ts";
import { toWire } from "protocol/messages/attachments.ts";
import { isOutside, originMark } from "protocol/derived/origins.ts";
import { expiryField } from "protocol/messages/question.ts";
import { CLOSE, type CloseReasonCode, type Outbound } from "./frames.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";

/** The part of a WebSocket that a session needs. */
export interface Connection {
  readonly open: boolean;
  /** Bytes sent and not yet taken by the network. */
  readonly buffered: number;
  send(text: string): void;
  close(code: number, reason: string): void;
}

/** Maximum buffered bytes. Above it nothing is sent; a client that stays there is disconnected. */
const OUTGOING_BYTES_MAX = 16 * 1024 * 1024;
/** Maximum time above that maximum: a burst within one turn does not make a slow reader. */
const FULL_MS_MAX = 1000;
export const PING_EVERY_MS = 20_000;
const KEEP_ALIVE = { every_ms: PING_EVERY_MS, unanswered_max: 2 };
const BAD_FRAMES_MAX = 20;
const BAD_FRAMES_WINDOW_MS = 60_000;

export interface Identity {
  readonly peer_id: string;
  readonly display_name: string;
  readonly receipts: boolean;
  /** True if messages to this client carry the frame that the agent reads. */
  readonly framed: boolean;
  /** True if this client interrupts its agent's turn when the daemon asks for it. */
  readonly interrupts: boolean;
  /** The inbox surface or bridge of this connection; null if it is neither. */
  readonly surface: { readonly name: string; readonly bridge: boolean } | null;
}

export class Session {
  readonly #connection: Connection;
  readonly identity: Identity;
  /** True once the queue was replayed, so that new messages are sent at once. */
  isCaughtUp = false;
  /** True while the peer counts as offline. Nothing is sent until the peer is back. */
  isSuspended = false;
  readonly #keepAlive: KeepAlive;
  /** The time since which the buffer is full. */
  #full_since: number | undefined;

  constructor(connection: Connection, identity: Identity, clock: Clock) {
    this.#connection = connection;
    this.identity = identity;
    this.#keepAlive = new KeepAlive(clock, KEEP_ALIVE);
  }

  get peer_id(): string {
    return this.identity.peer_id;
  }

  get open(): boolean {
    return this.#connection.open;
  }

  get buffered(): number {
    return this.#connection.buffered;
  }

  /** True if the client sends receipts for this kind. Without a receipt, a message is repeated. */
  receipts(kind: StoredMessage["kind"]): boolean {
    const { receipts, surface } = this.identity;
    return receipts || (kind === "inbox_item" && surface !== null && !surface.bridge);
  }

  /** Sends a frame; false if the connection is closed or its buffer is full. */
  send(frame: Outbound): boolean {
    if (!this.#connection.open || this.#isFull()) return false;
    this.#connection.send(JSON.stringify(frame));
    return true;
  }

  pongReceived(): void {
    this.#keepAlive.heard();
  }

  /** Pings when due. Closes after two unanswered pings, or when the buffer stays full. */
  tick(now: Monotonic): void {
    if (!this.#isFull()) this.#full_since = undefined;
    else if (now - (this.#full_since ??= now) >= FULL_MS_MAX) return this.close("too_slow");
    const ping_id = this.#keepAlive.tick(now);
    if (ping_id === "gone") this.close("no_pong");
    else if (ping_id !== undefined) this.send({ type: "ping", ping_id: String(ping_id) });
  }

  #isFull(): boolean {
    return this.#connection.buffered > OUTGOING_BYTES_MAX;
  }

  close(why: CloseReasonCode): void {
    if (this.#connection.open) this.#connection.close(CLOSE[why], why);
  }
}

/** Counts bad frames: 20 in a minute are too many. */
export class BadFrameLimit {
  #windowStart = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** Counts one more bad frame. Returns true if there are too many. */
  isExceeded(now: Monotonic): boolean {
    if (now - this.#windowStart > BAD_FRAMES_WINDOW_MS) {
      this.#windowStart = now;
      this.#count = 0;
    }
    return ++this.#count >= BAD_FRAMES_MAX;
  }
}

/** The frame of a message (contract 4); `framed` is the text that the agent reads. */
export function toFrame(message: StoredMessage, framed?: string): Outbound {
  const { kind, delivery_id, correlation_id, attachments, text, traceparent } = message;
  const from = {
    delivery_id,
    from_peer: message.from_peer_name,
    from_peer_id: message.from_peer_id,
    voice: message.voice,
    ...(message.sent_by !== null && { sent_by: message.sent_by }),
    ...(isOutside(message.chain) && { origin: originMark(message.chain) }),
    ...(framed !== undefined && { framed }),
  };
  const more = {
    traceparent,
    ...(message.urgent && { urgent: true as const }),
    ...(attachments.length > 0 && { attachments: toWire(attachments) }),
  };
  if (kind === "ack") {
    const { close_reason, outcome } = message;
    const closing = { correlation_id, close_reason, outcome, text: text || null };
    return { type: kind, ...from, ...closing, ...more, ...proofOf(message) };
  }
  const to = { to_peer: message.to_peer_name, to_peer_id: message.to_peer_id };
  const fields = { ...from, ...to, text, ...more };
  if (kind === "ask" && correlation_id) {
    return {
      type: kind,
      correlation_id,
      ...fields,
      ...(message.reply_to && { reply_to: message.reply_to }),
      ...(message.question && { question: message.question, ...expiryField(message) }),
      ...(message.proof?.checks.length && { prove: message.proof.checks }),
    };
  }
  return { type: kind === "broadcast" ? kind : "notify", ...fields };
}

/** The outcome of the checks of an answer. */
function proofOf({ proof }: StoredMessage) {
  return proof ? { proof: { state: proof.state, results: proof.results } } : {};
}
