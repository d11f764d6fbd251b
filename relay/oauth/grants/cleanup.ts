/** Expiry: whoever writes clears some of what is over away; it counted for nothing before. */

import type { Database } from "kit/data/sqlite.ts";
import * as rows from "./store.ts";

/** A grant may take thousands of consumed refresh tokens with it. */
const GRANTS_MAX = 20;
const ROWS_MAX = 500;

export function sweep(db: Database, now: number): void {
  db.transact((tx) => rows.expireGrants(tx, now, GRANTS_MAX));
  db.transact((tx) => rows.expireAccessTokens(tx, now, ROWS_MAX));
  db.transact((tx) => rows.expireForms(tx, now, ROWS_MAX));
}
