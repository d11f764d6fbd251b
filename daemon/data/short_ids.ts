/** Shortened ids: the first digits of an id stand for it, if no other id begins with them. */

import * as z from "zod";
import type { Reader } from "kit/data/sqlite.ts";

/** Maximum number of ids that a search returns; a shortened id with two is ambiguous. */
export const SHORT_ID_MATCHES_MAX = 6;

/** The first ids of a column that begin with `short`, by the index on that column. */
export function idsStarting(
  db: Reader,
  { table, column }: { readonly table: string; readonly column: string },
  short: string,
): string[] {
  return db.values(
    z.string(),
    `select ${column} from ${table} where ${column} >= :short and ${column} < :end
     order by ${column} limit :limit`,
    // An id ends with hex digits, and "g" follows the last one.
    { short, end: `${short}g`, limit: SHORT_ID_MATCHES_MAX },
  );
}
