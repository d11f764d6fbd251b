/** The settings that setup writes: an API token (contract 10), and the name of the human. */

import type { Ids } from "kit/core/clock.ts";
import { type ConfigFile, openConfig, saveConfig, setKey } from "../../daemon/app/config_file.ts";
import { writePrivately } from "kit/host/durable_files.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { mistakesOf, SETTINGS } from "../../daemon/app/config.ts";
import { UsageError } from "../client/failures.ts";

const TOKEN_BYTES = 32;
const TOKEN_KEY = "daemon.auth_token";
const NAME_KEY = "human.name";

/** Returns the file that the token is written to; undefined when there is a token already. */
export function ensureToken(
  env: Env,
  { ids, dry_run }: { ids: Pick<Ids, "secret">; dry_run: boolean },
): string | undefined {
  if (env["MESH_DAEMON__AUTH_TOKEN"]) return undefined;
  const file = openConfig(env);
  if (hasKey(file, TOKEN_KEY)) return undefined;
  if (dry_run) return file.path;
  setKey(file, TOKEN_KEY, ids.secret(TOKEN_BYTES));
  saveWithBackup(file);
  return file.path;
}

/** True if the configuration or the environment names the human. */
export function isHumanNamed(env: Env): boolean {
  return Boolean(env["MESH_HUMAN__NAME"]) || hasKey(openConfig(env), NAME_KEY);
}

/** The name of this account, if it may be a peer's name. */
export function suggestedName(env: Env): string | undefined {
  return SETTINGS[NAME_KEY].safeParse(env["USER"]?.toLowerCase()).data;
}

/** Writes the name; returns the file. Throws `UsageError` for a name that is not allowed. */
export function nameHuman(env: Env, name: string, { dry_run }: { dry_run: boolean }): string {
  const file = openConfig(env);
  setKey(file, NAME_KEY, name);
  const [mistake] = mistakesOf(env, file.before ?? "", file.document.toString({ lineWidth: 0 }));
  if (mistake !== undefined) throw new UsageError(mistake);
  if (dry_run) return file.path;
  saveWithBackup(file);
  return file.path;
}

function hasKey({ document }: ConfigFile, key: string): boolean {
  return document.has(key) || document.hasIn(key.split("."));
}

export function saveWithBackup(file: ConfigFile): void {
  if (file.before !== undefined) writePrivately(`${file.path}.mesh-backup`, file.before);
  saveConfig(file);
}
