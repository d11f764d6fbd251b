/** Routes of asks to many. */

import { type Route, route } from "kit/http/route.ts";
import type { AskRoutesDeps, RequestContextReader } from "../routes.ts";
import { askMany, getMany } from "./contract.ts";
import type { MultiAsks } from "./multi_asks.ts";

export function multiAskRoutes(
  multiAsks: MultiAsks,
  requestContextOf: RequestContextReader,
  { senderOf }: Pick<AskRoutesDeps, "senderOf">,
): Route[] {
  return [
    route(
      askMany,
      ({ body, caller, headers, commit }) =>
        commit(() => multiAsks.ask(body, requestContextOf(caller, headers))),
      { sender: ({ body }) => senderOf(body), again: (before) => before },
    ),
    route(getMany, ({ params }) => multiAsks.result(params.parent_id)),
  ];
}
