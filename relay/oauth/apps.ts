/** Routes of connected apps: the content of `/oauth/connections` as data. */

import { OK } from "kit/http/contract.ts";
import { Problem } from "protocol/problems.ts";
import { rawRoute, type Route, toJsonResponse } from "kit/http/route.ts";
import { ownerOf, type OwnerSessions } from "../sign_in/sessions.ts";
import { fromDatabase, type Grants } from "./grants.ts";
import type { Connection } from "./grant_store.ts";
import * as contracts from "protocol/relay/apps.ts";

interface AppsDeps {
  readonly grants: Pick<Grants, "connections" | "disconnect">;
  readonly sessions: OwnerSessions;
}

export function appRoutes({ grants, sessions }: AppsDeps): Route[] {
  return [
    rawRoute(contracts.listApps, (request) => {
      const namespace = ownerOf(sessions, request);
      const apps = fromDatabase(() => grants.connections(namespace)).map(toApp);
      return toJsonResponse(contracts.listApps, { apps });
    }),
    rawRoute(contracts.revokeApp, (request, _, { id = "" }) => {
      const namespace = ownerOf(sessions, request);
      if (!fromDatabase(() => grants.disconnect(namespace, id))) {
        throw new Problem("unknown_app", {});
      }
      return toJsonResponse(contracts.revokeApp, OK);
    }),
  ];
}

/** A connection without the relay's internal fields, such as its namespace. */
function toApp(connection: Connection) {
  const { grant_id, client_id, client_name, scope, granted_at, exchanged_at, expires_at } =
    connection;
  const renewed_at = exchanged_at ?? granted_at;
  return { grant_id, client_id, client_name, scope, granted_at, renewed_at, expires_at };
}
