/** Routes that identify, link, repair, end and examine peers. */

import { OK } from "kit/http/contract.ts";
import { Problem } from "protocol/problems.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import { refuseUntrusted } from "../../host/trusted_socket.ts";
import type { Directory, PeerQuery } from "../peers/directory.ts";
import type { PeerProfiles } from "../peers/profiles.ts";
import type { PeerRecords } from "../peers/records.ts";
import * as contracts from "protocol/lifecycle.ts";
import type { Doctor } from "./doctor.ts";
import type { Termination } from "./termination.ts";
import type { Identities } from "./identities.ts";
import type { Linking } from "./linking.ts";
import type { Panes } from "./panes.ts";
import type { Pruning } from "./pruning.ts";
import { typeIntoPane } from "protocol/panes.ts";
import { interruptPeer } from "protocol/interrupts.ts";
import type { InterruptCaller, Interrupts } from "./interrupts.ts";

/** The features behind these routes. */
interface Lifecycle {
  readonly profiles: PeerProfiles;
  readonly records: PeerRecords;
  readonly directory: Directory;
  readonly identities: Identities;
  readonly linking: Linking;
  readonly termination: Termination;
  readonly interrupts: Interrupts;
  readonly doctor: Doctor;
  readonly panes: Panes;
  readonly pruning: Pruning;
}

interface CallerProofs {
  /** True if the human sends the request. */
  isProvenHuman(caller: Caller, headers: Headers): boolean;
  /** The caller as far as it is proved. `from_peer` is what the request claims. */
  callerOf(
    from_peer: string | undefined,
    caller: Caller,
    headers: Headers,
  ): Promise<InterruptCaller>;
  /** Makes a route that also reaches peers of other machines. */
  elsewhere(route: Route): Route;
}

export function lifecycleRoutes(
  lifecycle: Lifecycle,
  { isProvenHuman, callerOf, elsewhere }: CallerProofs,
): Route[] {
  const { profiles, records, directory, identities, linking, termination, doctor } = lifecycle;
  const { interrupts, panes, pruning } = lifecycle;
  const idOf = (params: { id: string }, query: PeerQuery) =>
    directory.findFor(params.id, query).peer_id;
  return [
    route(contracts.validateIdentity, async ({ body }) => {
      const peer_id = await identities.validate(body);
      const peer = records.mustGet(peer_id);
      return { ...OK, peer_id, display_name: peer.display_name, peer };
    }),
    route(contracts.renewIdentity, ({ body }) => identities.renew(body)),
    route(contracts.listOrphans, async () => ({ panes: await linking.orphans() })),
    route(contracts.linkPane, ({ params, query, body }) => {
      const link = { ...query, ...body };
      refuseUntrusted(link.tmux_socket);
      return linking.linkPane(params.pane_id, link);
    }),
    route(contracts.linkPeer, ({ params, query }) => linking.linkPeer(idOf(params, query))),
    route(contracts.rehookPeer, ({ params, query, body }) => {
      return linking.rehook(idOf(params, query), body);
    }),
    route(contracts.prunePeers, ({ body }) => pruning.prune(body)),
    route(contracts.killPeer, ({ params, query }) => termination.kill(idOf(params, query))),
    elsewhere(route(interruptPeer, async ({ params, query, caller, headers }) => {
      // Proved before anything is awaited, while the calling process still exists.
      const proved = callerOf(query.from_peer, caller, headers);
      return await interrupts.interrupt(idOf(params, query), await proved);
    })),
    route(contracts.assumeRole, ({ params, query, body }) => {
      const peer_id = idOf(params, query);
      profiles.changeRole(peer_id, body);
      return records.mustGet(peer_id);
    }),
    route(contracts.diagnosePeer, ({ params, query }) => doctor.examine(idOf(params, query))),
    route(contracts.showPane, ({ params, query }) => panes.show(idOf(params, query))),
    route(typeIntoPane, ({ params, query, body, caller, headers }) => {
      if (!isProvenHuman(caller, headers)) throw new Problem("human_not_proven", {});
      return panes.type(idOf(params, query), body);
    }),
  ];
}
