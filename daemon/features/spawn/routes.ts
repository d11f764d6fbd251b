/** Routes that start agents: spawns, forks, resumed sessions and restarts. */

import type { Problem } from "protocol/problems.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import { refuseUntrusted } from "../../host/trusted_socket.ts";
import type { CallerChecks, RequestContext } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import type { StoredPeer } from "../peers/store.ts";
import * as contracts from "protocol/spawn/contract.ts";
import { cancelRestart, getRestart, restartPeer } from "protocol/spawn/restarts.ts";
import { forkSession, listSessions, resumeSession } from "protocol/spawn/sessions.ts";
import type { Forks } from "./forks.ts";
import type { Restarts } from "./restarts/restarts.ts";
import type { Resumptions } from "./resumptions.ts";
import type { Spawns } from "./spawns.ts";

interface SpawnFeatures {
  readonly directory: Directory;
  readonly forks: Forks;
  readonly restarts: Restarts;
  readonly resumptions: Resumptions;
  readonly spawns: Spawns;
}

/** The refusal for a caller that may not have the conversation of a peer; undefined if it may. */
type RefusalOf<P> = (
  peer: P,
  from_peer: string | undefined,
  request: { readonly caller: Caller; readonly headers: Headers },
) => Problem | undefined;

interface SpawnRoutesDeps extends Pick<CallerChecks, "requestContextOf"> {
  /** True if the request comes from a proven human origin (contract 2). */
  isProvenHuman(caller: Caller, headers: Headers): boolean;
  /** A copy knows everything that the peer has read. */
  readonly refusalOfCopy: RefusalOf<StoredPeer>;
  /** The peer is the last one of the session that is resumed, if there was one. */
  readonly refusalOfResume: RefusalOf<StoredPeer | undefined>;
}

export function spawnRoutes(
  { directory, forks, restarts, resumptions, spawns }: SpawnFeatures,
  { isProvenHuman, requestContextOf: originOf, refusalOfCopy, refusalOfResume }: SpawnRoutesDeps,
): Route[] {
  const sender = ({ body }: { body: { from_peer?: string | undefined } }) =>
    directory.senderId(body.from_peer ?? ANONYMOUS_SENDER);
  return [
    route(contracts.spawnConfig, () => spawns.config()),
    route(contracts.listFolders, ({ query }) => spawns.folders(query.prefix)),
    route(contracts.getSpawn, ({ params }) => spawns.get(params.id)),
    route(contracts.spawnPeer, async ({ body, query, caller, headers, commit }) => {
      refuseUntrusted(query.tmux_socket);
      const origin = originOf(caller, headers);
      const by = { isHuman: origin.proven_human };
      const launched = await spawns.launcher.launch(body, query.tmux_socket, by);
      const work = () => commit(() => spawns.record(launched, origin));
      return await spawns.storeOrUndo(launched, work);
    }, { sender, again: (before) => spawns.refresh(before) }),
    route(contracts.forkPeer, async ({ params, body, caller, headers }) => {
      const { launched, source_peer_id } = await forks.launchSibling(params.id, body);
      const record = () => spawns.record(launched, originOf(caller, headers));
      return { ...await spawns.storeOrUndo(launched, record), source_peer_id };
    }),
    ...restartRoutes(restarts, originOf),
    route(forkSession, async ({ params, body, caller, headers, commit }) => {
      const origin = originOf(caller, headers);
      const refusalOf = (source: StoredPeer) =>
        refusalOfCopy(source, body.from_peer, { caller, headers });
      const { launched, source } = await forks.launch(params.id, body, refusalOf);
      const work = () => commit(() => ({ ...spawns.record(launched, origin), ...source }));
      return await spawns.storeOrUndo(launched, work);
    }, { sender, again: (before) => spawns.refresh(before) }),
    route(listSessions, ({ query, caller, headers }) =>
      resumptions.list(query, {
        isHuman: isProvenHuman(caller, headers),
        isElsewhere: caller.via === "relay" || caller.via === "machine",
      })),
    route(resumeSession, async ({ body, query: { tmux_socket }, caller, headers, commit }) => {
      refuseUntrusted(tmux_socket);
      const origin = originOf(caller, headers);
      const refusalOf = (earlier: StoredPeer | undefined) =>
        refusalOfResume(earlier, body.from_peer, { caller, headers });
      return await resumptions.resume(
        body,
        { tmux_socket, refusalOf },
        (launched) =>
          commit(() => ({
            ...spawns.record(launched, origin),
            session_id: body.session_id,
            resumed_peer_id: launched.resumes?.peer_id ?? null,
          })),
      );
    }, { sender, again: (before) => spawns.refresh(before) }),
  ];
}

function restartRoutes(
  restarts: Restarts,
  originOf: (caller: Caller, headers: Headers) => RequestContext,
): Route[] {
  return [
    route(
      restartPeer,
      ({ params, body, caller, headers }) =>
        restarts.restart(params.id, body, originOf(caller, headers)),
    ),
    route(getRestart, ({ params, query }) => restarts.latest(params.id, query)),
    route(cancelRestart, ({ params, query }) => restarts.cancel(params.id, query)),
  ];
}
