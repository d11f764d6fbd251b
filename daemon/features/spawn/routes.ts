/** Routes of spawns, forks and restarts. */

import { Problem } from "protocol/problems.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import { kindOf } from "../../host/terminals/addresses.ts";
import { refuseUntrusted } from "../../host/trusted_socket.ts";
import type { RequestContext } from "../messages/request_context.ts";
import type { PeerQuery } from "../peers/directory.ts";
import type { StoredPeer } from "../peers/store.ts";
import * as contracts from "protocol/spawn/contract.ts";
import * as restartContracts from "protocol/spawn/restarts.ts";
import type { Restarts } from "./restarts/restarts.ts";
import type { Spawns } from "./spawns.ts";

export interface SpawnRoutesDeps {
  /** True if the request comes from a proven human origin (contract 2). */
  isProvenHuman(caller: Caller, headers: Headers): boolean;
  /** The sender: a peer id, or a name that belongs to no peer. */
  senderOf(body: { from_peer: string }): string;
  /** The peer to fork, with its pane. */
  findForkSource(argument: string, query: PeerQuery): StoredPeer;
}

/** The proofs of a request's origin, as a spawn or a restart stores them. */
export function originOf(
  deps: Pick<SpawnRoutesDeps, "isProvenHuman">,
  caller: Caller,
  headers: Headers,
): RequestContext {
  return {
    proven_human: deps.isProvenHuman(caller, headers),
    unverified: caller.unverified,
  };
}

export function spawnRoutes(spawns: Spawns, restarts: Restarts, deps: SpawnRoutesDeps): Route[] {
  return [
    route(contracts.spawnConfig, () => spawns.config()),
    route(contracts.listFolders, ({ query }) => spawns.folders(query.prefix)),
    route(contracts.spawnPeer, async ({ body, query, caller, headers, commit }) => {
      refuseUntrusted(query.tmux_socket);
      const requestContext = originOf(deps, caller, headers);
      const launched = await spawns.launcher.launch(body, query.tmux_socket);
      return await spawns.storeOrUndo(
        launched,
        () => commit(() => spawns.record(launched, requestContext)),
      );
    }, {
      sender: ({ body }) => deps.senderOf({ from_peer: body.from_peer ?? ANONYMOUS_SENDER }),
      again: (before) => spawns.refresh(before),
    }),
    route(contracts.forkPeer, async ({ params, body }) => {
      const { backend, profile } = body;
      const source = deps.findForkSource(params.id, body);
      const { peer_id: source_peer_id, path, circle, pane_id, tmux_socket } = source;
      if (source.status === "retired") {
        throw new Problem("peer_retired", { peer_id: source_peer_id });
      }
      if (backend === source.backend) throw new Problem("same_backend", { backend });
      const isInTmux = kindOf(tmux_socket ?? "") === "tmux";
      const request = {
        path: path ?? "",
        backend,
        profile,
        circle,
        role: "agent" as const,
        ...(pane_id && isInTmux && { source_pane: pane_id }),
      };
      const server = isInTmux ? tmux_socket ?? undefined : undefined;
      const launched = await spawns.launcher.launch(request, server);
      const record = () => spawns.record(launched, { proven_human: false });
      return { ...await spawns.storeOrUndo(launched, record), source_peer_id };
    }),
    route(restartContracts.restartPeer, ({ params, body, caller, headers }) => {
      const requestContext = originOf(deps, caller, headers);
      return restarts.restart(params.id, body, requestContext);
    }),
    route(restartContracts.getRestart, ({ params, query }) => {
      return restarts.latest(params.id, query);
    }),
    route(restartContracts.cancelRestart, ({ params, query }) => {
      return restarts.cancel(params.id, query);
    }),
  ];
}
