/** Builds the authorization server: clients, consent, grants and connections on one database. */

import type { Route } from "kit/http/route.ts";
import type { Database } from "kit/data/sqlite.ts";
import type { AddressRateLimit } from "../web/rate_limiter.ts";
import type { Tokens } from "../mcp/routes.ts";
import type { OwnerSessions } from "../sign_in/sessions.ts";
import { Clients } from "./clients.ts";
import { openConnections } from "./consent/connections.ts";
import { Consent, type ConsentDeps } from "./consent/consent.ts";
import { fromDatabase, Grants, type GrantsDeps } from "./grants.ts";
import { resourceOf } from "./metadata.ts";
import { appRoutes, oauthRoutes } from "./routes.ts";

interface OAuthDeps extends Pick<ConsentDeps, BaseDeps> {
  readonly db: Database;
  readonly sessions: ConsentDeps["sessions"] & OwnerSessions;
  readonly limits: {
    readonly registrations: AddressRateLimit;
    readonly consents: ConsentDeps["limit"];
    readonly exchanges: GrantsDeps["exchanges"];
  };
}

type BaseDeps = "issuer" | "clock" | "ids" | "log" | "originPolicy" | "sessions" | "machines";

export interface OAuth {
  readonly routes: readonly Route[];
  /** Checks access tokens for `/mcp`. Throws `storage_failed` if the database cannot be read. */
  readonly tokens: Tokens;
  clockSetBack(now: number): void;
}

export function openOAuth(deps: OAuthDeps): OAuth {
  const { registrations, consents: limit, exchanges } = deps.limits;
  const resource = resourceOf(deps.issuer);
  const clients = new Clients(deps);
  const grants = new Grants({
    ...deps,
    exchanges,
    onExchanged: (exchange) => clients.onExchanged(exchange),
  });
  const consent = new Consent({ ...deps, resource, clients, grants, limit });
  const connections = openConnections({ ...deps, grants });
  const services = { ...deps, resource, clients, grants, consent, connections, registrations };
  return {
    routes: [...oauthRoutes(services), ...appRoutes({ ...deps, grants })],
    tokens: { check: (token) => fromDatabase(() => grants.bearerOf(token)) },
    clockSetBack: (now) => grants.clockSetBack(now),
  };
}
