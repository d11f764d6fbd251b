/** The migrations of the relay's database, in order. Append only: a shipped one is never edited. */

import oauth from "./001_oauth.sql" with { type: "text" };

export const relayMigrations: readonly string[] = [oauth];
