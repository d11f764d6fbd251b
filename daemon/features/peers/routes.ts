/** The peers' contracts, each met by its verb. */

import type * as z from "zod";
import { OK } from "kit/http/contract.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import { claimsOf, type Registry } from "./certificate.ts";
import * as contracts from "./contract.ts";
import type { Directory } from "./directory.ts";
import type { Peers } from "./peers.ts";

interface Circle {
  readonly circle?: string | undefined;
}

export interface PeerDoors {
  restartOf(peer_id: string): Promise<z.output<typeof contracts.getPeer.returns>["restart"]>;
  /** The circle that a registration's window is, where windows are circles. */
  windowOf(given: contracts.Registration): Promise<string | undefined>;
  /** Whether the kernel shows that this process, or one below it, sends the request. */
  isProcess(pid: number, caller: Caller): boolean;
  /** Refuses a tmux server that must not be connected to. */
  refuseUntrustedPlace(given: contracts.Registration): void;
}

export function peerRoutes(
  peers: Peers,
  directory: Directory,
  registry: Registry,
  doors: PeerDoors,
): Route[] {
  const idOf = (params: { id: string }, query?: Circle) =>
    directory.find(params.id, { circle: query?.circle }).peer_id;
  const enter = register({ peers, registry, doors });
  return [
    route(contracts.registerPeer, ({ body, caller }) => enter(body, caller)),
    route(contracts.listPeers, ({ query }) => ({ peers: directory.list(query) })),
    route(contracts.getPeer, async ({ params, query }) => {
      const peer_id = idOf(params, query);
      const restart = await doors.restartOf(peer_id);
      return { ...directory.record(peer_id), restart };
    }),
    route(
      contracts.peerByPane,
      ({ params: { pane_id }, query }) =>
        directory.record(directory.onPane(pane_id, query.tmux_socket).peer_id),
    ),
    route(contracts.offlinePeer, ({ params, query, body }) => {
      peers.offline(idOf(params, query), body);
      return OK;
    }),
    route(contracts.unregisterPeer, ({ body }) => {
      peers.unregister(idOf({ id: body.peer_id }));
      return OK;
    }),
    route(contracts.closePeer, ({ params, query }) => {
      peers.close(idOf(params, query));
      return OK;
    }),
    route(contracts.touchPeer, ({ params, query }) => {
      peers.touch(idOf(params, query));
      return OK;
    }),
    route(contracts.describePeer, ({ params, query, body }) => {
      const peer_id = idOf(params, query);
      peers.describe(peer_id, body.description);
      return directory.record(peer_id);
    }),
    route(contracts.renamePeer, ({ params, query, body }) => {
      const peer_id = idOf(params, query);
      peers.rename(peer_id, body.name);
      return directory.record(peer_id);
    }),
    route(contracts.provePeer, ({ params, query, body }) => {
      const { peer_id } = directory.findLive(params.id, { circle: query.circle });
      peers.prove(peer_id, body);
      return directory.record(peer_id);
    }),
    ...reportRoutes(peers, idOf),
  ];
}

/** What hooks report of a peer's turns. */
function reportRoutes(peers: Peers, idOf: (params: { id: string }, query?: Circle) => string) {
  return [
    route(contracts.reportTurn, ({ params, query, body }) => {
      peers.turn(idOf(params, query), body);
      return OK;
    }),
    route(contracts.reportChat, ({ body }) => {
      peers.chat(idOf({ id: body.peer_id }), body);
      return OK;
    }),
  ];
}

/**
 * A certificate names its peer, where the registration itself names none. A fresh one goes to who
 * is new, or has proved to be the peer, and to nobody else: it would prove a stranger (contract 6).
 */
function register(
  { peers, registry, doors }: { peers: Peers; registry: Registry; doors: PeerDoors },
) {
  return async (given: contracts.Registration, caller: Caller) => {
    doors.refuseUntrustedPlace(given);
    const window_circle = await doors.windowOf(given);
    const { birth_certificate: shown } = given;
    const certificate = shown ? await registry.check(shown) : undefined;
    const claimed = given.peer_id ?? certificate?.peer_id;
    const claim = claimed === undefined ? given : { ...given, peer_id: claimed };
    const isProcess = (pid: number) => doors.isProcess(pid, caller);
    const { peer, proved } = peers.admit(claim, { certificate, window_circle, isProcess });
    const { peer_id, name, circle, role, mesh_session_id } = peer;
    return {
      ...OK,
      peer_id,
      display_name: name,
      circle,
      role,
      mesh_session_id: mesh_session_id ?? "",
      birth_certificate: proved ? await registry.certify(claimsOf(peer)) : null,
    };
  };
}
