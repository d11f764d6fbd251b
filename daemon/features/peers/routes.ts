/** Routes of peers. */

import type * as z from "zod";
import { OK } from "kit/http/contract.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import type { Certificates } from "./identity/certificates.ts";
import * as contracts from "protocol/peers/contract.ts";
import { listGroup, setPeer } from "protocol/peers/groups.ts";
import type { Directory, PeerQuery } from "./directory.ts";
import type { Peers } from "./peers.ts";
import type { PeerProfiles } from "./profiles.ts";
import type { PeerRecords } from "./records.ts";
import type { RegistrationPlace } from "./registration.ts";
import type { Registration, RestartBlock } from "protocol/peers/record.ts";
import type { StoredPeer } from "./store.ts";
import { loadTransliteration } from "./identity/transliteration.ts";
import type { Subagents } from "./subagents.ts";
import type { PeerTurns } from "./turns.ts";

interface PeerRoutesDeps {
  restartStatusOf(peer_id: string): Promise<z.output<typeof contracts.getPeer.returns>["restart"]>;
  /** The pane of a registration, if tmux reports it, and the pane's circle. */
  placeOf(registration: Registration): Promise<RegistrationPlace>;
  /** True if the kernel proves that this process or a descendant sends the request. */
  isProcess(pid: number, caller: Caller): boolean;
  /** As `isProcess`, of a peer's process: a descendant that is another peer's does not count. */
  isPeerProcess(pid: number, caller: Caller): boolean;
  /** True if the caller is proved to be a registered peer other than this one. */
  isAnotherPeer(peer: StoredPeer, caller: Caller): boolean;
  /** True if the human sends the request. */
  isProvenHuman(caller: Caller, headers: Headers): boolean;
  /** Refuses a tmux socket that another user controls. */
  mustBeTrustedSocket(registration: Registration): void;
}

/** The features behind these routes. */
export interface PeerFeatures {
  readonly certificates: Certificates;
  readonly directory: Directory;
  readonly peers: Peers;
  readonly profiles: PeerProfiles;
  readonly records: PeerRecords;
  readonly subagents: Subagents;
  readonly turns: PeerTurns;
}

/** Only a peer's own machine can restart it. */
const RUNS_ELSEWHERE = {
  restartable: false,
  reason: "peer_elsewhere",
  resume_mode: "fresh",
  would_run: null,
  last: null,
} as const satisfies RestartBlock;

export function peerRoutes(features: PeerFeatures, deps: PeerRoutesDeps): Route[] {
  const { directory, peers, profiles, records, subagents, turns } = features;
  const idOf = (params: { id: string }, query: PeerQuery = {}) =>
    directory.findFor(params.id, query).peer_id;
  return [
    route(
      contracts.registerPeer,
      ({ body, caller }) => register(body, caller, { ...deps, ...features }),
    ),
    route(contracts.listPeers, async ({ query }) => ({ peers: await records.list(query) })),
    route(contracts.getPeer, async ({ params, query }) => {
      const { peer_id, daemon_id } = directory.findAnywhere(params.id, directory.scopeOf(query));
      const restart = daemon_id === null ? await deps.restartStatusOf(peer_id) : RUNS_ELSEWHERE;
      return { ...records.mustGet(peer_id), restart, ...subagents.childrenOf(peer_id) };
    }),
    route(contracts.peerByPane, ({ params, query }) => {
      const { peer_id } = directory.occupantOf(params.pane_id, query.tmux_socket);
      return records.mustGet(peer_id);
    }),
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
      profiles.describe(peer_id, body.description);
      return records.mustGet(peer_id);
    }),
    route(contracts.renamePeer, ({ params, query, body }) => {
      const peer_id = idOf(params, query);
      profiles.rename(peer_id, body.name);
      return records.mustGet(peer_id);
    }),
    route(contracts.setPeerProvenance, ({ params, query, body }) => {
      const { peer_id } = directory.findLive(params.id, directory.scopeOf(query));
      profiles.setProvenance(peer_id, body);
      return records.mustGet(peer_id);
    }),
    ...groupRoutes(features, deps, idOf),
    ...reportRoutes(turns, directory, idOf),
  ];
}

/** Settings of peers, and the groups of peers with a tag. */
function groupRoutes(
  { directory, records, profiles }: PeerFeatures,
  { isProvenHuman }: PeerRoutesDeps,
  idOf: (params: { id: string }, query?: PeerQuery) => string,
): Route[] {
  return [
    route(setPeer, ({ params, query, body, caller, headers }) => {
      const peer_id = idOf(params, query);
      profiles.set(peer_id, body, () => isProvenHuman(caller, headers));
      return records.mustGet(peer_id);
    }),
    route(listGroup, ({ params, query }) => {
      const found = directory.tagged(params.tag, directory.scopeOf(query));
      return { peers: found.map(({ peer_id }) => records.mustGet(peer_id)) };
    }),
  ];
}

/** The routes for the hooks' reports of a peer's turns. */
function reportRoutes(
  turns: PeerTurns,
  directory: Directory,
  idOf: (params: { id: string }, query?: PeerQuery) => string,
) {
  return [
    route(contracts.reportTurn, ({ params, query, body }) => {
      turns.reportTurn(idOf(params, query), body);
      return OK;
    }),
    route(contracts.listTurns, ({ params, query }) => {
      // A page may still request a peer that was just closed.
      const { peer_id } = directory.address(params.id) ?? { peer_id: idOf(params, query) };
      return { turns: turns.recentTurns(peer_id) };
    }),
    route(contracts.reportChat, ({ body }) => {
      turns.reportChat(idOf({ id: body.peer_id }), body);
      return OK;
    }),
  ];
}

/**
 * Registers a peer, which a certificate may name. Returns a new certificate only to a new peer or
 * to a peer that proved its identity: any other caller could use it as a proof (contract 6).
 */
async function register(
  registration: Registration,
  caller: Caller,
  deps: PeerRoutesDeps & Pick<PeerFeatures, "certificates" | "peers">,
) {
  const { certificates, peers } = deps;
  deps.mustBeTrustedSocket(registration);
  const { pane, pane_circle } = await deps.placeOf(registration);
  await loadTransliteration(registration.path);
  const { birth_certificate: presented } = registration;
  const certificate = presented ? await certificates.verify(presented) : undefined;
  const claimed = registration.peer_id ?? certificate?.peer_id;
  const provenRegistration = claimed === undefined
    ? registration
    : { ...registration, peer_id: claimed };
  const isProcess = (pid: number) => deps.isProcess(pid, caller);
  const { peer, proved } = peers.admit(provenRegistration, {
    certificate,
    pane_circle,
    pane_pid: pane?.pane_pid,
    isProcess,
    isPeerProcess: (pid) => deps.isPeerProcess(pid, caller),
    isAnotherPeer: (peer) => deps.isAnotherPeer(peer, caller),
    getsCertificate: true,
  });
  const { peer_id, name, circle, role, mesh_session_id } = peer;
  return {
    ...OK,
    peer_id,
    display_name: name,
    circle,
    role,
    mesh_session_id: mesh_session_id ?? "",
    birth_certificate: proved ? (await certificates.issue(peer)).birth_certificate : null,
  };
}
