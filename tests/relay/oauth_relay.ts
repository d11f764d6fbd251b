/** The authorization server with the room of keys, and machines that are only listed. */

import type { Clock, Ids } from "kit/clock.ts";
import type { Log } from "kit/log.ts";
import { serve } from "kit/route.ts";
import type { Database } from "kit/sqlite.ts";
import { Address } from "../../relay/address.ts";
import { keyRoutes } from "../../relay/keys/routes.ts";
import { Sessions } from "../../relay/keys/sessions.ts";
import type { Proxy } from "../../relay/net/bucket.ts";
import { openOAuth } from "../../relay/oauth/oauth.ts";
import { openPaces } from "../../relay/paces.ts";
import type { Machines } from "../../relay/tunnel/contract.ts";

interface Outside {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly proxy: Proxy;
  readonly machines: Pick<Machines, "list">;
  readonly oauth: { readonly issuer: string; readonly db: Database };
}

export function openRelay(outside: Outside): ReturnType<typeof serve> {
  const { clock, ids, log, machines, oauth } = outside;
  const address = new Address(oauth.issuer);
  const hasMachine = (namespace: string) => machines.list(namespace).length > 0;
  const sessions = new Sessions({ clock, ids, address, hasMachine });
  const { registrations, consents, exchanges, ...paces } = openPaces(outside);
  const needs = { clock, ids, log, address, sessions, machines };
  const { routes } = openOAuth({ ...needs, ...oauth, registrations, consents, exchanges });
  return serve([...keyRoutes({ ...needs, paces, has_apps: true }), ...routes], {
    admit: () => undefined,
    authorize: (_request, _contract, remote) => ({
      remote,
      human: false,
      authorized: true,
      holds_token: false,
    }),
    durable: () => undefined,
    fault: (fault) => log.error("A route failed", { fault }),
  });
}
