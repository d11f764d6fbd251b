/** Routes of hand-overs. */

import { type Route, route } from "kit/http/route.ts";
import { type CallerChecks, senderOf } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import type { ReaderOf } from "../transcripts/readers.ts";
import { handOff, switchPeer } from "protocol/handoffs.ts";
import type { Handoffs } from "./handoffs.ts";
import type { Switches } from "./switches.ts";

interface HandoffRoutesDeps {
  readonly directory: Directory;
  readonly handoffs: Handoffs;
  readonly switches: Switches;
}

interface HandoffChecks extends Pick<CallerChecks, "requestContextOf"> {
  readonly readerOf: ReaderOf;
}

export function handoffRoutes(
  { directory, handoffs, switches }: HandoffRoutesDeps,
  { requestContextOf, readerOf }: HandoffChecks,
): Route[] {
  return [
    route(handOff, ({ body, caller, headers, commit }) => {
      const requester = readerOf(body.from_peer, caller, headers);
      return handoffs.send(body, requester, requestContextOf(caller, headers), commit);
    }, { sender: senderOf(directory), again: (before) => before }),
    route(switchPeer, ({ params, body, caller, headers }) => {
      return switches.switch(params.id, body, readerOf(body.from_peer, caller, headers));
    }),
  ];
}
