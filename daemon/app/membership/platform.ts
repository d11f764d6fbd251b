/**
 * The network of machines on this machine: its secrets and the bus, loaded only if a bus is set.
 */

import { messageOf } from "kit/core/text.ts";
import { networkKeysOf } from "../../machines/trust/network.ts";
import type { NatsBusContext } from "../../machines/nats/nats_bus.ts";
import { type Env, statePath } from "../../host/paths.ts";
import type { Config } from "../config.ts";
import type { MachinesPlatform } from "../platform.ts";
import { UnusableBusFile } from "./files.ts";
import { readMembership } from "./membership.ts";

/**
 * Reads the files of the bus and loads its libraries. Where a file is missing or damaged, returns
 * why: everything on this machine works without the bus.
 */
export async function loadMachines(
  env: Env,
  config: Config,
  { context, hostname }: { context: NatsBusContext; hostname: string },
): Promise<MachinesPlatform | string | undefined> {
  try {
    const membership = await readMembership(env, config, hostname);
    if (!membership) return undefined;
    const { openNatsBus } = await import("../../machines/nats/nats_bus.ts");
    const { Machines } = await import("../../machines/machines.ts");
    const { ca_path, credentials, keys, name, network_secret, url } = membership;
    const shared = { credentials, env, name, url, ...(ca_path !== undefined && { ca_path }) };
    return {
      access: {
        keys,
        place: `${hostname}, ${statePath(env)}`,
        network: networkKeysOf(network_secret),
        open: (daemonId, listener) =>
          Promise.resolve(openNatsBus(context, { ...shared, daemonId }, listener)),
      },
      membership: { name, url },
      open: (ctx, deps) => new Machines(ctx, deps),
    };
  } catch (error) {
    if (error instanceof UnusableBusFile) return messageOf(error);
    throw error;
  }
}
