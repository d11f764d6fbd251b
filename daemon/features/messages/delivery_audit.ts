/** The operator's view of all deliveries: lists, counts by state, and contradictory records. */

import type { Context } from "kit/data/context.ts";
import { type Delivery as DeliveryRecord, PROOF_MS_MAX } from "./contract.ts";
import * as audit from "./ledger/audit.ts";

export class DeliveryAudit {
  readonly #ctx: Context;
  readonly #lookups: audit.AuditLookups;

  constructor(ctx: Context, lookups: audit.AuditLookups) {
    this.#ctx = ctx;
    this.#lookups = lookups;
  }

  list(filter: { peer_id: string | null; state: string | null; limit: number }): DeliveryRecord[] {
    return audit.deliveries(this.#ctx.db, filter);
  }

  counts(): { [state: string]: number } {
    const entries = audit.counts(this.#ctx.db).map(({ state, count }) => [state, count]);
    return Object.fromEntries(entries);
  }

  /** Counts messages by state, and lists the messages whose record is contradictory. */
  audit() {
    const { db, clock } = this.#ctx;
    const now = clock.now();
    const unproved = audit.unprovedCount(db, now - PROOF_MS_MAX);
    return { ...audit.audit(db, now, this.#lookups), unproved };
  }
}
