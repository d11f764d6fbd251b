/** Shows inbox items in the chat, in the order they came, each once, and answers their receipts. */

import { pause } from "kit/core/timeout.ts";
import { type BotApi, BotFault, type ErrorClass, type Keyboard } from "./bot_api.ts";
import { Backoff, type Chance } from "./backoff.ts";
import { renderDoubt, renderItem, type ShownItem } from "./rendering.ts";

/** How many items are remembered, so that a repeat of one is known. */
const KNOWN_MAX = 10_000;
/** How many may wait here; the daemon keeps what is beyond, and offers it again. */
export const WAITING_MAX = 1_000;
const RETRY_MS_MAX = 60_000;
const RATE_LIMIT_MS_MIN = 1_000;
/** How long a send that is under way may take to end when we are told to stop. */
const LAST_SEND_MS_MAX = 3_000;
/** After so long without success the daemon is told; the attempts go on. */
const SILENT_MS_MAX = 30_000;
/** How often we say that a message may not have arrived, when that is unclear as well. */
const DOUBTS_MAX = 3;

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

export interface Offer {
  readonly delivery_id: string;
  readonly item: ShownItem;
  readonly reply_to_ref: string | null;
}

interface Showing {
  readonly item_id: string;
  /** Said in place of a message that may have arrived. */
  readonly doubt: string;
  readonly reply_to: number | undefined;
  /** Every id under which the daemon offered it. */
  readonly delivery_ids: Set<string>;
  /** What is still to be sent. */
  readonly texts: string[];
  readonly keyboard: Keyboard | undefined;
  readonly refs: number[];
  state: "waiting" | "pushed" | "failed";
  error_class: PushError | undefined;
  doubts: number;
}

export interface PushNeeds extends Chance {
  readonly bot: Pick<BotApi, "sendMessage">;
  /** Hands a receipt to the daemon; when that is away it is answered again at the next offer. */
  receipt(receipt: Receipt): void;
  /** Lets the daemon offer again what was not taken. */
  reoffer(): void;
  say(what: string): void;
}

/**
 * One item at a time. Down to the next message only after a definite yes; again only after a
 * definite no (nothing was sent, or Telegram wants us to wait). After an unclear outcome the text
 * is never sent again: a line that names the item takes its place.
 */
export class Pushes {
  readonly #needs: PushNeeds;
  readonly #known = new Map<string, Showing>();
  readonly #items = new Map<number, string>();
  readonly #waiting: Showing[] = [];
  readonly #backoff: Backoff;
  #overflowed = false;
  readonly #cut = new AbortController();
  #wake: () => void = () => {};

  constructor(needs: PushNeeds) {
    this.#needs = needs;
    this.#backoff = new Backoff(needs, RETRY_MS_MAX);
  }

  /** The item that a message of ours shows, as far as this process sent it. */
  itemOf(message_id: number): string | undefined {
    return this.#items.get(message_id);
  }

  /** Notes that a message shows an item. */
  shows(message_id: number, item_id: string): void {
    this.#items.set(message_id, item_id);
    forget(this.#items);
  }

  /** Takes an item in. One that was shown is not shown again: its receipt is. */
  take({ delivery_id, item, reply_to_ref }: Offer): void {
    const known = this.#known.get(item.item_id);
    if (known) {
      known.delivery_ids.add(delivery_id);
      if (known.state === "pushed" || known.error_class === "unclear") this.#answer(known);
      else if (known.state === "failed") this.#enqueue(known);
      return;
    }
    if (this.#waiting.length >= WAITING_MAX) return void (this.#overflowed = true);
    const { texts, keyboard } = renderItem(item);
    const showing: Showing = {
      item_id: item.item_id,
      doubt: renderDoubt(item),
      reply_to: toMessageId(reply_to_ref),
      delivery_ids: new Set([delivery_id]),
      texts: [...texts],
      keyboard,
      refs: [],
      state: "waiting",
      error_class: undefined,
      doubts: 0,
    };
    this.#known.set(item.item_id, showing);
    forget(this.#known, ({ state }) => state !== "waiting");
    this.#enqueue(showing);
  }

  /**
   * Shows what comes, until the signal aborts or Telegram refuses the token. A send that is under
   * way then may end, and its receipt go out: the next process would show the item again.
   */
  async run(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const stopped = () => {
      this.#wake();
      pause(this.#needs.clock, LAST_SEND_MS_MAX, over.signal).then(() => this.#cut.abort());
    };
    signal.addEventListener("abort", stopped, { once: true });
    try {
      while (!signal.aborted) await this.#next(signal);
    } finally {
      over.abort();
    }
  }

  async #next(signal: AbortSignal): Promise<void> {
    const next = this.#waiting.shift();
    if (next) return await this.#show(next, signal);
    if (this.#overflowed) this.#needs.reoffer();
    this.#overflowed = false;
    await new Promise<void>((resolve) => this.#wake = resolve);
  }

  #enqueue(showing: Showing): void {
    showing.state = "waiting";
    this.#waiting.push(showing);
    this.#wake();
  }

  async #show(showing: Showing, signal: AbortSignal): Promise<void> {
    while (showing.state === "waiting") {
      const [text] = showing.texts;
      if (text === undefined) this.#end(showing, "pushed");
      else if (signal.aborted) return this.#leave(showing);
      else await this.#send(showing, text, signal);
    }
  }

  /** What was begun is told, so that whoever shows the item next can say that it is not new. */
  #leave(showing: Showing): void {
    if (showing.refs.length > 0) this.#end(showing, "failed", "interrupted");
  }

  async #send(showing: Showing, text: string, signal: AbortSignal): Promise<void> {
    const { texts, refs, reply_to, keyboard, item_id } = showing;
    try {
      const ref = await this.#needs.bot.sendMessage({
        text,
        reply_to: refs.length === 0 ? reply_to : undefined,
        keyboard: texts.length === 1 ? keyboard : undefined,
      }, this.#cut.signal);
      refs.push(ref);
      texts.shift();
      this.shows(ref, item_id);
      this.#backoff.reset();
    } catch (fault) {
      const known = fault instanceof BotFault ? fault : undefined;
      // Cut off, or lost while we stop: there is no time left to say so in the chat.
      const unclear = this.#cut.signal.aborted || known?.error_class === "unclear";
      if (signal.aborted && unclear) return this.#end(showing, "failed", "unclear");
      if (!known) throw fault;
      await this.#falter(showing, known, signal);
    }
  }

