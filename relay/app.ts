/** The relay's composition root. */

import type { Clock } from "kit/clock.ts";
import type { Log } from "kit/log.ts";
import { Problem } from "kit/problem.ts";
import { type Route, route, serve } from "kit/route.ts";
import { VERSION } from "kit/contract.ts";
import { getRelayHealth } from "./contract.ts";

/** Remote MCP and its OAuth live here; without an issuer they are not there (contract 9). */
const OAUTH = /^\/(mcp$|oauth\/|\.well-known\/)/;

export function openRelay(clock: Clock, log: Log): (request: Request) => Promise<Response> {
  const started_at = clock.now();
  const routes: Route[] = [
    route(getRelayHealth, () => ({
      status: "ok" as const,
      version: VERSION,
      uptime_seconds: Math.floor((clock.now() - started_at) / 1000),
      daemons: 0,
      oauth: "disabled" as const,
    })),
  ];
  return serve(routes, {
    admit: (request) => {
      if (OAUTH.test(new URL(request.url).pathname)) throw new Problem("oauth_disabled", {});
    },
    authorize: (_request, _contract, remote) => ({ remote, dashboard: false, authorized: true }),
    durable: () => undefined,
    fault: (fault) => log.error("A route failed", { fault }),
  });
}
