/** Routes of connected apps. */

import { type Route, route } from "kit/http/route.ts";
import type { Apps } from "./apps.ts";
import * as contracts from "protocol/apps.ts";

export function appRoutes(apps: Apps): Route[] {
  return [
    route(contracts.listApps, () => apps.list()),
    route(contracts.revokeApp, ({ params }) => apps.revoke(params.id)),
  ];
}
