/** The route by which a person wakes a sleeping agent. */

import { Problem } from "protocol/problems.ts";
import { wakePeer } from "protocol/wakes.ts";
import { type Route, route } from "kit/http/route.ts";
import type { CallerChecks } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import type { Wakes } from "./wakes.ts";

export function wakeRoutes(
  { directory, wakes }: { readonly directory: Directory; readonly wakes: Wakes },
  { isHumanAnswer }: CallerChecks,
): Route[] {
  return [
    route(wakePeer, async ({ params, query, caller, headers }) => {
      const { peer_id, name } = directory.findFor(params.id, query);
      if (!isHumanAnswer(caller, headers)) throw new Problem("human_not_proven", {});
      return { ok: true as const, peer_id, name, wake: await wakes.wake(peer_id) };
    }),
  ];
}
