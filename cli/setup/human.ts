/** Names the human in the configuration, so that agents can ask them. */

import { mistakesOf, SETTINGS } from "../../daemon/app/config.ts";
import { openConfig, saveConfig, setKey } from "../../daemon/app/config_file.ts";
import { writePrivately } from "kit/host/durable_files.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { UsageError } from "../client/failures.ts";

const KEY = "human.name";

/** True if the configuration or the environment names the human. */
export function isHumanNamed(env: Env): boolean {
  const { document } = openConfig(env);
  return Boolean(env["MESH_HUMAN__NAME"]) || document.has(KEY) || document.hasIn(KEY.split("."));
}

/** The name of this account, if it may be a peer's name. */
export function suggestedName(env: Env): string | undefined {
  return SETTINGS[KEY].safeParse(env["USER"]?.toLowerCase()).data;
}

/** Writes the name; returns the file. Throws `UsageError` for a name that is not allowed. */
export function nameHuman(env: Env, name: string, { dry_run }: { dry_run: boolean }): string {
  const file = openConfig(env);
  setKey(file, KEY, name);
  const [mistake] = mistakesOf(env, file.before ?? "", file.document.toString({ lineWidth: 0 }));
  if (mistake !== undefined) throw new UsageError(mistake);
  if (dry_run) return file.path;
  if (file.before !== undefined) writePrivately(`${file.path}.mesh-backup`, file.before);
  saveConfig(file);
  return file.path;
}
