/** The daemon's metrics, and the figures of the last hour. */

import type { Clock } from "kit/core/clock.ts";
import { type Definition, Metrics } from "kit/http/metrics.ts";
import { Hour } from "./hour.ts";

// deno-fmt-ignore
const DELIVERY_BUCKETS_SECONDS =
  [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300, 3600];
const COMMIT_BUCKETS_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5];
const DELAY_BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5];

/** Messages to the human wait for a person, so their times say nothing about delivery. */
const TO_HUMAN = "inbox_item";

/** Maximum models with a label of their own: an agent names its model by any text. */
const MODELS_MAX = 50;

/** How a call of a hook ended. */
type HookOutcome = "answered" | "refused" | "failed";

export class Meters {
  readonly hour: Hour;
  readonly #metrics = new Metrics();
  readonly #steps = this.#metrics.counter(
    "mesh_delivery_steps_total",
    "Messages that reached a state, by kind of message and state",
    ["kind", "state"],
  );
  readonly #deliveries = this.#metrics.counter(
    "mesh_deliveries_total",
    "Outcomes of deliveries by transport; requeued is a refusal, or a repetition",
    ["transport", "outcome"],
  );
  readonly #sent = this.#metrics.histogram(
    "mesh_delivery_seconds",
    "Seconds from a message's acceptance until its bytes are sent",
    DELIVERY_BUCKETS_SECONDS,
  );
  readonly #seen = this.#metrics.histogram(
    "mesh_delivery_seen_seconds",
    "Seconds from a message's acceptance until its agent has provably seen it",
    DELIVERY_BUCKETS_SECONDS,
  );
  readonly #commit = this.#metrics.histogram(
    "mesh_commit_seconds",
    "Seconds that a commit took until it was on the disk",
    COMMIT_BUCKETS_SECONDS,
  );
  readonly #delay = this.#metrics.histogram(
    "mesh_event_loop_delay_seconds",
    "Seconds by which the event loop was late, measured once a second",
    DELAY_BUCKETS_SECONDS,
  );
  readonly #refusals = this.#metrics.counter(
    "mesh_refusals_total",
    "Requests that were refused or failed, by error code",
    ["code"],
  );
  readonly #limits = this.#metrics.counter(
    "mesh_limits_reached_total",
    "Messages that a limit refused, and event streams that ended because their reader was slow",
    ["limit"],
  );
  readonly #hooks = this.#metrics.counter(
    "mesh_hook_calls_total",
    "Calls of agents' hooks by agent and outcome",
    ["agent", "outcome"],
  );
  readonly #tokens = this.#metrics.counter(
    "mesh_usage_tokens_total",
    "Tokens that agents of this machine used, by agent, model and kind; counted when they are read",
    ["agent", "model", "kind"],
  );
  readonly #cost = this.#metrics.counter(
    "mesh_usage_cost_total",
    "Price of the used tokens that have one, by agent, model and currency",
    ["agent", "model", "currency"],
  );
  readonly #loops = this.#metrics.counter(
    "mesh_loops_total",
    "Loops that were found: turns that repeat their calls, and exchanges without anything new",
    ["kind"],
  );
  readonly #overlaps = this.#metrics.counter(
    "mesh_file_overlaps_total",
    "Files of which two agents were informed: both write them, or their branches conflict",
    ["kind"],
  );
  /** The models with a label of their own. */
  readonly #models = new Set<string>();
  #streamReaders = 0;

  constructor(clock: Clock) {
    this.hour = new Hour(clock);
    this.#metrics.gauge(
      "mesh_event_stream_readers",
      "Open event streams",
      () => this.#streamReaders,
    );
  }

  /** Adds metrics whose values are read when the metrics are rendered. */
  add(define: (metrics: Metrics) => void): void {
    define(this.#metrics);
  }

  /** A delivery reached a state, so many milliseconds after the message was created. */
  stepped(kind: string, state: string, age_ms: number, transport: string | null): void {
    this.#steps.inc(kind, state);
    if (transport !== null && state !== "attempting") {
      this.#deliveries.inc(transport, state === "queued" ? "requeued" : state);
    }
    if (state === "sent") this.#sent.observe(age_ms);
    else if (state === "seen") this.#seen.observe(age_ms);
    if (kind !== TO_HUMAN) this.hour.stepped(state, age_ms);
  }

  committed(took_ms: number): void {
    this.#commit.observe(took_ms);
  }

  delayed(ms: number): void {
    this.#delay.observe(Math.max(0, ms));
  }

  refused(code: string): void {
    this.#refusals.inc(code);
  }

  loopFound(kind: string): void {
    this.#loops.inc(kind);
  }

  overlapFound(kind: string): void {
    this.#overlaps.inc(kind);
  }

  limitReached(limit: string): void {
    this.#limits.inc(limit);
  }

  hookCalled(agent: string, outcome: HookOutcome): void {
    this.#hooks.inc(agent, outcome);
  }

  /** Tokens of each kind that were counted now, with the price of those that have one. */
  tokensUsed(
    { agent, model, tokens, cost, currency }: {
      readonly agent: string;
      readonly model: string;
      readonly tokens: Readonly<Record<string, number>>;
      readonly cost: number | null;
      readonly currency: string | undefined;
    },
  ): void {
    if (this.#models.size < MODELS_MAX) this.#models.add(model);
    const label = this.#models.has(model) ? model : "other";
    for (const [kind, count] of Object.entries(tokens)) {
      if (count > 0) this.#tokens.add(count, agent, label, kind);
    }
    if (cost && currency !== undefined) this.#cost.add(cost, agent, label, currency);
  }

  /** Counts a reader of the event stream until the returned object is disposed. */
  streamOpened(): Disposable {
    this.#streamReaders++;
    return { [Symbol.dispose]: () => void this.#streamReaders-- };
  }

  definitions(): Definition[] {
    return this.#metrics.definitions();
  }

  render(): string {
    return this.#metrics.render();
  }
}
