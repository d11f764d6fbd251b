/** Routes of hand-overs. */

import type { Context } from "kit/data/context.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import { type CallerChecks, senderOf } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import * as peerRows from "../peers/store.ts";
import { handOff, switchPeer } from "./contract.ts";
import type { Handoffs } from "./handoffs.ts";
import type { Switches } from "./switches.ts";

export interface HandoffRoutesDeps {
  readonly ctx: Context;
  readonly directory: Directory;
  readonly handoffs: Handoffs;
  readonly switches: Switches;
}

export interface HandoffChecks extends Pick<CallerChecks, "requestContextOf"> {
  isProvenHuman(caller: Caller, headers: Headers): boolean;
  /** Whether the kernel proves that this process, or a descendant of it, sends the request. */
  isProcess(pid: number, caller: Caller, max: number): boolean;
}

export function handoffRoutes(
  { ctx, directory, handoffs, switches }: HandoffRoutesDeps,
  { requestContextOf, isProvenHuman, isProcess }: HandoffChecks,
): Route[] {
  /** The peer that a request claims to come from, if that is proved. */
  const provenPeer = (claimed: string, caller: Caller): string | undefined => {
    const peer_id = directory.scopeOf({ from_peer: claimed }).caller?.peer_id ?? undefined;
    if (peer_id === undefined) return undefined;
    // A tool of this daemon has no socket; it names the caller that it has identified.
    if (caller.remote === undefined && caller.via === undefined) return peer_id;
    const pid = peerRows.get(ctx.db, peer_id)?.agent_pid ?? undefined;
    return pid !== undefined && isProcess(pid, caller, Infinity) ? peer_id : undefined;
  };
  const isElsewhere = ({ via }: Caller) => via === "relay" || via === "machine";
  return [
    route(handOff, ({ body, caller, headers, commit }) => {
      const requester = {
        isHuman: isProvenHuman(caller, headers),
        isElsewhere: isElsewhere(caller),
        peer_id: provenPeer(body.from_peer, caller),
      };
      return handoffs.send(body, requester, requestContextOf(caller, headers), commit);
    }, {
      sender: senderOf(directory),
      again: (before) => before,
    }),
    route(switchPeer, ({ params, body, caller, headers }) => {
      const proven_human = isProvenHuman(caller, headers);
      const requestContext = { proven_human, isElsewhere: isElsewhere(caller) };
      return switches.switch(params.id, body, requestContext);
    }),
  ];
}
