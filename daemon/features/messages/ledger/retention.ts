/** Deletes old messages, in small steps. Open asks and undelivered messages are kept. */

import { stopwatch } from "kit/core/clock.ts";
import * as z from "zod";
import type { Context } from "../../../data/context.ts";
import { numberBefore } from "../../../data/run_numbers.ts";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import * as ledger from "./ledger.ts";
import { removeStages } from "./stages.ts";

/** Messages that one step examines. A step blocks the event loop for 3 to 5 ms. */
const STEP_ROWS = 100;
/**
 * A tick ends after this many steps or this much time, a tenth of a core. It can delete more
 * messages than a flood stores for long, or the database would grow without a limit.
 */
const TICK_STEPS_MAX = 50;
const TICK_MS_MAX = 100;
/** The pause after a pass over all messages. */
const PAUSE_MS = 60_000;

interface RetentionDeps {
  /** Time for which a message is kept after its last step. */
  readonly history_ms: number;
  /** Maximum messages kept, newest first, even if others are younger than `history_ms`. */
  readonly messages_max: number;
  /** Called for each deleted message, in the same transaction. */
  onRemoved(seq: number): void;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
}

export class Retention {
  readonly #ctx: Context;
  readonly #deps: RetentionDeps;
  /** The last row number that the pass has examined. */
  #cursor = 0;
  #paused_until = 0;
  #running = false;

  constructor(ctx: Context, deps: RetentionDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Takes the first step at once, and further ones between other requests. */
  tick(now: number): void {
    if (this.#running || this.#ctx.clock.monotonic() < this.#paused_until) return;
    this.#running = true;
    const deleting = this.#takeSteps(now).finally(() => this.#running = false);
    void this.#ctx.background.run("Deleting old messages failed", deleting);
  }

  async #takeSteps(now: number): Promise<void> {
    const { clock } = this.#ctx;
    const elapsedMs = stopwatch(clock);
    for (let steps = 1; this.#step(now); steps++) {
      if (steps >= TICK_STEPS_MAX || elapsedMs() > TICK_MS_MAX) return;
      await clock.sleep(0);
      if (this.#deps.shutdownSignal.aborted) return;
    }
  }

  /** Returns true if there may be more to delete. */
  #step(now: number): boolean {
    const { db } = this.#ctx;
    const { history_ms, messages_max } = this.#deps;
    const newest = ledger.lastSeq(db);
    const below = numberBefore(db, "messages", { newest, count: messages_max });
    const limits = { before: now - history_ms, below };
    const scanned = scan(db, { ...limits, after: this.#cursor, limit: STEP_ROWS });
    const done = scanned.filter((row) => row.done);
    if (done.length > 0) db.transact((tx) => this.#remove(tx, done));
    const last = scanned.at(-1);
    const reachedRecent = !last || last.created_at >= limits.before && last.seq > limits.below;
    this.#cursor = reachedRecent ? 0 : last.seq;
    if (reachedRecent) this.#paused_until = this.#ctx.clock.monotonic() + PAUSE_MS;
    return !reachedRecent;
  }

  #remove(tx: Tx, done: readonly ScannedRow[]): void {
    ledger.remove(tx, done.map(({ seq }) => seq));
    removeStages(tx, done.map(({ ident }) => ident));
    for (const { seq } of done) this.#deps.onRemoved(seq);
  }
}

const ScannedRow = z.object({
  seq: z.number(),
  ident: z.string(),
  created_at: z.number(),
  done: z.number().transform(Boolean),
});
type ScannedRow = z.output<typeof ScannedRow>;

/** The next messages in the order of their row numbers, each with the permission to delete it. */
function scan(
  db: Reader,
  params: { after: number; before: number; below: number; limit: number },
): ScannedRow[] {
  return db.all(
    ScannedRow,
    `select seq, ident, created_at,
       state <> 'queued' and under_way = 0 and ask_state is not 'open'
       and (seq <= :below or :before >
            max(created_at, coalesce(closed_at, 0), coalesce(settled_at, 0), coalesce(sent_at, 0),
                coalesce(accepted_at, 0), coalesce(seen_at, 0))) as done
     from messages where seq > :after order by seq limit :limit`,
    params,
  );
}
