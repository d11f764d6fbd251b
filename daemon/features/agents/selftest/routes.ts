/** The route of the self-tests' results. */

import { type Route, route } from "kit/http/route.ts";
import { Backend, TransportName } from "protocol/agents/contract.ts";
import { listSelftests } from "protocol/agents/selftest.ts";
import type { KnownFailures } from "./known_failures.ts";

export function selftestRoutes(known: KnownFailures): Route[] {
  return [route(listSelftests, () => {
    known.refresh();
    return { tested: [...resultsOf(known)] };
  })];
}

/** One row for each transport that was tested, in the order of the agents. */
function* resultsOf(known: KnownFailures) {
  const agents = known.verdicts()?.agents ?? {};
  for (const agent of Backend.options) {
    const tested = agents[agent];
    for (const transport of TransportName.options) {
      const verdict = tested?.transports[transport];
      if (tested && verdict) {
        yield { ...verdict, agent, version: tested.version, at: tested.at, transport };
      }
    }
  }
}
