/** Lists of stored asks, read in steps: the asks of one peer may be few among a million. */

import type { Context } from "../../data/context.ts";
import { rangesBelow } from "../messages/ledger/ranges.ts";
import type { Ask, Thread } from "protocol/asks/contract.ts";
import * as rows from "./store.ts";

/**
 * The maximum number of threads per history request. The next request starts at the last
 * `closed_at`.
 */
const THREADS_MAX = 1000;
/** Closed asks that a history reads before other requests run. It takes 3 to 5 ms. */
const HISTORY_STEP_ASKS = 1500;

/** A page of asks, newest first. */
export async function pageOf(
  ctx: Context,
  page: rows.PageFilter,
): Promise<{ asks: Ask[]; next: string | null }> {
  const found = page.state === "open" ? rows.page(ctx.db, page) : await scan(ctx, page);
  const last = found.length === page.limit ? found.at(-1) : undefined;
  return { asks: found, next: last ? String(last.seq) : null };
}

async function scan(ctx: Context, page: rows.PageFilter): Promise<rows.PagedAsk[]> {
  const found: rows.PagedAsk[] = [];
  for await (const range of rangesBelow(ctx, page.before)) {
    const limit = page.limit - found.length;
    found.push(...rows.page(ctx.db, { ...page, ...range, limit }));
    if (found.length >= page.limit) break;
  }
  return found;
}

/**
 * Asks of a peer that were closed after `since`, oldest first. All asks that were closed at the
 * instant of the limit are included.
 */
export async function historyOf(
  { db, clock }: Context,
  peer_id: string,
  since: number,
): Promise<Thread[]> {
  const found: Thread[] = [];
  for (let from = since;;) {
    const until = rows.closedAfter(db, from, HISTORY_STEP_ASKS);
    const range = { since: from, until: until ?? Number.MAX_SAFE_INTEGER };
    found.push(...rows.threads(db, { peer_id, ...range }));
    if (until === undefined || found.length >= THREADS_MAX) break;
    from = until;
    await clock.sleep(0);
  }
  const last = found[THREADS_MAX - 1]?.closed_at ?? Number.MAX_SAFE_INTEGER;
  return found.filter(({ closed_at }) => closed_at <= last);
}
