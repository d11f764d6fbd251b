/** The users of a port of this machine: the lease, and the processes that listen there. */

import type { PortTable } from "../../host/sockets/ports.ts";
import { lineageOf, type ProcessTable } from "../../host/processes.ts";
import type { PortUse } from "protocol/holdings/leases.ts";
import type { IdentityLookup } from "../peers/identity/identity_lookup.ts";
import type { Leases } from "./leases.ts";

interface PortUseDeps {
  readonly leases: Pick<Leases, "ofPort">;
  readonly processes: Pick<ProcessTable, "parentOf" | "startTimeOf">;
  readonly identityLookup: Pick<IdentityLookup, "peerOfProcesses">;
  readonly ports: Pick<PortTable, "listenersAt">;
}

export function portUse(port: number, deps: PortUseDeps): PortUse {
  const { own, others } = deps.ports.listenersAt(port);
  const listeners = own.map(({ pid, command }) => {
    const found = deps.identityLookup.peerOfProcesses(lineageOf(deps.processes, pid), null);
    const { peer_id = null, name = null } = found?.peer ?? {};
    return { pid, command, peer_id, name };
  });
  return { port, lease: deps.leases.ofPort(port), listeners, others };
}
