/** Routes of leases, and of who uses a port. */

import type { Reader } from "kit/data/sqlite.ts";
import { OK } from "kit/http/contract.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import type { ProcessId, ProcessTable } from "../../host/processes.ts";
import { lineageOf, processIdOf } from "../../host/processes.ts";
import type { PortTable } from "../../host/sockets/ports.ts";
import * as contracts from "protocol/holdings/leases.ts";
import { Problem } from "protocol/problems.ts";
import { recordedProcess } from "../peers/identity/known_peer.ts";
import type { IdentityLookup } from "../peers/identity/identity_lookup.ts";
import * as peers from "../peers/store.ts";
import type { Leases } from "./leases.ts";
import { portUse } from "./port_use.ts";

interface LeaseRouteDeps {
  readonly db: Reader;
  readonly leases: Leases;
  readonly processes: Pick<ProcessTable, "parentOf" | "startTimeOf">;
  readonly ports: PortTable;
  readonly identityLookup: IdentityLookup;
}

interface LeaseProofs {
  /** The caller as far as it is proved. `from_peer` is the peer that the request claims. */
  callerOf(
    from_peer: string | undefined,
    caller: Caller,
    headers: Headers,
  ): { readonly isHuman: boolean; readonly peer_id: string | undefined };
  /** True if the process or a descendant of it sends the request. */
  isProcess(pid: number, caller: Caller): boolean;
  /** True if an agent's process sends the request. */
  isAgent(caller: Caller): boolean;
  /** True if the process belongs to the daemon's user. */
  isOfUser(pid: number): boolean;
}

export function leaseRoutes(deps: LeaseRouteDeps, proofs: LeaseProofs): Route[] {
  const { db, leases, processes } = deps;

  const processOfPeer = (peer_id: string | null): ProcessId | null => {
    const peer = peer_id === null ? undefined : peers.get(db, peer_id);
    return peer ? recordedProcess(peer) : null;
  };

  return [
    route(contracts.listLeases, () => leases.list()),
    route(contracts.takeLease, ({ body, caller, headers }) => {
      const { resource, name = null, pid, from_peer } = body;
      const { isHuman, peer_id = null } = proofs.callerOf(from_peer, caller, headers);
      const own = processOfPeer(peer_id);
      const mayName = (pid: number) =>
        proofs.isProcess(pid, caller) ||
        (proofs.isAgent(caller) && !isHuman
          ? lineageOf(processes, pid).some((at) => at === own?.pid)
          : proofs.isOfUser(pid));
      const process = pid === undefined ? own : mayName(pid) && processIdOf(processes, pid);
      if (!process) throw new Problem("lease_holder_not_proven", { pid: pid ?? null });
      const of_agent = process.pid === own?.pid && process.started === own.started;
      return leases.take({ resource, name }, { peer_id, process, of_agent });
    }),
    route(contracts.releaseLease, ({ params, query, caller, headers }) => {
      const { isHuman, peer_id } = proofs.callerOf(query.from_peer, caller, headers);
      leases.release(
        params.id,
        (lease) =>
          isHuman || (lease.peer_id !== null && lease.peer_id === peer_id) ||
          (lease.pid !== null && proofs.isProcess(lease.pid, caller)),
      );
      return OK;
    }),
    route(contracts.whoUsesPort, ({ params }) => portUse(params.port, deps)),
  ];
}
