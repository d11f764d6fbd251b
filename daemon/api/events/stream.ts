/** The event stream: stored events, then live events, as server-sent events. Drops slow readers. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import type { EventLog } from "../../data/event_log.ts";
import type { DeliveryStep, MeshEvent, TurnChange } from "protocol/events.ts";

const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ": keep-alive\n\n";
/** Maximum number of live events that wait for a slow reader before its stream ends. */
const WAITING_MAX = 1000;
const BACKFILL_BATCH = 500;

export interface StreamOptions {
  /** The stream starts after the event with this id. If undefined, `replay` applies. */
  readonly since: number | undefined;
  /** The stream starts this many events before the end; undefined: it starts with live events. */
  readonly replay: number | undefined;
  /** Ends the stream when the daemon shuts down. */
  readonly signal: AbortSignal;
  /**
   * True if a quiet stream also sends the event `alive`: a page cannot see comments, so it could
   * not tell a quiet stream from a lost connection.
   */
  readonly sendsAlive?: boolean;
  /** Called once the runtime has taken the chunk of an event. */
  readonly markPushed?: (event: MeshEvent) => void;
  /** Called when the stream ends because its reader is too slow. */
  readonly onTooSlow?: () => void;
}

/** Converts an event to wire form, in which its fields are not nested (contract 2). */
export function toWire({ id, type, at, data }: MeshEvent) {
  return { id, type, timestamp: new Date(at).toISOString(), ...data };
}

/** Yields the frames of one reader in order, until it is too slow or the signal aborts. */
export async function* eventFrames(
  log: EventLog,
  clock: Clock,
  options: StreamOptions,
): AsyncGenerator<string> {
  const receiveBuffer = new ReceiveBuffer();
  using _subscription = log.subscribe(receiveBuffer);
  const { since } = options;
  const hasGap = since !== undefined && !log.continuesAfter(since);
  let cursor = startOf(log, options); // The stream starts after this event.
  yield frame("ready", { last: log.last });
  if (hasGap) yield frame("gap", { oldest: log.oldest });
  for (let batch = log.read({ since: cursor, limit: BACKFILL_BATCH }); batch.length > 0;) {
    for (const event of batch) {
      yield eventFrame(event);
      options.markPushed?.(event);
      cursor = event.id;
    }
    batch = log.read({ since: cursor, limit: BACKFILL_BATCH });
  }
  while (!options.signal.aborted) {
    for (const item of receiveBuffer.take()) {
      if (typeof item === "string") {
        yield item;
        continue;
      }
      if (item.id <= cursor) continue;
      yield eventFrame(item);
      options.markPushed?.(item);
      cursor = item.id;
    }
    if (receiveBuffer.overflowed) {
      options.onTooSlow?.();
      return yield frame("too_slow", { waiting_max: WAITING_MAX });
    }
    if (!receiveBuffer.empty) continue;
    if (await receiveBuffer.wait(clock, options.signal) === "news") continue;
    yield KEEP_ALIVE + (options.sendsAlive ? aliveFrame(clock.now()) : "");
  }
}

/** Holds the live events that were not sent yet. It is bounded, and records when it overflows. */
class ReceiveBuffer {
  overflowed = false;
  #items: (MeshEvent | string)[] = [];
  #notify: (() => void) | undefined;

  get empty(): boolean {
    return this.#items.length === 0;
  }

  event(event: MeshEvent): void {
    this.#push(event);
  }

  delivery(step: DeliveryStep): void {
    this.#push(frame("delivery", { type: "delivery", ...step }));
  }

  turn(change: TurnChange): void {
    this.#push(frame("turn", { type: "turn", ...change }));
  }

  take(): (MeshEvent | string)[] {
    return this.#items.splice(0);
  }

  async wait(clock: Clock, signal: AbortSignal): Promise<"news" | "quiet"> {
    const news = new Promise<"news">((resolve) => this.#notify = () => resolve("news"));
    const outcome = await timeout(clock, KEEP_ALIVE_MS, news, signal);
    this.#notify = undefined;
    return outcome ?? (signal.aborted ? "news" : "quiet");
  }

  #push(item: MeshEvent | string): void {
    if (this.#items.length >= WAITING_MAX) this.overflowed = true;
    else this.#items.push(item);
    this.#notify?.();
  }
}

function startOf(log: EventLog, { since, replay }: StreamOptions): number {
  if (since !== undefined) return Math.min(since, log.last); // An id of another log may be high.
  if (replay === undefined) return log.last;
  // Fewer stored events than requested are not a gap.
  return log.idBefore(replay);
}

function eventFrame(event: MeshEvent): string {
  return `id: ${event.id}\n${frame(event.type, toWire(event))}`;
}

/** Has no id: it is not an event of the log. Its time lets a page correct its own clock. */
function aliveFrame(at: number): string {
  return frame("alive", { timestamp: new Date(at).toISOString() });
}

function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
