/** The peers' contracts, each met by its verb. */

import type * as z from "zod";
import { OK } from "kit/contract.ts";
import { type Route, route } from "kit/route.ts";
import type { Registry } from "./certificate.ts";
import * as contracts from "./contract.ts";
import type { Directory } from "./directory.ts";
import type { Peers } from "./peers.ts";
import { claimsOf } from "./certificate.ts";

type Blocks = (peer_id: string) => Promise<z.output<typeof contracts.getPeer.returns>["restart"]>;

export function peerRoutes(
  peers: Peers,
  directory: Directory,
  registry: Registry,
  restartOf: Blocks,
): Route[] {
  const idOf = (params: { id: string }, query?: { circle?: string | undefined }) =>
    directory.find(params.id, { circle: query?.circle }).peer_id;
  return [
    route(contracts.registerPeer, ({ body }) => register(peers, registry, body)),
    route(contracts.listPeers, ({ query }) => ({ peers: directory.list(query) })),
    route(contracts.getPeer, async ({ params, query }) => {
      const peer_id = idOf(params, query);
      const restart = await restartOf(peer_id);
      return { ...directory.record(peer_id), restart };
    }),
    route(contracts.peerByPane, ({ params, query }) => {
      return directory.record(directory.onPane(params.pane_id, query.tmux_socket).peer_id);
    }),
    route(contracts.offlinePeer, ({ params, body }) => {
      peers.offline(idOf(params), body);
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
    route(contracts.touchPeer, ({ params }) => {
      peers.touch(idOf(params));
      return OK;
    }),
    route(contracts.describePeer, ({ params, body }) => {
      const peer_id = idOf(params);
      peers.describe(peer_id, body.description);
      return directory.record(peer_id);
    }),
    route(contracts.renamePeer, ({ params, body }) => {
      const peer_id = idOf(params);
      peers.rename(peer_id, body.name);
      return directory.record(peer_id);
    }),
    route(contracts.provePeer, ({ params, body }) => {
      const { peer_id } = directory.findLive(params.id);
      peers.prove(peer_id, body);
      return directory.record(peer_id);
    }),
    route(contracts.reportTurn, ({ params, body }) => {
      peers.turn(idOf(params), body);
      return OK;
    }),
    route(contracts.reportChat, ({ body }) => {
      peers.chat(idOf({ id: body.peer_id }), body);
      return OK;
    }),
  ];
}

/** A certificate names its peer, where the registration itself names none. */
async function register(peers: Peers, registry: Registry, given: contracts.Registration) {
  const { birth_certificate: shown } = given;
  const proven_peer_id = shown ? (await registry.check(shown)).peer_id : undefined;
  const claimed = given.peer_id ?? proven_peer_id;
  const claim = claimed === undefined ? given : { ...given, peer_id: claimed };
  const peer = peers.register(claim, { proven_peer_id });
  const { peer_id, name, circle, role, mesh_session_id } = peer;
  return {
    ...OK,
    peer_id,
    display_name: name,
    circle,
    role,
    mesh_session_id: mesh_session_id ?? "",
    birth_certificate: await registry.certify(claimsOf(peer)),
  };
}
