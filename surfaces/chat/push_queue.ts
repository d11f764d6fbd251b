/** Sends inbox items to the chat in order, each once, and returns receipts to the daemon. */

import { pause } from "kit/core/timeout.ts";
import { Backoff, type BackoffDeps } from "../../cli/client/backoff.ts";
import { ChatError, type ErrorClass } from "./chat.ts";
import type { ShownMessages } from "./daemon_calls.ts";
import { FileNotSent, type PartSenderDeps, sendPart } from "./part_sender.ts";
import { type Part, partsOf, replacement } from "./parts.ts";
import type { ShownItem } from "./rendering.ts";

/** Number of items that are remembered, in order to recognize repeats. */
const REMEMBERED_MAX = 10_000;
/** Maximum number of queued items. The daemon keeps all further items and offers them again. */
export const QUEUE_MAX = 1_000;
const RETRY_MS_MAX = 60_000;
const RATE_LIMIT_MS_MIN = 1_000;
/** Time limit for a send in progress after the stop signal. */
const LAST_SEND_MS_MAX = 3_000;
/** After this time without success the failure is reported; attempts continue. */
const REPORT_FAILURE_AFTER_MS = 30_000;
/** Maximum number of "may not have arrived" notices whose own outcome is unclear. */
const UNCERTAIN_NOTICES_MAX = 3;

/** `interrupted` means that the process stopped after a part of the item was sent. */
type PushError = ErrorClass | "interrupted";

export interface Receipt {
  readonly type: "delivery_ack";
  readonly delivery_id: string;
  readonly status: "pushed" | "failed";
  readonly surface_ref: string | null;
  readonly surface_refs: readonly string[];
  readonly error_class?: PushError;
}

interface OfferedItem {
  readonly delivery_id: string;
  readonly item: ShownItem;
  readonly reply_to_ref: string | null;
}

interface QueuedPush {
  readonly item_id: string;
  /** True if an earlier process may have sent it. */
  readonly mayBeShown: boolean;
  readonly reply_to: string | undefined;
  /** All delivery ids under which the daemon has offered the item. */
  readonly delivery_ids: Set<string>;
  /** The parts that are not sent yet. */
  readonly parts: Part[];
  /** True if any part was sent. */
  hasStarted: boolean;
  readonly refs: string[];
  state: "waiting" | "pushed" | "failed";
  error_class: PushError | undefined;
  uncertainCount: number;
}

interface PushQueueDeps extends BackoffDeps, PartSenderDeps {
  /**
   * Sends a receipt to the daemon. If it is lost, the daemon offers the item again and gets another
   * receipt.
   */
  receipt(receipt: Receipt): void;
  /** Makes the daemon offer again all items that were not queued. */
  reoffer(): void;
  log(text: string): void;
}

/**
 * Sends one item at a time. The next part follows only after the chat accepted the last one. A part
 * is sent again only after a definite failure (nothing was sent, or the chat asks us to wait).
 * After an unclear outcome a short notice that names the item is sent in its place. A text also
 * replaces a file that the chat refuses.
 */
export class PushQueue implements ShownMessages {
  readonly #deps: PushQueueDeps;
  readonly #known = new Map<string, QueuedPush>();
  readonly #itemIds = new Map<string, string>();
  readonly #buttonRefs = new Map<string, readonly string[]>();
  readonly #queue: QueuedPush[] = [];
  readonly #backoff: Backoff;
  readonly #startedAt: number;
  #hasOverflowed = false;
  readonly #sendAbort = new AbortController();
  #wake: () => void = () => {};

  constructor(deps: PushQueueDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(deps, RETRY_MS_MAX);
    this.#startedAt = deps.clock.now();
  }

  /** The item that a message shows, if this process sent the message. */
  getItemId(ref: string): string | undefined {
    return this.#itemIds.get(ref);
  }

