/** `/mcp`: three contracts, each met by its answer; only for programs of this machine. */

import type { Contract } from "kit/contract.ts";
import { Problem } from "kit/problem.ts";
import { type Caller, rawRoute, type Route } from "kit/route.ts";
import { isLoopback } from "../places.ts";
import { deleteMcp, getMcp, postMcp } from "./contract.ts";
import type { Mcp } from "./mcp.ts";

export function mcpRoutes(mcp: () => Promise<Mcp>): Route[] {
  return [
    onLoopback(postMcp, async (request) => await (await mcp()).answer(request)),
    onLoopback(getMcp, refuseMethod),
    onLoopback(deleteMcp, refuseMethod),
  ];
}

function onLoopback(
  contract: Contract,
  answer: (request: Request) => Response | Promise<Response>,
): Route {
  return rawRoute(contract, (request, { remote }: Caller) => {
    if (remote && !isLoopback(remote.hostname)) throw new Problem("loopback_only", {});
    return answer(request);
  });
}

function refuseMethod({ method }: Request): never {
  const { path, method: allow } = postMcp;
  throw new Problem("method_not_allowed", { method, path, allow });
}
