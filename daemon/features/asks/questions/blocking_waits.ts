/**
 * Asks that a caller holds a connection for. Nobody comes for their answer later, so that they are
 * closed as soon as nobody holds on any more: the time is up, the caller hung up, the daemon goes.
 */

import type { Ground } from "kit/data/context.ts";
import { TOOL_PERMISSION } from "../answers.ts";
import type { Ask, Outcome } from "../contract.ts";
import type { Endings } from "../resolution.ts";
import * as rows from "./store.ts";

export interface HoldsNeeds {
  readonly endings: Endings;
  mustGet(correlation_id: string): Ask;
  /** Aborts as the daemon goes down. */
  readonly ending: AbortSignal;
}

export class Holds {
  readonly #ground: Ground;
  readonly #needs: HoldsNeeds;
  /** How many callers hold each ask now. */
  readonly #holders = new Map<string, number>();

  constructor(ground: Ground, needs: HoldsNeeds) {
    this.#ground = ground;
    this.#needs = needs;
  }

  /** Notes that an ask is held, in the verb that opens it: a crash cannot leave it open. */
  begin(correlation_id: string): void {
    this.#ground.db.transact((tx) => rows.hold(tx, correlation_id));
  }

  /** The end of an ask, at `until` at the latest. */
  async end(correlation_id: string, until: number, signal: AbortSignal): Promise<Ask> {
    const { db, clock } = this.#ground;
    const { endings, mustGet, ending } = this.#needs;
    this.#count(correlation_id, 1);
    try {
      await db.durable();
      if (mustGet(correlation_id).state === "open") {
        const ms_max = Math.max(0, until - clock.now());
        await endings.next(correlation_id, ms_max, AbortSignal.any([signal, ending]));
      }
    } finally {
      this.#count(correlation_id, -1);
    }
    return this.#letGo(correlation_id, signal);
  }

  /** Closes all that is held: the daemon goes, or has come back after it ended without a word. */
  closeAll(): void {
    const { db } = this.#ground;
    db.transact(() => rows.held(db).forEach((id) => this.#close(id, "evicted")));
  }

  /** One caller less. What was not answered is closed when its time is up, or nobody is left. */
  #letGo(correlation_id: string, signal: AbortSignal): Ask {
    const { db } = this.#ground;
    const { mustGet, ending } = this.#needs;
    return db.transact(() => {
      const hung_up = signal.aborted && !ending.aborted;
      const others = this.#holders.has(correlation_id);
      if (!hung_up || !others) this.#close(correlation_id, hung_up ? "cancelled" : "evicted");
      return mustGet(correlation_id);
    });
  }

  /** A permission that nobody gave is denied (specification 7); all else has timed out. */
  #close(correlation_id: string, reason: "evicted" | "cancelled"): void {
    const ask = this.#needs.mustGet(correlation_id);
    const permission = ask.question?.scope === TOOL_PERMISSION;
    const outcome: Outcome = permission ? "denied" : "timed_out";
    if (ask.state === "open") this.#needs.endings.settle(ask, reason, { responder: null, outcome });
    this.#ground.db.transact((tx) => rows.letGo(tx, correlation_id));
  }

  #count(correlation_id: string, by: 1 | -1): void {
    const count = (this.#holders.get(correlation_id) ?? 0) + by;
    if (count > 0) this.#holders.set(correlation_id, count);
    else this.#holders.delete(correlation_id);
  }
}
