/** How the desks of peers' lives are opened: what each needs of the house. */

import type { AgentPeer } from "../features/agents/adapter.ts";
import type { Daemon } from "./daemon.ts";
import { PROOF_MS_MAX } from "../features/messages/contract.ts";
import * as ledger from "../features/messages/ledger/ledger.ts";
import { Doctor } from "../features/lifecycle/doctor.ts";
import { Termination } from "../features/lifecycle/termination.ts";
import { Identities } from "../features/lifecycle/identities.ts";
import { Linking } from "../features/lifecycle/linking.ts";
import type { Lifecycle } from "../features/lifecycle/routes.ts";

/** Messages that are counted as unproved at most: more say nothing new. */
const UNPROVED_ROWS_MAX = 100;

export function openLifecycle(house: Daemon): Lifecycle {
  const { ctx, peers, directory, certificates } = house;
  const { processes, paneObserver, machine, pid } = house.platform;
  const probe = (peer: AgentPeer) => house.transports.probe(peer);
  const shared = { directory, peers, processes, paneObserver, machine };
  return {
    peers,
    directory,
    identities: new Identities(ctx, { ...shared, certificates }),
    linking: new Linking(ctx, {
      ...shared,
      probe,
      wake: (peer_id) => house.dispatcher.wake(peer_id),
    }),
    termination: new Termination(ctx, { peers, processes, paneObserver, machine, pid }),
    doctor: new Doctor(ctx, {
      ...shared,
      probe,
      unproved: (to_peer_id) => {
        const before = ctx.clock.now() - PROOF_MS_MAX;
        const filter = { to_peer_id, before, limit: UNPROVED_ROWS_MAX };
        return ledger.unproved(ctx.db, filter).flatMap(({ sent_at }) => sent_at ?? []);
      },
    }),
  };
}
