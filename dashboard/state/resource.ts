/** Data that is loaded from the daemon, and loaded again when an event concerns it. */

import { effect, type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { abortLoads } from "./calls.ts";
import { tick } from "./clock.ts";
import { idsIn, KeptValues, reuse } from "./loaded_values.ts";

/** The topics of resources; an event names the topics that it concerns. */
export type Topic =
  | "peers"
  | "asks"
  | "messages"
  | "inbox"
  | "jobs"
  | "reviews"
  | "joint_checks"
  | "schedules"
  | "subscriptions"
  | "health"
  | "turns"
  | "usage"
  | "limits"
  | "budgets"
  | "leases"
  | "files"
  | "machines"
  | "push";

/** The shortest time between two loads: a burst of events causes one load. */
const INTERVAL_MS = 400;

const active = new Set<Resource<unknown>>();
const kept = new KeptValues();

/** The signal is aborted when nothing shows the value any more. */
type Load<T> = (signal: AbortSignal) => Promise<T>;

/**
 * True if resources load: since the event stream has opened once, or since `loadEarly`. A value
 * that is loaded before the stream is open could miss an event, and is loaded again when it opens.
 */
let is_loading_allowed = false;
/** True if loads may hang, because the stream has opened before. */
let has_opened = false;

/** At most one load runs at a time. A refresh during a load causes one more load. */
export class Resource<T> {
  /** The last loaded value; undefined before the first load. */
  readonly value: Signal<T | undefined> = signal(undefined);
  /** The error of the last load; undefined after a success. */
  readonly error: Signal<unknown> = signal(undefined);
  readonly topics: readonly Topic[];
  /** True if an event concerns the value; if absent, all events on the topics do. */
  concerns: (ids: ReadonlySet<string>) => boolean = () => true;
  readonly #load: Load<T>;
  readonly #interval_ms: number;
  #state: "idle" | "loading" | "waiting" = "idle";
  #again = false;
  #loaded_at = 0;
  /** Counts the loads. The result of an earlier load is used only if there is no value yet. */
  #run_number = 0;
  #ending = new AbortController();

  constructor(topics: readonly Topic[], load: Load<T>, interval_ms = INTERVAL_MS) {
    this.topics = topics;
    this.#load = load;
    this.#interval_ms = interval_ms;
  }

  /** Loads now, or as soon as the interval allows. */
  readonly refresh = (): void => {
    if (!is_loading_allowed) return;
    if (this.#state === "idle") this.#run();
    else this.#again = true;
  };

  /** True if a load will begin soon, so that events need not ask for one. */
  get is_due(): boolean {
    return this.#again;
  }

  /** True if there is a value, and it was loaded longer ago than `ms`. */
  isOlderThan(ms: number): boolean {
    return this.value.peek() !== undefined && performance.now() - this.#loaded_at > ms;
  }

  /** Loads now, also if another load is under way. */
  restart(): void {
    this.#state = "idle";
    this.refresh();
  }

  /** Resolves with the first value; throws the error of a failed load. */
  whenLoaded(): Promise<T> {
    if (this.value.peek() === undefined && this.error.peek() !== undefined) {
      this.error.value = undefined;
      this.refresh();
    }
    return new Promise((resolve, reject) => {
      const stop = effect(() => {
        const value = this.value.value, error = this.error.value;
        if (value === undefined && error === undefined) return;
        if (value === undefined) reject(error);
        else resolve(value);
        queueMicrotask(() => stop());
      });
    });
  }

  /** True if events cause loads; a resource that nothing shows does not load. */
  activate(): () => void {
    active.add(this);
    return () => {
      active.delete(this);
      this.#ending.abort();
      this.#ending = new AbortController();
      this.#state = "idle";
      this.#again = false;
    };
  }

  async #run(): Promise<void> {
    const number = ++this.#run_number;
    const is_last = () => number === this.#run_number;
    const { signal } = this.#ending;
    this.#state = "loading";
    this.#again = false;
    try {
      const value = await this.#load(signal);
      // An older value than the last is better than none.
      if (!is_last() && this.value.peek() !== undefined) return;
      tick();
      this.#loaded_at = performance.now();
      this.value.value = reuse(this.value.peek(), value);
      this.error.value = undefined;
      if (!is_last()) return;
    } catch (error) {
      if (!is_last() || signal.aborted) return;
      this.error.value = error;
    }
    this.#state = "waiting";
    setTimeout(() => {
      if (!is_last() || this.#state !== "waiting") return;
      this.#state = "idle";
      if (this.#again) this.#run();
    }, this.#interval_ms);
  }
}

/** Loads the shown resources although the stream is not open. */
export function loadEarly(): void {
  if (is_loading_allowed) return;
  is_loading_allowed = true;
  for (const resource of active) resource.refresh();
}

/** Loads everything that is shown: the event stream is open. Earlier loads may hang. */
export function refreshAll(): void {
  if (has_opened) abortLoads();
  has_opened = true;
  is_loading_allowed = true;
  for (const resource of active) resource.restart();
}

/**
 * Loads all resources on these topics again. With `ids`, only those that show one of these records.
 * An event that does not name all records that it changes has no `ids`.
 */
export function refreshTopics(topics: readonly Topic[], ids?: ReadonlySet<string>): void {
  for (const resource of active) {
    if (!resource.topics.some((topic) => topics.includes(topic))) continue;
    if (!ids || !resource.is_due && resource.concerns(ids)) resource.refresh();
  }
}

/** Restricts a resource to events that name one of `ids`, or an id in what it has loaded. */
export function only<T>(resource: Resource<T>, ids: readonly string[]): Resource<T> {
  let known: { readonly of: T; readonly ids: ReadonlySet<string> } | undefined;
  resource.concerns = (named) => {
    if (ids.some((id) => named.has(id))) return true;
    const value = resource.value.peek();
    // Before the first load nothing is known; a load may also be under way.
    if (value === undefined) return true;
    if (known?.of !== value) known = { of: value, ids: idsIn(value) };
    const found = known.ids;
    return [...named].some((id) => !id.startsWith("peer") && found.has(id));
  };
  return resource;
}

interface ResourceOptions {
  /** The shortest time between two loads. */
  readonly interval_ms?: number;
  /** True if the last value is shown at once when a person returns. Its key is used only once. */
  readonly kept?: boolean;
}

/** A resource of a component; it is replaced when the key changes. */
export function useResource<T>(
  key: string,
  topics: readonly Topic[],
  load: Load<T>,
  { interval_ms, kept: is_kept = false }: ResourceOptions = {},
): Resource<T> {
  const resource = useMemo(() => {
    const made = new Resource(topics, load, interval_ms);
    if (is_kept) made.value.value = kept.find<T>(key);
    return made;
  }, [key]);
  useEffect(() => {
    const deactivate = resource.activate();
    resource.refresh();
    return () => {
      deactivate();
      const value = resource.value.peek();
      if (is_kept && value !== undefined) kept.keep(key, value);
    };
  }, [resource]);
  return resource;
}
