/** The authorization server as a whole: its desks, put together on one database. */

import type { Clock, Ids } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { Problem } from "kit/core/problem.ts";
import type { Route } from "kit/http/route.ts";
import type { Database } from "kit/data/sqlite.ts";
import type { Address } from "../web/issuer.ts";
import type { Bearer } from "../mcp/contract.ts";
import { Clients } from "./clients/clients.ts";
import { Connections } from "./consent/connections.ts";
import { Consent, type ConsentNeeds, type Machines, type Sessions } from "./consent/consent.ts";
import { Grants, type GrantsNeeds } from "./grants/grants.ts";
import { resourceOf } from "./resource/metadata.ts";
import { oauthRoutes, type Pace } from "./routes.ts";

export interface OAuthNeeds {
  /** The configured origin; never one that a request claims. */
  readonly issuer: string;
  readonly db: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly address: Address;
  readonly sessions: Sessions;
  readonly machines: Machines;
  readonly registrations: Pace;
  readonly consents: ConsentNeeds["pace"];
  readonly exchanges: GrantsNeeds["exchanges"];
}

export interface OAuth {
  readonly routes: readonly Route[];
  /** What stands before `/mcp`: it says what a token stands for, and throws when it cannot know. */
  readonly tokens: { check(token: string): Bearer | undefined };
}

export function openOAuth(needs: OAuthNeeds): OAuth {
  const { issuer, db, clock, ids, log, sessions, exchanges } = needs;
  const resource = resourceOf(issuer);
  const clients = new Clients({ db, clock, ids });
  const exchanged = clients.exchanged.bind(clients);
  const grants = new Grants({ db, clock, ids, exchanged, exchanges });
  const consent = new Consent({ ...needs, resource, clients, grants, pace: needs.consents });
  const connections = new Connections({ grants, sessions, log });
  const desks = { ...needs, resource, clients, grants, consent, connections };
  return { routes: oauthRoutes(desks), tokens: { check: (token) => checked(grants, token) } };
}

/** What cannot be looked up lets nobody in, and says that it may be tried again. */
function checked(grants: Grants, token: string): Bearer | undefined {
  try {
    return grants.bearerOf(token);
  } catch (fault) {
    throw new Problem("storage_failed", {}, fault);
  }
}
