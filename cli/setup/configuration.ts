/** Adds an API token to the configuration if it has none (contract 10). */

import type { Ids } from "kit/core/clock.ts";
import { openConfig, saveConfig, setKey } from "../../daemon/app/config_file.ts";
import { writePrivately } from "kit/host/durable_files.ts";
import type { Env } from "../../daemon/host/paths.ts";

const TOKEN_BYTES = 32;
const KEY = "daemon.auth_token";

/** Returns the file that the token is written to; undefined when there is a token already. */
export function ensureToken(
  env: Env,
  { ids, dry_run }: { ids: Pick<Ids, "secret">; dry_run: boolean },
): string | undefined {
  if (env["MESH_DAEMON__AUTH_TOKEN"]) return undefined;
  const file = openConfig(env);
  const { path, before, document } = file;
  if (document.has(KEY) || document.hasIn(KEY.split("."))) return undefined;
  if (dry_run) return path;
  setKey(file, KEY, ids.secret(TOKEN_BYTES));
  if (before !== undefined) writePrivately(`${path}.mesh-backup`, before);
  saveConfig(file);
  return path;
}
