/** Routes that start an agent with an earlier conversation. */

import type { Problem } from "protocol/problems.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import { refuseUntrusted } from "../../../host/trusted_socket.ts";
import type { StoredPeer } from "../../peers/store.ts";
import { originOf, type SpawnRoutesDeps } from "../routes.ts";
import type { Spawns } from "../spawns.ts";
import { forkSession, listSessions, resumeSession } from "protocol/spawn/sessions.ts";
import type { Forks } from "./forks.ts";
import type { Resumptions } from "./resumptions.ts";

interface SessionFeatures {
  readonly spawns: Spawns;
  readonly forks: Forks;
  readonly resumptions: Resumptions;
}

interface SessionRoutesDeps extends Pick<SpawnRoutesDeps, "isProvenHuman" | "senderOf"> {
  /**
   * The refusal for a copy of a peer; undefined if the caller may copy it. A copy knows everything
   * that the peer has read.
   */
  refusalOfCopy(
    source: StoredPeer,
    from_peer: string | undefined,
    request: { readonly caller: Caller; readonly headers: Headers },
  ): Problem | undefined;
  /**
   * The refusal for resuming a session; undefined if the caller may resume it. `earlier` is the
   * last peer of the session.
   */
  refusalOfResume(
    earlier: StoredPeer | undefined,
    from_peer: string | undefined,
    request: { readonly caller: Caller; readonly headers: Headers },
  ): Problem | undefined;
}

export function sessionRoutes(
  { spawns, forks, resumptions }: SessionFeatures,
  deps: SessionRoutesDeps,
): Route[] {
  const replay = {
    sender: ({ body }: { body: { from_peer?: string | undefined } }) =>
      deps.senderOf({ from_peer: body.from_peer ?? ANONYMOUS_SENDER }),
  };
  return [
    route(forkSession, async ({ params, body, caller, headers, commit }) => {
      const requestContext = originOf(deps, caller, headers);
      const { launched, source } = await forks.launch(
        params.id,
        body,
        (source) => deps.refusalOfCopy(source, body.from_peer, { caller, headers }),
      );
      return await spawns.storeOrUndo(
        launched,
        () => commit(() => ({ ...spawns.record(launched, requestContext), ...source })),
      );
    }, {
      ...replay,
      again: (before) => spawns.refresh(before),
    }),
    route(listSessions, ({ query, caller, headers }) =>
      resumptions.list(query, {
        isHuman: deps.isProvenHuman(caller, headers),
        isElsewhere: caller.via === "relay" || caller.via === "machine",
      })),
    route(resumeSession, async ({ body, query, caller, headers, commit }) => {
      refuseUntrusted(query.tmux_socket);
      const requestContext = originOf(deps, caller, headers);
      const refusalOf = (earlier: StoredPeer | undefined) =>
        deps.refusalOfResume(earlier, body.from_peer, { caller, headers });
      const { tmux_socket } = query;
      return await resumptions.resume(
        body,
        { tmux_socket, refusalOf },
        (launched) =>
          commit(() => ({
            ...spawns.record(launched, requestContext),
            session_id: body.session_id,
            resumed_peer_id: launched.resumes?.peer_id ?? null,
          })),
      );
    }, {
      ...replay,
      again: (before) => spawns.refresh(before),
    }),
  ];
}
