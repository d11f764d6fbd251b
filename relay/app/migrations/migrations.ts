/** The migrations of the relay's database, in order. Only append: never edit a released one. */

import oauth from "./001_oauth.sql" with { type: "text" };
import runMark from "./002_run_mark.sql" with { type: "text" };

export const relayMigrations: readonly string[] = [oauth, runMark];
