/** Ranges of row numbers, by which a read of all messages lets other requests run in between. */

import * as z from "zod";
import type { Context } from "../../../data/context.ts";
import type { Reader } from "kit/data/sqlite.ts";

/** Maximum rows of a range. Reading them takes 3 to 5 ms. */
const RANGE_ROWS = 1500;

/** The rows whose numbers are at least `floor` and less than `before`. */
export interface SeqRange {
  readonly floor: number;
  readonly before: number;
}

/** All rows below a number, newest first, without the gaps that retention has left. */
export async function* rangesBelow(
  { db, clock }: Pick<Context, "db" | "clock">,
  before = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<SeqRange> {
  let newest = newestBelow(db, before);
  for (let end = before; newest !== undefined;) {
    const floor = Math.max(0, newest - RANGE_ROWS + 1);
    yield { floor, before: end };
    end = floor;
    newest = newestBelow(db, end);
    if (newest !== undefined) await clock.sleep(0);
  }
}

/** The first `limit` rows of those that `read` finds in each range. */
export async function readRanges<T>(
  ctx: Pick<Context, "db" | "clock">,
  { limit, before }: { readonly limit: number; readonly before?: number },
  read: (part: SeqRange & { readonly limit: number }) => readonly T[],
): Promise<T[]> {
  const found: T[] = [];
  for await (const range of rangesBelow(ctx, before)) {
    found.push(...read({ ...range, limit: limit - found.length }));
    if (found.length >= limit) break;
  }
  return found;
}

function newestBelow(db: Reader, before: number): number | undefined {
  const found = "select max(seq) from messages where seq < :before";
  return db.value(z.number().nullable(), found, { before }) ?? undefined;
}
