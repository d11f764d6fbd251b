/**
 * The event stream, shared by the pages of this browser at one address: a browser allows few
 * connections to a server. The page that holds a lock has the connection, and passes events on;
 * when it is closed, another page gets the lock. Without locks (no HTTPS, not this machine) each
 * page has its own connection.
 */

import { PREFIX } from "./calls.ts";

/** An event of the stream; `lost` is ours: the connection has failed. */
export interface Frame {
  readonly type: string;
  /** JSON. */
  readonly data: string;
  /** Empty for events that are not in the log of events. */
  readonly id: string;
}

type Note =
  | { readonly kind: "frame"; readonly frame: Frame; readonly to?: string }
  | { readonly kind: "hello"; readonly page: string }
  | { readonly kind: "reopen" };

const NAME = `mesh-stream ${PREFIX}`;
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 8000;
/** The silence after which a connection is lost; the daemon sends a frame every 15 seconds. */
const SILENCE_MS_MAX = 35_000;
/** Longer, so that the page with the connection notices first. */
const LEADER_SILENCE_MS_MAX = 45_000;

interface StreamPlans {
  /** Types of events to listen to. */
  readonly types: readonly string[];
  /** The address, with the event to resume after. */
  address(): string;
  receive(frame: Frame): void;
  /** The state for another page that has just been opened; undefined while connecting. */
  state(): Frame | undefined;
}

export class SharedStream {
  readonly #plans: StreamPlans;
  readonly #page = String(Math.random());
  #channel: BroadcastChannel | undefined;
  #source: EventSource | undefined;
  #leads = false;
  #retry_ms = RETRY_MS_MIN;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #heard_at = Date.now();
  /** True if this daemon sends a frame while nothing happens; an older daemon is silent. */
  #sends_alive = false;

  constructor(plans: StreamPlans) {
    this.#plans = plans;
  }

  /** When the last frame arrived, in milliseconds. */
  get heard_at(): number {
    return this.#heard_at;
  }

  /** Opens the stream, or opens it again. */
  open(): void {
    if (!("locks" in navigator)) return this.#connect();
    if (this.#leads) return this.#connect();
    if (this.#channel) return this.#post({ kind: "reopen" });
    this.#channel = new BroadcastChannel(NAME);
    this.#channel.onmessage = ({ data }: MessageEvent<Note>) => this.#read(data);
    this.#post({ kind: "hello", page: this.#page });
    // The lock takes a while. If another page holds it, this connection ends with its first frame.
    this.#connect();
    this.#lead({});
  }

  /** A person looks at the page again: timers may have slept, and the connection may be gone. */
  wake(): void {
    // Only the time of day continues while the machine sleeps, but it may also be set.
    if (Math.abs(Date.now() - this.#heard_at) > SILENCE_MS_MAX) this.#recover();
  }

  /** Waits for the lock, which lasts as long as the page does. */
  async #lead(options: LockOptions): Promise<void> {
    const held = navigator.locks.request(NAME, options, () => {
      this.#leads = true;
      if (!this.#source) this.#connect();
      return new Promise<never>(() => undefined);
    });
    await held.catch(() => {
      if (!this.#leads) return this.#leave();
      // Another page has not heard from this page, and took over.
      this.#leads = false;
      this.#disconnect();
      this.#lead({});
    });
  }

  /** The browser allows no locks here after all. */
  #leave(): void {
    this.#channel?.close();
    this.#channel = undefined;
    this.#leads = true;
    if (!this.#source) this.#connect();
  }

  #read(note: Note): void {
    if (note.kind === "frame") {
      if (this.#leads) return;
      this.#disconnect();
      if ((note.to ?? this.#page) === this.#page) this.#take(note.frame);
    } else if (!this.#leads) return;
    else if (note.kind === "reopen") this.#connect();
    else {
      const frame = this.#plans.state();
      if (frame) this.#post({ kind: "frame", frame, to: note.page });
    }
  }

  #disconnect(): void {
    this.#source?.close();
    this.#source = undefined;
  }

  #connect(): void {
    clearTimeout(this.#retry);
    this.#disconnect();
    const source = this.#source = new EventSource(this.#plans.address());
    for (const type of ["ready", "alive", ...this.#plans.types]) {
      source.addEventListener(type, ({ data, lastEventId }) => {
        this.#pass({ type, data, id: type === "ready" ? "" : lastEventId });
      });
    }
    const fail = () => source === this.#source && this.#lose();
    source.addEventListener("too_slow", fail);
    source.addEventListener("error", fail);
    this.#watch(SILENCE_MS_MAX);
  }

  #pass(frame: Frame): void {
    if (this.#leads) this.#post({ kind: "frame", frame });
    this.#take(frame);
  }

  #lose(): void {
    this.#disconnect();
    this.#pass({ type: "lost", data: "{}", id: "" });
  }

  #take(frame: Frame): void {
    clearTimeout(this.#watchdog);
    clearTimeout(this.#retry);
    if (frame.type === "lost") {
      // A hidden page's timers are slow: a visible page asks it to try again.
      if (this.#leads || !this.#channel || !document.hidden) this.#openLater();
    } else {
      this.#heard_at = Date.now();
      if (frame.type === "ready") this.#retry_ms = RETRY_MS_MIN;
      if (frame.type === "alive") this.#sends_alive = true;
      const is_own = this.#source !== undefined;
      if (this.#sends_alive) this.#watch(is_own ? SILENCE_MS_MAX : LEADER_SILENCE_MS_MAX);
    }
    this.#plans.receive(frame);
  }

  #watch(silence_ms: number): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#recover(), silence_ms);
  }

  /** The daemon, or the page with the connection, was silent for too long. */
  #recover(): void {
    if (this.#leads || !this.#channel) return this.#lose();
    this.#take({ type: "lost", data: "{}", id: "" });
    this.#lead({ steal: true });
  }

  #openLater(): void {
    this.#retry = setTimeout(() => this.open(), this.#retry_ms);
    this.#retry_ms = Math.min(this.#retry_ms * 2, RETRY_MS_MAX);
  }

  #post(note: Note): void {
    this.#channel?.postMessage(note);
  }
}
