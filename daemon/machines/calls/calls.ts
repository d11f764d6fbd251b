/** Calls between machines: the parts that call, answer and measure, joined. */

import type { Context } from "../../data/context.ts";
import { CallClient, type CallClientDeps } from "./call_client.ts";
import { CallServer } from "./call_server.ts";
import { AllowedMachines, type NamedMachine } from "./machine_names.ts";
import { Pings, type PingsDeps } from "./pings.ts";

interface CallsDeps extends Omit<CallClientDeps, "clockAheadOf">, Pick<PingsDeps, "online"> {
  /** This machine. */
  readonly own: NamedMachine;
  /** The machines that may administer this one (`mesh.bus.allow_admin`). */
  readonly allow_admin: readonly string[];
}

export class Calls {
  readonly administrators: AllowedMachines;
  readonly client: CallClient;
  readonly pings: Pings;
  readonly server: CallServer;

  constructor(ctx: Pick<Context, "background" | "clock" | "ids" | "log">, deps: CallsDeps) {
    const { allow_admin, bus, machines, online, own, seal } = deps;
    const clockAheadOf = (daemon_id: string) => this.pings.of(daemon_id).clock_ahead_ms;
    this.administrators = new AllowedMachines(allow_admin, machines);
    this.client = new CallClient(ctx, { bus, clockAheadOf, machines, seal });
    this.pings = new Pings(ctx, { client: this.client, online });
    this.server = new CallServer(ctx, { administrators: this.administrators, own, seal });
  }
}
