/** How the desks of peers' lives are opened: what each needs of the house. */

import type { Addressee } from "../features/agents/adapter.ts";
import type { Daemon } from "./daemon.ts";
import { PROOF_MS_MAX } from "../features/messages/contract.ts";
import * as ledger from "../features/messages/ledger/ledger.ts";
import { Doctor } from "../features/lifecycle/doctor.ts";
import { Ending } from "../features/lifecycle/termination.ts";
import { Identities } from "../features/lifecycle/identity.ts";
import { Linking } from "../features/lifecycle/linking.ts";
import type { Lives } from "../features/lifecycle/routes.ts";

/** Messages that are counted as unproved at most: more say nothing new. */
const UNPROVED_ROWS_MAX = 100;

export function openLives(house: Daemon): Lives {
  const { ground, peers, directory, registry } = house;
  const { processes, sights, machine, pid } = house.outside;
  const probe = (peer: Addressee) => house.agents.probe(peer);
  const around = { directory, peers, processes, sights, machine };
  return {
    peers,
    directory,
    identities: new Identities(ground, { ...around, registry }),
    linking: new Linking(ground, {
      ...around,
      probe,
      wake: (peer_id) => house.courier.wake(peer_id),
    }),
    ending: new Ending(ground, { peers, processes, sights, machine, pid }),
    doctor: new Doctor(ground, {
      ...around,
      probe,
      unproved: (to_peer_id) => {
        const before = ground.clock.now() - PROOF_MS_MAX;
        const of = { to_peer_id, before, limit: UNPROVED_ROWS_MAX };
        return ledger.unproved(ground.db, of).flatMap(({ sent_at }) => sent_at ?? []);
      },
    }),
  };
}
