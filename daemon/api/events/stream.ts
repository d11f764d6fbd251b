/** The event stream: backfill, cutover, live, as server-sent events. A slow reader is cut off. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import type { DeliveryStep, EventLog, MeshEvent } from "kit/data/events.ts";

const KEEP_ALIVE_MS = 15_000;
/** Live events that may wait for a reader before it counts as too slow. */
const WAITING_MAX = 1000;
const BACKFILL_BATCH = 500;

export interface StreamOptions {
  /** Start after this id; undefined starts live. */
  readonly since: number | undefined;
  /** Start this many events before the end. */
  readonly replay: number | undefined;
  /** Ends the stream, as the daemon goes down. */
  readonly signal: AbortSignal;
  /** Called once the runtime has taken an event's chunk. */
  readonly taken?: (event: MeshEvent) => void;
}

/** An event on the wire, flat (contract 2). */
export function toWire({ id, type, at, data }: MeshEvent) {
  return { id, type, timestamp: new Date(at).toISOString(), ...data };
}

/** The frames of one reader's stream, in order, for ever. */
export async function* eventFrames(
  log: EventLog,
  clock: Clock,
  options: StreamOptions,
): AsyncGenerator<string> {
  const inlet = new Inlet();
  using _subscription = log.subscribe(inlet);
  let cursor = startOf(log, options); // What comes while a reader takes its first frame is news.
  yield frame("ready", { last: log.last });
  if (cursor < log.oldest - 1) yield frame("gap", { oldest: log.oldest });
  for (let batch = log.read({ since: cursor, limit: BACKFILL_BATCH }); batch.length > 0;) {
    for (const event of batch) {
      yield eventFrame(event);
      options.taken?.(event);
      cursor = event.id;
    }
    batch = log.read({ since: cursor, limit: BACKFILL_BATCH });
  }
  while (!options.signal.aborted) {
    for (const said of inlet.take()) {
      if (typeof said === "string") {
        yield said;
        continue;
      }
      if (said.id <= cursor) continue;
      yield eventFrame(said);
      options.taken?.(said);
      cursor = said.id;
    }
    if (inlet.overrun) return yield frame("too_slow", { waiting_max: WAITING_MAX });
    if (!inlet.empty) continue;
    if (await inlet.wait(clock, options.signal) === "quiet") yield ": keep-alive\n\n";
  }
}

/** What was heard and not yet sent: bounded, and it knows when it ran over. */
class Inlet {
  overrun = false;
  #waiting: (MeshEvent | string)[] = [];
  #wake: (() => void) | undefined;

  get empty(): boolean {
    return this.#waiting.length === 0;
  }

  event(event: MeshEvent): void {
    this.#put(event);
  }

  delivery(step: DeliveryStep): void {
    this.#put(frame("delivery", { type: "delivery", ...step }));
  }

  take(): (MeshEvent | string)[] {
    return this.#waiting.splice(0);
  }

  async wait(clock: Clock, signal: AbortSignal): Promise<"news" | "quiet"> {
    const news = new Promise<"news">((resolve) => this.#wake = () => resolve("news"));
    const heard = await timeout(clock, KEEP_ALIVE_MS, news, signal);
    this.#wake = undefined;
    return heard ?? (signal.aborted ? "news" : "quiet");
  }

  #put(said: MeshEvent | string): void {
    if (this.#waiting.length >= WAITING_MAX) this.overrun = true;
    else this.#waiting.push(said);
    this.#wake?.();
  }
}

function startOf(log: EventLog, { since, replay }: StreamOptions): number {
  if (since !== undefined) return Math.min(since, log.last); // A number of another log's.
  if (replay === undefined) return log.last;
  return Math.max(0, log.last - replay, log.oldest - 1); // Fewer than asked for are no gap.
}

function eventFrame(event: MeshEvent): string {
  return `id: ${event.id}\n${frame(event.type, toWire(event))}`;
}

function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