  async #falter(showing: Showing, fault: BotFault, signal: AbortSignal): Promise<void> {
    const { clock, say } = this.#needs;
    const { error_class, retry_after_ms, message } = fault;
    switch (error_class) {
      case "unauthorized":
        this.#end(showing, "failed", error_class);
        throw fault;
      case "rate_limited":
        if (retry_after_ms === undefined) return await this.#tryLater(showing, fault, signal);
        if (retry_after_ms > SILENT_MS_MAX) this.#tell(showing, error_class);
        return await pause(clock, Math.max(retry_after_ms, RATE_LIMIT_MS_MIN), signal);
      case "network":
      case "conflict":
        return await this.#tryLater(showing, fault, signal);
      case "unclear":
        if (++showing.doubts > DOUBTS_MAX) return this.#end(showing, "failed", error_class);
        showing.texts[0] = showing.doubt;
        return await this.#tryLater(showing, fault, signal);
      default:
        say(`Telegram does not take ${showing.item_id}: ${message}`);
        return this.#end(showing, "failed", error_class);
    }
  }

  async #tryLater(showing: Showing, { error_class, message }: BotFault, signal: AbortSignal) {
    const before_ms = this.#backoff.waited_ms;
    if (before_ms === 0) this.#needs.say(`${message}; ${showing.item_id} is tried again`);
    await this.#backoff.pause(signal);
    const now_ms = this.#backoff.waited_ms;
    if (before_ms < SILENT_MS_MAX && now_ms >= SILENT_MS_MAX) this.#tell(showing, error_class);
  }

  #end(showing: Showing, state: "pushed" | "failed", error_class?: PushError): void {
    showing.state = state;
    showing.error_class = error_class;
    this.#answer(showing);
  }

  /** Says that it has not worked so far. */
  #tell(showing: Showing, error_class: ErrorClass): void {
    this.#receipts(showing, { status: "failed", error_class });
  }

  #answer(showing: Showing): void {
    const { state, error_class } = showing;
    if (state === "pushed") this.#receipts(showing, { status: "pushed" });
    else this.#receipts(showing, { status: "failed", ...(error_class && { error_class }) });
  }

  #receipts({ delivery_ids, refs }: Showing, said: Pick<Receipt, "status" | "error_class">): void {
    const surface_refs = refs.map(String);
    const surface_ref = surface_refs[0] ?? null;
    for (const delivery_id of delivery_ids) {
      this.#needs.receipt({
        type: "delivery_ack",
        delivery_id,
        ...said,
        surface_ref,
        surface_refs,
      });
    }
  }
}

/** Lets the oldest go that may go. */
function forget<K, V>(known: Map<K, V>, may: (value: V) => boolean = () => true): void {
  if (known.size <= KNOWN_MAX) return;
  for (const [key, value] of known) {
    if (may(value)) return void known.delete(key);
  }
}

function toMessageId(ref: string | null): number | undefined {
  return ref !== null && /^\d{1,15}$/.test(ref) ? Number(ref) : undefined;
}