  /** Records that a message shows an item, or its buttons. */
  recordMessage(ref: string, item_id: string, hasButtons: boolean): void {
    this.#itemIds.set(ref, item_id);
    evictOldest(this.#itemIds);
    if (hasButtons) this.#buttonRefs.set(item_id, [...this.buttonRefs(item_id), ref]);
    evictOldest(this.#buttonRefs);
  }

  buttonRefs(item_id: string): readonly string[] {
    return this.#buttonRefs.get(item_id) ?? [];
  }

  /** Shows an item as it is now, if no part of it was sent yet. */
  update(item: ShownItem): void {
    const known = this.#known.get(item.item_id);
    if (known?.state !== "waiting" || known.hasStarted) return;
    known.parts.splice(0, Infinity, ...partsOf(item, this.#deps.chat.style));
  }

  /** Queues an item. If it was already sent, only its receipt is repeated. */
  add({ delivery_id, item, reply_to_ref }: OfferedItem): void {
    const known = this.#known.get(item.item_id);
    if (known) {
      known.delivery_ids.add(delivery_id);
      if (known.state === "pushed" || known.error_class === "unclear") this.#reportOutcome(known);
      else if (known.state === "failed") this.#enqueue(known);
      return;
    }
    if (this.#queue.length >= QUEUE_MAX) return void (this.#hasOverflowed = true);
    const queuedPush: QueuedPush = {
      item_id: item.item_id,
      mayBeShown: item.created_at <= this.#startedAt,
      reply_to: reply_to_ref ?? undefined,
      delivery_ids: new Set([delivery_id]),
      parts: partsOf(item, this.#deps.chat.style),
      hasStarted: false,
      refs: [],
      state: "waiting",
      error_class: undefined,
      uncertainCount: 0,
    };
    this.#known.set(item.item_id, queuedPush);
    evictOldest(this.#known, ({ state }) => state !== "waiting");
    this.#enqueue(queuedPush);
  }

  /**
   * Sends queued items until the signal aborts or the chat rejects the token. A send in progress
   * may finish and return its receipt; otherwise the next process would send the item again.
   */
  async run(signal: AbortSignal): Promise<void> {
    const finished = new AbortController();
    const stopped = () => {
      this.#wake();
      pause(this.#deps.clock, LAST_SEND_MS_MAX, finished.signal).then(() =>
        this.#sendAbort.abort()
      );
    };
    signal.addEventListener("abort", stopped, { once: true });
    try {
      while (!signal.aborted) await this.#processNext(signal);
    } finally {
      finished.abort();
    }
  }

  async #processNext(signal: AbortSignal): Promise<void> {
    const first = this.#queue.shift();
    if (first) return await this.#sendAll(first, signal);
    if (this.#hasOverflowed) this.#deps.reoffer();
    this.#hasOverflowed = false;
    await new Promise<void>((resolve) => this.#wake = resolve);
  }

  #enqueue(queuedPush: QueuedPush): void {
    queuedPush.state = "waiting";
    this.#queue.push(queuedPush);
    this.#wake();
  }

  async #sendAll(queuedPush: QueuedPush, signal: AbortSignal): Promise<void> {
    while (queuedPush.state === "waiting") {
      const [part] = queuedPush.parts;
      if (part === undefined) return this.#finish(queuedPush, "pushed");
      if (signal.aborted) {
        // The next process can then mark the item as repeated.
        if (queuedPush.hasStarted) this.#finish(queuedPush, "failed", "interrupted");
        return;
      }
      await this.#send(queuedPush, part, signal);
    }
  }

  async #send(queuedPush: QueuedPush, part: Part, signal: AbortSignal): Promise<void> {
    const { hasStarted, refs, mayBeShown } = queuedPush;
    const reply_to = hasStarted ? undefined : queuedPush.reply_to;
    try {
      const signals = { stop: signal, abort: this.#sendAbort.signal };
      const place = { reply_to, first_ref: refs[0], mayBeShown };
      this.#onSent(queuedPush, await sendPart(this.#deps, part, place, signals));
    } catch (error) {
      if (error instanceof FileNotSent && part.kind === "file") {
        this.#deps.log(`${queuedPush.item_id}: "${part.filename}" is not sent: ${error.message}`);
        queuedPush.parts[0] = replacement(part, part.notSent(error.message));
        return;
      }
      const known = error instanceof ChatError ? error : undefined;
      // If the send was aborted or its answer lost while stopping, no time is left for a notice in
      // the chat.
      const unclear = this.#sendAbort.signal.aborted || known?.error_class === "unclear";
      if (signal.aborted && unclear) return this.#finish(queuedPush, "failed", "unclear");
      if (!known) throw error;
      await this.#handleError(queuedPush, part, known, signal);
    }
  }

  #onSent(queuedPush: QueuedPush, ref: string | undefined): void {
    const { parts, refs, item_id } = queuedPush;
    const part = parts.shift();
    queuedPush.hasStarted = true;
    queuedPush.uncertainCount = 0;
    this.#backoff.reset();
    if (ref === undefined) return;
    refs.push(ref);
    this.recordMessage(ref, item_id, part?.kind === "text" && part.buttons !== undefined);
  }

  async #handleError(
    queuedPush: QueuedPush,
    part: Part,
    error: ChatError,
    signal: AbortSignal,
  ): Promise<void> {
    const { chat, clock, log } = this.#deps;
    const { error_class, retry_after_ms, message } = error;
    switch (error_class) {
      case "unauthorized":
        this.#finish(queuedPush, "failed", error_class);
        throw error;
      case "rate_limited":
        if (retry_after_ms === undefined) return await this.#retryLater(queuedPush, error, signal);
        if (retry_after_ms > REPORT_FAILURE_AFTER_MS) this.#reportFailure(queuedPush, error_class);
        return await pause(clock, Math.max(retry_after_ms, RATE_LIMIT_MS_MIN), signal);
      case "network":
      case "conflict":
        return await this.#retryLater(queuedPush, error, signal);
      case "unclear":
        if (++queuedPush.uncertainCount > UNCERTAIN_NOTICES_MAX) {
          return this.#finish(queuedPush, "failed", error_class);
        }
        queuedPush.parts[0] = replacement(part, part.uncertain);
        return await this.#retryLater(queuedPush, error, signal);
      default:
        log(`${chat.style.title} rejects ${queuedPush.item_id}: ${message}`);
        return this.#finish(queuedPush, "failed", error_class);
    }
  }

  async #retryLater(
    queuedPush: QueuedPush,
    { error_class, message }: ChatError,
    signal: AbortSignal,
  ) {
    const beforeMs = this.#backoff.waitedMs;
    if (beforeMs === 0) this.#deps.log(`${message}; retrying ${queuedPush.item_id}`);
    await this.#backoff.pause(signal);
    const nowMs = this.#backoff.waitedMs;
    if (beforeMs < REPORT_FAILURE_AFTER_MS && nowMs >= REPORT_FAILURE_AFTER_MS) {
      this.#reportFailure(queuedPush, error_class);
    }
  }

  #finish(queuedPush: QueuedPush, state: "pushed" | "failed", error_class?: PushError): void {
    queuedPush.state = state;
    queuedPush.error_class = error_class;
    this.#reportOutcome(queuedPush);
  }

  /** Reports that the item has not been sent so far; attempts continue. */
  #reportFailure(queuedPush: QueuedPush, error_class: ErrorClass): void {
    this.#sendReceipts(queuedPush, { status: "failed", error_class });
  }

  #reportOutcome(queuedPush: QueuedPush): void {
    const { state, error_class } = queuedPush;
    if (state === "pushed") this.#sendReceipts(queuedPush, { status: "pushed" });
    else this.#sendReceipts(queuedPush, { status: "failed", ...(error_class && { error_class }) });
  }

  #sendReceipts(
    { delivery_ids, refs }: QueuedPush,
    outcome: Pick<Receipt, "status" | "error_class">,
  ): void {
    const surface_refs = [...refs];
    const surface_ref = surface_refs[0] ?? null;
    for (const delivery_id of delivery_ids) {
      this.#deps.receipt({
        type: "delivery_ack",
        delivery_id,
        ...outcome,
        surface_ref,
        surface_refs,
      });
    }
  }
}

/** Deletes the oldest entry that may be evicted, once the map is full. */
function evictOldest<K, V>(known: Map<K, V>, canEvict: (value: V) => boolean = () => true): void {
  if (known.size <= REMEMBERED_MAX) return;
  for (const [key, value] of known) {
    if (canEvict(value)) return void known.delete(key);
  }
}
