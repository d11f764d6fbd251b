/** Shows inbox items in the chat, in the order they came, each once, and answers their receipts. */

import { pause } from "kit/core/timeout.ts";
import { type BotApi, BotApiError, type ErrorClass, type Keyboard } from "./bot_api.ts";
import { Backoff, type BackoffDeps } from "./backoff.ts";
import { renderItem, renderUncertain, type ShownItem } from "./rendering.ts";

/** How many items are remembered, so that a repeat of one is known. */
const REMEMBERED_MAX = 10_000;
/** How many may wait here; the daemon keeps what is beyond, and offers it again. */
export const QUEUE_MAX = 1_000;
const RETRY_MS_MAX = 60_000;
const RATE_LIMIT_MS_MIN = 1_000;
/** How long a send that is under way may take to end when we are told to stop. */
const LAST_SEND_MS_MAX = 3_000;
/** After so long without success the daemon is told; the attempts go on. */
const REPORT_FAILURE_AFTER_MS = 30_000;
/** How often we say that a message may not have arrived, when that is unclear as well. */
const UNCERTAIN_NOTICES_MAX = 3;

/** `interrupted`: we were stopped in the middle of the item. */
type PushError = ErrorClass | "interrupted";

export interface Receipt {
  readonly type: "delivery_ack";
  readonly delivery_id: string;
  readonly status: "pushed" | "failed";
  readonly surface_ref: string | null;
  readonly surface_refs: readonly string[];
  readonly error_class?: PushError;
}

export interface OfferedItem {
  readonly delivery_id: string;
  readonly item: ShownItem;
  readonly reply_to_ref: string | null;
}

interface QueuedPush {
  readonly item_id: string;
  /** Said in place of a message that may have arrived. */
  readonly uncertainText: string;
  readonly reply_to: number | undefined;
  /** Every id under which the daemon offered it. */
  readonly delivery_ids: Set<string>;
  /** What is still to be sent. */
  readonly texts: string[];
  readonly keyboard: Keyboard | undefined;
  readonly refs: number[];
  state: "waiting" | "pushed" | "failed";
  error_class: PushError | undefined;
  uncertainCount: number;
}

export interface PushQueueDeps extends BackoffDeps {
  readonly bot: Pick<BotApi, "sendMessage">;
  /** Hands a receipt to the daemon; when that is away it is answered again at the next offer. */
  receipt(receipt: Receipt): void;
  /** Lets the daemon offer again what was not taken. */
  reoffer(): void;
  log(text: string): void;
}

/**
 * One item at a time. Down to the next message only after a definite yes; again only after a
 * definite no (nothing was sent, or Telegram wants us to wait). After an unclear outcome the text
 * is never sent again: a line that names the item takes its place.
 */
export class PushQueue {
  readonly #deps: PushQueueDeps;
  readonly #known = new Map<string, QueuedPush>();
  readonly #itemIds = new Map<number, string>();
  readonly #queue: QueuedPush[] = [];
  readonly #backoff: Backoff;
  #hasOverflowed = false;
  readonly #sendAbort = new AbortController();
  #wake: () => void = () => {};

  constructor(deps: PushQueueDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(deps, RETRY_MS_MAX);
  }

  /** The item that a message of ours shows, as far as this process sent it. */
  getItemId(message_id: number): string | undefined {
    return this.#itemIds.get(message_id);
  }

  /** Notes that a message shows an item. */
  recordMessage(message_id: number, item_id: string): void {
    this.#itemIds.set(message_id, item_id);
    evictOldest(this.#itemIds);
  }

  /** Takes an item in. One that was shown is not shown again: its receipt is. */
  add({ delivery_id, item, reply_to_ref }: OfferedItem): void {
    const known = this.#known.get(item.item_id);
    if (known) {
      known.delivery_ids.add(delivery_id);
      if (known.state === "pushed" || known.error_class === "unclear") this.#reportOutcome(known);
      else if (known.state === "failed") this.#enqueue(known);
      return;
    }
    if (this.#queue.length >= QUEUE_MAX) return void (this.#hasOverflowed = true);
    const { texts, keyboard } = renderItem(item);
    const queuedPush: QueuedPush = {
      item_id: item.item_id,
      uncertainText: renderUncertain(item),
      reply_to: toMessageId(reply_to_ref),
      delivery_ids: new Set([delivery_id]),
      texts: [...texts],
      keyboard,
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
   * Shows what comes, until the signal aborts or Telegram refuses the token. A send that is under
   * way then may end, and its receipt go out: the next process would show the item again.
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
      const [text] = queuedPush.texts;
      if (text === undefined) this.#finish(queuedPush, "pushed");
      else if (signal.aborted) return this.#interrupt(queuedPush);
      else await this.#send(queuedPush, text, signal);
    }
  }

  /** What was begun is told, so that whoever shows the item next can say that it is not new. */
  #interrupt(queuedPush: QueuedPush): void {
    if (queuedPush.refs.length > 0) this.#finish(queuedPush, "failed", "interrupted");
  }

  async #send(queuedPush: QueuedPush, text: string, signal: AbortSignal): Promise<void> {
    const { texts, refs, reply_to, keyboard, item_id } = queuedPush;
    try {
      const ref = await this.#deps.bot.sendMessage({
        text,
        reply_to: refs.length === 0 ? reply_to : undefined,
        keyboard: texts.length === 1 ? keyboard : undefined,
      }, this.#sendAbort.signal);
      refs.push(ref);
      texts.shift();
      this.recordMessage(ref, item_id);
      this.#backoff.reset();
    } catch (error) {
      const known = error instanceof BotApiError ? error : undefined;
      // Cut off, or lost while we stop: there is no time left to say so in the chat.
      const unclear = this.#sendAbort.signal.aborted || known?.error_class === "unclear";
      if (signal.aborted && unclear) return this.#finish(queuedPush, "failed", "unclear");
      if (!known) throw error;
      await this.#handleError(queuedPush, known, signal);
    }
  }

  async #handleError(
    queuedPush: QueuedPush,
    error: BotApiError,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, log } = this.#deps;
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
        queuedPush.texts[0] = queuedPush.uncertainText;
        return await this.#retryLater(queuedPush, error, signal);
      default:
        log(`Telegram does not take ${queuedPush.item_id}: ${message}`);
        return this.#finish(queuedPush, "failed", error_class);
    }
  }

  async #retryLater(
    queuedPush: QueuedPush,
    { error_class, message }: BotApiError,
    signal: AbortSignal,
  ) {
    const beforeMs = this.#backoff.waitedMs;
    if (beforeMs === 0) this.#deps.log(`${message}; ${queuedPush.item_id} is tried again`);
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

  /** Says that it has not worked so far. */
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
    const surface_refs = refs.map(String);
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

/** Lets the oldest go that may go. */
function evictOldest<K, V>(known: Map<K, V>, canEvict: (value: V) => boolean = () => true): void {
  if (known.size <= REMEMBERED_MAX) return;
  for (const [key, value] of known) {
    if (canEvict(value)) return void known.delete(key);
  }
}

function toMessageId(ref: string | null): number | undefined {
  return ref !== null && /^\d{1,15}$/.test(ref) ? Number(ref) : undefined;
}
