/** Routes that start an agent with an earlier conversation. */

import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { type Route, route } from "kit/http/route.ts";
import type { SpawnRoutesDeps } from "../routes.ts";
import type { Spawns } from "../spawns.ts";
import { forkSession } from "./contract.ts";
import type { Forks } from "./forks.ts";

interface SessionFeatures {
  readonly spawns: Spawns;
  readonly forks: Forks;
}

export function sessionRoutes(
  { spawns, forks }: SessionFeatures,
  deps: Pick<SpawnRoutesDeps, "isProvenHuman" | "senderOf">,
): Route[] {
  return [
    route(forkSession, async ({ params, body, caller, headers, commit }) => {
      const requestContext = { proven_human: deps.isProvenHuman(caller, headers) };
      const { launched, source } = await forks.launch(params.id, body);
      return await spawns.storeOrUndo(
        launched,
        () => commit(() => ({ ...spawns.record(launched, requestContext), ...source })),
      );
    }, {
      sender: ({ body }) => deps.senderOf({ from_peer: body.from_peer ?? ANONYMOUS_SENDER }),
      again: (before) => spawns.refresh(before),
    }),
  ];
}
