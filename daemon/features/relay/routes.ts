/** Routes of shares and connected apps, which the relay keeps. */

import { type Route, route } from "kit/http/route.ts";
import { listApps, revokeApp } from "protocol/apps.ts";
import { createShare, listShares, revokeShare } from "protocol/shares.ts";
import type { Apps, Shares } from "./relay_api.ts";

export function relayRoutes({ apps, shares }: { apps: Apps; shares: Shares }): Route[] {
  return [
    route(createShare, ({ body }) => shares.create(body)),
    route(listShares, () => shares.list()),
    route(revokeShare, ({ params }) => shares.revoke(params.id)),
    route(listApps, () => apps.list()),
    route(revokeApp, ({ params }) => apps.revoke(params.id)),
  ];
}
