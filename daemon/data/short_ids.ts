/** Shortened ids: the first digits of an id stand for it, if no other id begins with them. */

import * as z from "zod";
import type { Reader } from "kit/data/sqlite.ts";

/** Maximum number of ids that a search returns; a shortened id with two is ambiguous. */
export const SHORT_ID_MATCHES_MAX = 6;

/** A search for the first ids of a column that begin with a text, by the index on that column. */
export function idsOf(table: string, column: string): (db: Reader, short: string) => string[] {
  const statement = `select ${column} from ${table} where ${column} >= :short and ${column} < :end
     order by ${column} limit :limit`;
  return (db, short) =>
    // An id ends with hex digits, and "g" follows the last one.
    db.values(z.string(), statement, { short, end: `${short}g`, limit: SHORT_ID_MATCHES_MAX });
}
