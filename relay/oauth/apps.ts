/** Routes of connected apps: the content of `/oauth/connections` as data. */

import * as z from "zod";
import { type Contract, OK } from "kit/http/contract.ts";
import { UNCACHED_HEADERS } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { rawRoute, type Route } from "kit/http/route.ts";
import { ownerOf, type OwnerSessions } from "../sign_in/sessions.ts";
import type { Grants } from "./grants.ts";
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
      return json(contracts.listApps, { apps });
    }),
    rawRoute(contracts.revokeApp, (request, _, { id = "" }) => {
      const namespace = ownerOf(sessions, request);
      if (!fromDatabase(() => grants.disconnect(namespace, id))) {
        throw new Problem("unknown_app", {});
      }
      return json(contracts.revokeApp, OK);
    }),
  ];
}

/** A failing database is a 503: nothing was shown as gone, and the caller may retry. */
function fromDatabase<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Problem("storage_failed", {}, error);
  }
}

/** A connection without the relay's internal fields, such as its namespace. */
function toApp(connection: Connection) {
  const { grant_id, client_id, client_name, scope, granted_at, exchanged_at, expires_at } =
    connection;
  const renewed_at = exchanged_at ?? granted_at;
  return { grant_id, client_id, client_name, scope, granted_at, renewed_at, expires_at };
}

function json<C extends Contract>(contract: C, answer: z.output<C["returns"]>): Response {
  return Response.json(z.encode(contract.returns, answer), { headers: UNCACHED_HEADERS });
}
