/** Reads from settings and files what makes the daemon a machine of the network. */

import type { MachineKeys } from "../../machines/trust/keys.ts";
import type { Env } from "../../host/paths.ts";
import type { Config } from "../config.ts";
import {
  expandHome,
  readCredentials,
  readMachineKeys,
  readNetworkSecret,
  UnusableBusFile,
  type UserCredentials,
} from "./files.ts";
import { nameOfHost } from "./settings.ts";

interface BusMembership {
  readonly url: string;
  /** Of this machine in the network. */
  readonly name: string;
  readonly credentials: UserCredentials;
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
