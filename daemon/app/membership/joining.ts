/** Joining and leaving a network: the files and the settings that make a machine its member. */

import type { Ids } from "kit/core/clock.ts";
import { Refusal } from "kit/core/problem.ts";
import { fingerprintOf } from "../../machines/trust/cards.ts";
import { makeNetworkSecret, parseNetworkSecret } from "../../machines/trust/network.ts";
import { makeUserKey } from "../../machines/nats/nkeys.ts";
import type { Env } from "../../host/paths.ts";
import { mistakesOf } from "../config.ts";
import { type ConfigFile, deleteKey, openConfig, saveConfig, setKey } from "../config_file.ts";
import {
  ensureMachineKeys,
  readNetworkSecret,
  readUserKey,
  removeBusFile,
  writeBusFile,
} from "./files.ts";

/** Settings and secrets with which a machine joins. */
export interface Membership {
  readonly url: string;
  /** Of this machine in the network. */
  readonly name: string;
  readonly network_secret: string;
  /** The certificate of the server's authority, in PEM; undefined: the system trusts it. */
  readonly ca: string | undefined;
  /** The path of a credentials file; undefined: a user of its own, made on the spot. */
  readonly creds: string | undefined;
  /** The circles whose peers are shared; undefined: as before, at first none. */
  readonly share: readonly string[] | undefined;
}

/** How this machine proves itself: to other machines, and to the server. */
export interface JoinReport {
  readonly fingerprint: string;
  /** The public key for the operator to allow; null with a credentials file. */
  readonly user_key: string | null;
  /** The configuration file. */
  readonly written_to: string;
}

/** The settings that are refused, one line each; nothing was written. */
export class SettingsRefused extends Error {
  override readonly name = "SettingsRefused";
}

/**
 * Writes the files, then the settings. Keys that exist are kept, so that the other machines know
 * this one again. Throws `SettingsRefused`, `UnreadableConfig` and `UnusableBusFile`.
 */
export async function writeMembership(
  env: Env,
  ids: Pick<Ids, "secret">,
  membership: Membership,
): Promise<JoinReport> {
  const { url, name, network_secret, ca, creds, share } = membership;
  const secret = mustBeSecret(network_secret);
  const existing = await readUserKey(env); // A damaged file is found before anything is written.
  const keys = ensureMachineKeys(env, ids);
  const ca_path = ca === undefined ? undefined : writeBusFile(env, "ca", ca);
  const written_to = changeSettings(env, (file) => {
    setKey(file, "mesh.bus.url", url);
    setKey(file, "mesh.bus.name", name);
    setOrDelete(file, "mesh.bus.ca", ca_path);
    setOrDelete(file, "mesh.bus.creds", creds);
    if (share) setKey(file, "mesh.bus.allow", [...share]);
  });
  writeBusFile(env, "network_secret", `${secret}\n`);
  const fingerprint = fingerprintOf(keys.public);
  if (creds !== undefined) return { fingerprint, user_key: null, written_to };
  const user = existing ?? await makeUserKey();
  if (!existing) writeBusFile(env, "user_seed", `${user.seed}\n`);
  return { fingerprint, user_key: user.public_key, written_to };
}

/** Report of a machine that has left: what was taken out of its configuration. */
interface LeaveReport {
  readonly written_to: string;
  /** True if it had joined. */
  readonly was_joined: boolean;
}

const KEYS = [
  "url",
  "creds",
  "ca",
  "name",
  "allow",
  "allow_admin",
  "allow_prove",
  "human_home",
] as const;

/** Removes the settings and secrets. The keys stay: the machine may come back as the same one. */
export function removeMembership(env: Env): LeaveReport {
  let was_joined = false;
  const written_to = changeSettings(env, (file) => {
    for (const key of KEYS) {
      const wasSet = deleteKey(file, `mesh.bus.${key}`);
      if (key === "url") was_joined = wasSet;
    }
  });
  for (const file of ["network_secret", "user_seed", "ca"] as const) removeBusFile(env, file);
  return { written_to, was_joined };
}

/** The network secret of this machine; makes a new secret for a new network. */
export function ensureNetworkSecret(env: Env, ids: Pick<Ids, "secret">): string {
  return readNetworkSecret(env) ?? makeNetworkSecret(ids);
}

export { makeNetworkSecret };

/** Explains a malformed secret without quoting it. */
function mustBeSecret(text: string): string {
  try {
    return parseNetworkSecret(text);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new SettingsRefused(String(error.toBody()["detail"]));
  }
}

function setOrDelete(file: ConfigFile, key: string, value: string | undefined): void {
  if (value === undefined) deleteKey(file, key);
  else setKey(file, key, value);
}

/** Saves the change if the resulting configuration is valid; returns the path of the file. */
function changeSettings(env: Env, change: (file: ConfigFile) => void): string {
  const file = openConfig(env);
  change(file);
  const text = file.document.toString({ lineWidth: 0 });
  const mistakes = mistakesOf(env, file.before ?? "", text);
  if (mistakes.length > 0) throw new SettingsRefused(mistakes.join("\n"));
  if (file.before !== text) saveConfig(file);
  return file.path;
}
