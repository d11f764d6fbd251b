/** Fills a relay's database with grants and their tokens, through the product's stores. */

import { randomIds, systemClock } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import type { Database } from "kit/data/sqlite.ts";
import * as clients from "../../../../relay/oauth/client_store.ts";
import type { Client } from "protocol/relay/oauth.ts";
import { accessTokens, grants, refreshTokens } from "../../../../relay/oauth/grant_store.ts";
import { digestOf } from "../../../../relay/web/secrets.ts";

const ROWS_OF_COMMIT = 5000;
/** A person has this many connected apps. */
const GRANTS_OF_NAMESPACE = 5;

export interface StoredGrant {
  readonly namespace: string;
  readonly access: string;
  readonly refresh: string;
}

/** The app that all grants are for. */
export function insertClient(db: Database): Client {
  const now = systemClock.now();
  const client: Client = {
    client_id: "mc_bench",
    client_name: "Bench",
    redirect_uris: ["https://app.example/back"],
    state: "used",
    registered_at: now,
    expires_at: now + 90 * DAY_MS,
  };
  db.transactNow((tx) => clients.insert(tx, client));
  return client;
}

/** Adds active grants, each with an access token and a refresh token. */
export function fillGrants(
  db: Database,
  count: number,
  { expires_at }: { readonly expires_at: number },
): StoredGrant[] {
  const added: StoredGrant[] = [];
  let namespace = "";
  while (added.length < count) {
    db.transactNow((tx) => {
      for (let row = 0; row < ROWS_OF_COMMIT && added.length < count; row++) {
        if (added.length % GRANTS_OF_NAMESPACE === 0) namespace = digestOf(randomIds.secret(16));
        const grant_id = `mg_${randomIds.secret(16)}`;
        const access = `mesh_at_${randomIds.secret(32)}`,
          refresh = `mesh_rt_${randomIds.secret(32)}`;
        const now = systemClock.now();
        grants.insert(tx, {
          grant_id,
          client_id: "mc_bench",
          namespace,
          asker: randomIds.next("mcp"),
          scope: "agents:read",
          state: "active",
          granted_at: now,
          exchanged_at: now,
          expires_at,
        });
        accessTokens.insert(tx, { token_hash: digestOf(access), grant_id, expires_at });
        refreshTokens.insert(tx, {
          token_hash: digestOf(refresh),
          grant_id,
          state: "current",
        });
        added.push({ namespace, access, refresh });
      }
    });
  }
  return added;
}
