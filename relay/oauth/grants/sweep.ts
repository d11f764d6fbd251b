/** Expiry: whoever writes clears some of what is over away; it counted for nothing before. */

import type { Database } from "kit/sqlite.ts";
import * as rows from "./store.ts";

/** A grant may take thousands of consumed refresh tokens with it. */
const GRANTS_MAX = 20;
const ROWS_MAX = 500;

export function sweep(db: Database, now: number): void {
  rows.expireGrants(db, now, GRANTS_MAX);
  rows.expireAccessTokens(db, now, ROWS_MAX);
  rows.expireForms(db, now, ROWS_MAX);
}
