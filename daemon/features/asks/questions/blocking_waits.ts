/**
 * Asks whose caller waits on an open connection. The answer cannot be fetched later, so the ask is
 * closed when its last caller has left: on a timeout, a disconnect, or the daemon's shutdown.
 */

import { Ages } from "kit/core/clock.ts";
import type { Context } from "../../../data/context.ts";
import type { Refusal } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { TERMINAL } from "../answers.ts";
import { TOOL_PERMISSION } from "protocol/messages/question.ts";
import type { Asks } from "../asks.ts";
import type { Ask, Outcome } from "protocol/asks/contract.ts";
import * as rows from "../store.ts";

interface BlockingWaitsDeps {
  readonly asks: Asks;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
}

export class BlockingWaits {
  readonly #ctx: Context;
  readonly #deps: BlockingWaitsDeps;
  readonly #ages: Ages;
  /** Number of callers that wait for each ask. */
  readonly #waiterCounts = new Map<string, number>();

  constructor(ctx: Context, deps: BlockingWaitsDeps) {
    this.#ctx = ctx;
    this.#ages = new Ages(ctx.clock);
    this.#deps = deps;
  }

  /**
   * Records that a caller waits for an ask. Called in the transaction that opens the ask, so that
   * `closeAll` also finds and closes the ask after a crash. `at_terminal`: the agent's own dialog
   * asks the same.
   */
  add(correlation_id: string, at_terminal = false): void {
    this.#ctx.db.transact((tx) => rows.insertWait(tx, correlation_id, at_terminal));
  }

  /**
   * Waits until the ask is closed or is `wait_ms` old. If it is still open then, closes it. Throws
   * `stored_then_failed` if the database fails once the ask is stored.
   */
  async wait(correlation_id: string, wait_ms: number, signal: AbortSignal): Promise<Ask> {
    const { db } = this.#ctx;
    const { asks } = this.#deps;
    let isStored = false;
    this.#count(correlation_id, 1);
    try {
      await db.whenDurable();
      isStored = true;
      const { state, created_at } = asks.mustGet(correlation_id);
      if (state === "open") {
        const ms_max = Math.max(0, wait_ms - this.#ages.of(correlation_id, created_at));
        await asks.closer.waitForClose(correlation_id, ms_max, signal);
      }
    } catch (error) {
      throw isStored ? this.#failedAfter(correlation_id, error) : error;
    } finally {
      this.#count(correlation_id, -1);
      if (isStored) db.failures.repeatUntilStored(() => this.#release(correlation_id, signal));
    }
    return await this.#mustGetReleased(correlation_id);
  }

  /** The ask after its wait. An answer that is stored is returned although the release failed. */
  async #mustGetReleased(correlation_id: string): Promise<Ask> {
    try {
      await this.#ctx.db.whenDurable()?.catch(() => undefined);
      const ask = this.#deps.asks.mustGet(correlation_id);
      if (ask.state === "closed" || this.#waiterCounts.has(correlation_id)) return ask;
    } catch (error) {
      throw this.#failedAfter(correlation_id, error);
    }
    throw this.#failedAfter(correlation_id);
  }

  #failedAfter(id: string, cause?: unknown): Refusal {
    return new Problem("stored_then_failed", { id, stored: `The ask ${id} is stored` }, cause);
  }

  /** Closes all asks with a recorded wait, at the shutdown and at a start after a crash. */
  closeAll(): void {
    const { db } = this.#ctx;
    db.transact(() => rows.waitingIds(db).forEach((id) => this.#close(id, "evicted", true)));
  }

  /** Closes an unanswered ask after a wait, unless this caller left and others still wait. */
  #release(correlation_id: string, signal: AbortSignal): void {
    const isStopping = this.#deps.shutdownSignal.aborted;
    const callerLeft = signal.aborted && !isStopping;
    const others = this.#waiterCounts.has(correlation_id);
    const reason = callerLeft ? "cancelled" : "evicted";
    if (!callerLeft || !others) this.#close(correlation_id, reason, callerLeft || isStopping);
  }

  /**
   * Closes an unanswered ask. A tool permission is denied (specification 7); any other ask times
   * out. `undecided`: its caller gets no answer, so that the agent's own dialog stays open.
   */
  #close(correlation_id: string, reason: "evicted" | "cancelled", undecided: boolean): void {
    const { asks } = this.#deps;
    const { db } = this.#ctx;
    const ask = asks.mustGet(correlation_id);
    const permission = ask.question?.scope === TOOL_PERMISSION;
    const closing: { outcome: Outcome; responder: string | null } =
      undecided && rows.isAtTerminal(db, correlation_id)
        ? { outcome: "ended_there", responder: TERMINAL }
        : { outcome: permission ? "denied" : "timed_out", responder: null };
    if (ask.state === "open") asks.closer.close(ask, reason, closing);
    db.transact((tx) => rows.removeWait(tx, correlation_id));
  }

  #count(correlation_id: string, by: 1 | -1): void {
    const count = (this.#waiterCounts.get(correlation_id) ?? 0) + by;
    if (count > 0) this.#waiterCounts.set(correlation_id, count);
    else this.#waiterCounts.delete(correlation_id);
  }
}
