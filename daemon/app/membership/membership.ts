/** Reads what makes the daemon a machine of the network from settings and files; loads the bus. */

import type { MachineKeys } from "../../machines/trust/keys.ts";
import { type Env, statePath } from "../../host/paths.ts";
import type { Config } from "../config.ts";
import {
  expandHome,
  readCredentials,
  readMachineKeys,
  readNetworkSecret,
  UnusableBusFile,
} from "./files.ts";
import { nameOfHost } from "./settings.ts";
import { messageOf } from "kit/core/text.ts";
import { networkKeysOf } from "../../machines/trust/network.ts";
import type { BusCredentials } from "../../machines/nats/connection.ts";
import type { NatsBusContext } from "../../machines/nats/nats_bus.ts";
import type { MachinesPlatform } from "../platform.ts";

interface BusMembership {
  readonly url: string;
  /** Of this machine in the network. */
  readonly name: string;
  readonly credentials: BusCredentials;
  /** Undefined: the certificates that the system trusts. */
  readonly ca_path: string | undefined;
  readonly network_secret: string;
  readonly keys: MachineKeys;
}

/** Undefined without `mesh.bus.url`. Throws `UnusableBusFile` where a file is missing or damaged. */
export async function readMembership(
  env: Env,
  config: Config,
  hostname: string,
): Promise<BusMembership | undefined> {
  const url = config["mesh.bus.url"];
  if (url === undefined) return undefined;
  const network_secret = readNetworkSecret(env);
  const keys = readMachineKeys(env);
  if (network_secret === undefined || keys === undefined) {
    throw new UnusableBusFile(
      `mesh.bus.url is set, but this machine has not joined; run \`mesh machines join ${url}\``,
    );
  }
  const ca = config["mesh.bus.ca"];
  return {
    url,
    name: config["mesh.bus.name"] ?? nameOfHost(hostname),
    credentials: await readCredentials(env, config["mesh.bus.creds"]),
    ca_path: ca === undefined ? undefined : expandHome(env, ca),
    network_secret,
    keys,
  };
}

/** Reads the files of the bus and loads its libraries; returns why where a file cannot be used. */
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
