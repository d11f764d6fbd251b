/** Routes of shares. */

import { type Route, route } from "kit/http/route.ts";
import * as contracts from "protocol/shares.ts";
import type { Shares } from "./shares.ts";

export function shareRoutes(shares: Shares): Route[] {
  return [
    route(contracts.createShare, ({ body }) => shares.create(body)),
    route(contracts.listShares, () => shares.list()),
    route(contracts.revokeShare, ({ params }) => shares.revoke(params.id)),
  ];
}
