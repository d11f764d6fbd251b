/** Fills a relay's database with grants and their access tokens. */

import { createHash } from "node:crypto";
import { randomIds, systemClock } from "kit/core/clock.ts";
import type { Database } from "kit/data/sqlite.ts";

const VALID_MS = 3_600_000;

export interface GrantOptions {
  readonly grants: number;
  readonly tokens_each: number;
  /** Namespace of every grant; by default each grant has a namespace of its own. */
  readonly namespace?: string;
}

/** Returns the tokens. */
export function fillGrants(
  db: Database,
  { grants, tokens_each, namespace }: GrantOptions,
): string[] {
  const tokens: string[] = [];
  const until = systemClock.now() + VALID_MS;
  db.transactNow((tx) => {
    tx.run(
      `insert into oauth_clients values ('mc_bench', null, '[]', 'used', 0, :until)`,
      { until },
    );
    for (let number = 0; number < grants; number++) {
      const grant_id = `mg_${randomIds.secret(16)}`;
      tx.run(
        `insert into oauth_grants values (:grant_id, 'mc_bench', :namespace, :asker,
           'agents:read agents:write', 'active', 0, 0, :until)`,
        {
          grant_id,
          namespace: namespace ?? digest(grant_id),
          asker: randomIds.next("mcp"),
          until,
        },
      );
      for (let at = 0; at < tokens_each; at++) {
        const token = `mesh_at_${randomIds.secret(32)}`;
        tokens.push(token);
        tx.run(
          `insert into oauth_access_tokens values (:token_hash, :grant_id, :until)`,
          { token_hash: digest(token), grant_id, until },
        );
      }
    }
  });
  return tokens;
}

export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
