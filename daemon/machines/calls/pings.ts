/** Measures the round trips to the other machines, and how their clocks differ from this one's. */

import type { Monotonic } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import { recoverableProblem } from "protocol/problems.ts";
import { aheadBy, type CallClient, type ClockReading } from "./call_client.ts";
import type { NamedMachine } from "./machine_names.ts";

export const PING_EVERY_MS = 30_000;
/** Maximum number of pings per second: with many machines, a round takes longer than 30 s. */
export const PINGS_PER_TICK_MAX = 1;
/** Time for which a round trip is shown, plus the time of one round of pings over all machines. */
export const LATENCY_MS_MAX = 90_000;
/** Number of measurements kept. Their median counts, so that one slow answer changes nothing. */
const KEPT = 3;

interface Measurements {
  /** Milliseconds of a round trip; null before the first, after a failure, and when it is old. */
  readonly latency_ms: number | null;
  /** Milliseconds by which the machine's clock is ahead of this one's; null before the first. */
  readonly clock_ahead_ms: number | null;
}

const UNMEASURED: Measurements = { latency_ms: null, clock_ahead_ms: null };

export interface PingsDeps {
  /** The machines that are online; empty while this one is not connected to the bus. */
  readonly online: () => readonly NamedMachine[];
  readonly client: Pick<CallClient, "ping">;
}

interface PingState {
  readonly latencies_ms: number[];
  readonly ahead_ms: number[];
  answered_at: Monotonic;
  started_at: number;
  running: Promise<void> | undefined;
}

export class Pings {
  readonly #ctx: Pick<Context, "clock" | "background">;
  readonly #deps: PingsDeps;
  readonly #measured = new Map<string, PingState>();

  constructor(ctx: Pick<Context, "clock" | "background">, deps: PingsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Called once a second. Starts the due pings, the longest waiting first. */
  tick(now: Monotonic): void {
    const online = this.#deps.online();
    if (online.length === 0) return;
    const startedAt = ({ daemon_id }: NamedMachine) =>
      this.#measured.get(daemon_id)?.started_at ?? -Infinity;
    online.filter((machine) => this.#isDue(machine, now))
      .sort((a, b) => startedAt(a) < startedAt(b) ? -1 : 1)
      .slice(0, PINGS_PER_TICK_MAX)
      .forEach((machine) => void this.#ctx.background.track(this.#start(machine, now)));
  }

  /** Measures a machine now, if it is online and was not measured just before. */
  async measure(daemon_id: string): Promise<void> {
    const now = this.#ctx.clock.monotonic();
    const machine = this.#deps.online().find((online) => online.daemon_id === daemon_id);
    if (machine && this.#isDue(machine, now)) await this.#start(machine, now);
    else await this.#measured.get(daemon_id)?.running;
  }

  /** Corrects the differences to other clocks after this machine's clock was set. */
  clockStepped(step_ms: number): void {
    for (const { ahead_ms } of this.#measured.values()) {
      ahead_ms.forEach((ms, at) => ahead_ms[at] = ms - step_ms);
    }
  }

  of(daemon_id: string): Measurements {
    const measured = this.#measured.get(daemon_id);
    if (!measured) return UNMEASURED;
    const now = this.#ctx.clock.monotonic();
    const round_ms = this.#measured.size * 1000 / PINGS_PER_TICK_MAX;
    const isOld = now - measured.answered_at >= LATENCY_MS_MAX + round_ms;
    return {
      latency_ms: isOld ? null : medianOf(measured.latencies_ms),
      clock_ahead_ms: medianOf(measured.ahead_ms),
    };
  }

  /** Forgets a machine that is no longer known. */
  forget(daemon_id: string): void {
    this.#measured.delete(daemon_id);
  }

  #isDue({ daemon_id }: NamedMachine, now: Monotonic): boolean {
    const measured = this.#measured.get(daemon_id);
    if (!measured) return true;
    return !measured.running && now - measured.started_at >= PING_EVERY_MS;
  }

  #start(machine: NamedMachine, now: Monotonic): Promise<void> {
    const measured = this.#measured.getOrInsertComputed(machine.daemon_id, () => ({
      latencies_ms: [],
      ahead_ms: [],
      answered_at: now,
      started_at: now,
      running: undefined,
    }));
    measured.started_at = now;
    return measured.running = this.#ping(machine, measured).finally(() =>
      measured.running = undefined
    );
  }

  async #ping(machine: NamedMachine, measured: PingState): Promise<void> {
    try {
      record(measured, await this.#deps.client.ping(machine));
      measured.answered_at = this.#ctx.clock.monotonic();
    } catch (error) {
      // The latencies are out of date now; the clock difference has hardly changed.
      measured.latencies_ms.length = 0;
      if (!recoverableProblem(error)) this.#ctx.background.failed("A ping failed", error);
    }
  }
}

function record({ latencies_ms, ahead_ms }: PingState, reading: ClockReading): void {
  latencies_ms.push(Math.max(0, reading.received_at - reading.sent_at));
  ahead_ms.push(aheadBy(reading));
  if (latencies_ms.length > KEPT) latencies_ms.shift();
  if (ahead_ms.length > KEPT) ahead_ms.shift();
}

/** The median of `KEPT` values; the last value while there are fewer. */
function medianOf(values: readonly number[]): number | null {
  if (values.length < KEPT) return values.at(-1) ?? null;
  return values.toSorted((a, b) => a - b)[Math.floor(KEPT / 2)] ?? null;
}
