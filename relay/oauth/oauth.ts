/** Builds the authorization server: clients, consent, grants and connections on one database. */

import type { Clock, Ids } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { Problem } from "kit/core/problem.ts";
import type { Route } from "kit/http/route.ts";
import type { Database } from "kit/data/sqlite.ts";
import type { AddressRateLimit } from "../web/net/rate_limiter.ts";
import type { OriginPolicy } from "../web/origin_policy.ts";
import type { Bearer } from "../mcp/contract.ts";
import { Clients } from "./clients/clients.ts";
import { Connections } from "./consent/connections.ts";
import { Consent, type ConsentDeps, type Machines } from "./consent/consent.ts";
import { Grants, type GrantsDeps } from "./grants/grants.ts";
import { resourceOf } from "./metadata.ts";
import { oauthRoutes } from "./routes.ts";

export interface OAuthDeps {
  /** The origin from the configuration, never from a request. */
  readonly issuer: string;
  readonly db: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly originPolicy: OriginPolicy;
  readonly sessions: ConsentDeps["sessions"];
  readonly machines: Machines;
  readonly registrations: AddressRateLimit;
  readonly consents: ConsentDeps["limit"];
  readonly exchanges: GrantsDeps["exchanges"];
}

export interface OAuth {
  readonly routes: readonly Route[];
  /** Checks access tokens for `/mcp`. Throws `storage_failed` if the database cannot be read. */
  readonly tokens: { check(token: string): Bearer | undefined };
}

export function openOAuth(deps: OAuthDeps): OAuth {
  const { issuer, db, clock, ids, log, sessions, exchanges } = deps;
  const resource = resourceOf(issuer);
  const clients = new Clients({ db, clock, ids });
  const onExchanged = clients.onExchanged.bind(clients);
  const grants = new Grants({ db, clock, ids, onExchanged, exchanges });
  const consent = new Consent({ ...deps, resource, clients, grants, limit: deps.consents });
  const connections = new Connections({ grants, sessions, log });
  const services = { ...deps, resource, clients, grants, consent, connections };
  return { routes: oauthRoutes(services), tokens: { check: (token) => checkToken(grants, token) } };
}

/** A failing database is a 503, so that no caller is admitted and every caller may retry. */
function checkToken(grants: Grants, token: string): Bearer | undefined {
  try {
    return grants.bearerOf(token);
  } catch (error) {
    throw new Problem("storage_failed", {}, error);
  }
}
