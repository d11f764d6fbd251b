/** The authorization server with sign-in, and machines that are only listed. */

import type { Clock, Ids } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { serve } from "kit/http/serve.ts";
import type { Database } from "kit/data/sqlite.ts";
import { OriginPolicy } from "../../../relay/web/origin_policy.ts";
import { keyRoutes } from "../../../relay/sign_in/routes.ts";
import { Sessions } from "../../../relay/sign_in/sessions.ts";
import type { Proxy } from "../../../relay/web/client_address.ts";
import { openOAuth } from "../../../relay/oauth/oauth.ts";
import { openRateLimits } from "../../../relay/app/rate_limits.ts";
import type { Machines } from "protocol/relay/daemons.ts";

interface Platform {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly proxy: Proxy;
  readonly machines: Pick<Machines, "list">;
  readonly oauth: { readonly issuer: string; readonly db: Database };
}

export function openRelay(platform: Platform): ReturnType<typeof serve> {
  const { clock, ids, log, machines, oauth } = platform;
  const originPolicy = new OriginPolicy(oauth.issuer);
  const hasConnectedMachine = (namespace: string) => machines.list(namespace).length > 0;
  const sessions = new Sessions({ clock, ids, originPolicy, hasConnectedMachine });
  const limits = openRateLimits(platform);
  const deps = { clock, ids, log, originPolicy, sessions, machines };
  const { routes } = openOAuth({ ...deps, ...oauth, limits });
  return serve([...keyRoutes({ ...deps, limits, has_apps: true }), ...routes], {
    admit: () => undefined,
    authorize: (_request, _contract, remote) => ({
      remote,
      human: false,
      authorized: true,
      holds_token: false,
    }),
    whenDurable: () => undefined,
    error: (error) => log.error("A route failed", { error }),
  });
}
