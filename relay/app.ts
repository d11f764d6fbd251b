/** The relay's composition root. */

import type { Clock, Ids } from "kit/clock.ts";
import type { Log } from "kit/log.ts";
import { Problem } from "kit/problem.ts";
import { type Route, route, serve } from "kit/route.ts";
import type { Database } from "kit/sqlite.ts";
import { VERSION } from "kit/contract.ts";
import { Address } from "./address.ts";
import { getRelayHealth } from "./contract.ts";
import { keyRoutes } from "./keys/routes.ts";
import { Sessions } from "./keys/sessions.ts";
import { bucketOf, type Proxy } from "./net/bucket.ts";
import { type Rates, Turnstile } from "./net/turnstile.ts";
import { openOAuth } from "./oauth/oauth.ts";
import type { Machines } from "./tunnel/contract.ts";

/** Remote MCP and its OAuth live here; without an issuer they are not there (contract 9). */
const OAUTH = /^\/(mcp$|oauth\/|\.well-known\/)/;

/** Five from each address, then one a minute, below a ceiling for all (specification 8). */
const FIVE_THEN_ONE: Rates = {
  each: { burst: 5, per_minute: 1 },
  all: { burst: 120, per_minute: 60 },
};

/** What the relay gets from the world. */
export interface RelayOutside {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly proxy: Proxy;
  readonly machines: Pick<Machines, "list">;
  /** The issuer and its database; without them remote MCP is off. */
  readonly oauth: { readonly issuer: string; readonly db: Database } | undefined;
}

export function openRelay(outside: RelayOutside): ReturnType<typeof serve> {
  const { clock, ids, log, machines, oauth: named } = outside;
  const started_at = clock.now();
  const address = new Address(named?.issuer);
  const hasMachine = (namespace: string) => machines.list(namespace).length > 0;
  const sessions = new Sessions({ clock, ids, address, hasMachine });
  const pace = paceOf(outside);
  const paces = { register: pace(), login: pace() };
  const oauth = named && openOAuth({
    ...{ ...named, clock, ids, log, address, sessions, machines, registrations: pace() },
  });
  const routes: Route[] = [
    route(getRelayHealth, () => ({
      status: "ok" as const,
      version: VERSION,
      uptime_seconds: Math.floor((clock.now() - started_at) / 1000),
      daemons: 0,
      oauth: oauth ? "enabled" as const : "disabled" as const,
    })),
    ...keyRoutes({ ids, address, sessions, machines, paces }),
    ...oauth?.routes ?? [],
  ];
  return serve(routes, {
    admit: (request) => {
      const is_off = !oauth && OAUTH.test(new URL(request.url).pathname);
      if (is_off) throw new Problem("oauth_disabled", {});
    },
    authorize: (_request, _contract, remote) => ({ remote, dashboard: false, authorized: true }),
    durable: () => undefined,
    fault: (fault) => log.error("A route failed", { fault }),
  });
}

/** A new count for each purpose, by where requests come from. */
function paceOf({ clock, proxy }: RelayOutside) {
  return () => {
    const turnstile = new Turnstile(clock, FIVE_THEN_ONE);
    return {
      take: ({ headers }: Request, remote: Deno.NetAddr | undefined) =>
        turnstile.pass(bucketOf(remote?.hostname, headers, proxy)),
    };
  };
}
