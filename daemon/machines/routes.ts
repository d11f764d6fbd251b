/** Routes of machines. */

import { OK } from "kit/http/contract.ts";
import { Problem } from "protocol/problems.ts";
import { type Route, route } from "kit/http/route.ts";
import type { BusReport } from "protocol/machines.ts";
import { forgetMachine, listMachines } from "protocol/machines.ts";
import type { Machines } from "./machines.ts";

interface MachineRoutesDeps {
  readonly daemon_id: string;
  /** Undefined without a bus, or where it cannot be used. */
  readonly machines: Machines | undefined;
  /** Why the bus that is set cannot be used. */
  readonly bus_fault: string | undefined;
}

export function machineRoutes({ daemon_id, machines, bus_fault }: MachineRoutesDeps): Route[] {
  return [
    route(listMachines, async () => {
      return await machines?.report() ?? { bus: alone(daemon_id, bus_fault), machines: [] };
    }),
    route(forgetMachine, ({ params, commit }) =>
      commit(() => {
        if (!machines) throw new Problem("unknown_machine_name", { machine: params.id });
        machines.forget(params.id);
        return OK;
      })),
  ];
}

/** The report of a machine that is on no bus. */
function alone(daemon_id: string, reason: string | undefined): BusReport {
  return {
    status: reason === undefined ? "disabled" : "down",
    url: null,
    since: null,
    reason: reason ?? null,
    latency_ms: null,
    daemon_id,
    name: null,
    fingerprint: null,
    shared_circles: [],
    waiting_at_bus: null,
    bytes_at_bus: null,
    bytes_at_bus_max: null,
    identity_in_use: null,
    refused: [],
    refused_by: [],
  };
}
