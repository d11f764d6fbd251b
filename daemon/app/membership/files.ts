/** The files of a machine that joined a network: its secrets, and the authority of its bus. */

import { join } from "kit/core/path.ts";
import type { Ids } from "kit/core/clock.ts";
import { makeDirectory, writePrivately } from "kit/host/durable_files.ts";
import {
  type MachineKeys,
  machineKeysFromText,
  machineKeysToText,
  makeMachineKeys,
} from "../../machines/trust/keys.ts";
import { parseNetworkSecret } from "../../machines/trust/network.ts";
import type { BusCredentials } from "../../machines/nats/connection.ts";
import { publicKeyOf } from "../../machines/nats/nkeys.ts";
import {
  type Env,
  homePath,
  readTextOrNothing,
  removeIfPresent,
  statePath,
} from "../../host/paths.ts";

/** A file of the bus is missing or damaged. The message is a sentence, and says what to do. */
export class UnusableBusFile extends Error {
  override readonly name = "UnusableBusFile";
}

/** Each file in the directory `bus`: mode 0600, in a directory of mode 0700. */
export function busPaths(env: Env) {
  const directory = join(statePath(env), "bus");
  return {
    directory,
    /** The secret that all machines of the network share. */
    network_secret: join(directory, "network.secret"),
    /** The keys by which other machines know this one. */
    machine_keys: join(directory, "machine.keys"),
    /** The seed of the nkey that the server knows this machine by. */
    user_seed: join(directory, "user.nk"),
    /** The certificate of the authority that signs the server's. */
    ca: join(directory, "ca.pem"),
    /** Folder of `mesh machines serve`. */
    server: join(directory, "server"),
  } as const;
}

type BusPath = Exclude<keyof ReturnType<typeof busPaths>, "directory" | "server">;

/** Writes one of the files; its directory is made if it is missing. */
export function writeBusFile(env: Env, file: BusPath, text: string): string {
  const paths = busPaths(env);
  makeDirectory(paths.directory);
  writePrivately(paths[file], text);
  return paths[file];
}

export function removeBusFile(env: Env, file: BusPath): void {
  removeIfPresent(busPaths(env)[file]);
}

/** The network secret; undefined before this machine joined. Throws `UnusableBusFile`. */
export function readNetworkSecret(env: Env): string | undefined {
  const path = busPaths(env).network_secret;
  const text = readTextOrNothing(path);
  if (text === undefined) return undefined;
  try {
    return parseNetworkSecret(text);
  } catch {
    throw new UnusableBusFile(
      `"${path}" does not hold a network secret; join again with the secret of the network`,
    );
  }
}

/** The keys of this machine; undefined before it joined. Throws `UnusableBusFile`. */
export function readMachineKeys(env: Env): MachineKeys | undefined {
  const path = busPaths(env).machine_keys;
  const text = readTextOrNothing(path);
  if (text === undefined) return undefined;
  const keys = machineKeysFromText(text);
  if (keys) return keys;
  throw new UnusableBusFile(
    `The keys of this machine in "${path}" are damaged; restore the file from a backup, or ` +
      "remove it and join again: the other machines must then forget this one first",
  );
}

/** The keys of this machine, which are made at the first call. */
export function ensureMachineKeys(env: Env, ids: Pick<Ids, "secret">): MachineKeys {
  const existing = readMachineKeys(env);
  if (existing) return existing;
  const keys = makeMachineKeys(ids);
  writeBusFile(env, "machine_keys", machineKeysToText(keys));
  return keys;
}

/** The public key of this machine's own user; undefined if it has none. Throws `UnusableBusFile`. */
export async function readUserKey(
  env: Env,
): Promise<{ seed: string; public_key: string } | undefined> {
  const path = busPaths(env).user_seed;
  const seed = readTextOrNothing(path)?.trim();
  if (seed === undefined) return undefined;
  const public_key = await publicKeyOf(seed);
  if (public_key !== undefined) return { seed, public_key };
  throw new UnusableBusFile(
    `"${path}" does not hold the seed of a user's nkey; remove it, and join again`,
  );
}

/** The credentials of the settings, or this machine's own user. Throws `UnusableBusFile`. */
export async function readCredentials(
  env: Env,
  creds: string | undefined,
): Promise<BusCredentials> {
  if (creds === undefined) {
    const user = await readUserKey(env);
    if (user) return { seed: user.seed };
    throw new UnusableBusFile(
      "This machine has no user for the bus; run `mesh machines join` again, or set mesh.bus.creds",
    );
  }
  const path = expandHome(env, creds);
  const text = readTextOrNothing(path)?.trim();
  if (text === undefined) {
    throw new UnusableBusFile(`mesh.bus.creds names "${path}", which does not exist`);
  }
  if (await publicKeyOf(text) !== undefined) return { seed: text };
  if (text.includes("-----BEGIN NATS USER JWT-----")) return { creds_path: path };
  throw new UnusableBusFile(
    `"${path}" (mesh.bus.creds) holds neither NATS credentials nor the seed of a user's nkey`,
  );
}

/** A path of the settings; `~/` is the home folder. */
export function expandHome(env: Env, path: string): string {
  return path.startsWith("~/") ? homePath(env, path.slice(2)) : path;
}
