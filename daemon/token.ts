/** Gives the configuration a token where it has none: `mesh setup`'s part in contract 10. */

import { dirname } from "node:path";
import { parseDocument } from "yaml";
import type { Ids } from "kit/clock.ts";
import { configPath, type Env, readTextOrNothing, writePrivately } from "./places.ts";

const TOKEN_BYTES = 32;
const KEY = ["daemon", "auth_token"];

/** The configuration is no YAML; it is left as it is. */
export class UnreadableConfig extends Error {
  override readonly name = "UnreadableConfig";
}

/** The file that a token was, or would be, written to; undefined when there is one already. */
export function ensureToken(
  env: Env,
  { ids, dry_run }: { ids: Pick<Ids, "secret">; dry_run: boolean },
): string | undefined {
  if (env["MESH_DAEMON__AUTH_TOKEN"]) return undefined;
  const path = configPath(env);
  const before = readTextOrNothing(path);
  const document = parseDocument(before ?? "");
  const [mistake] = document.errors;
  if (mistake) throw new UnreadableConfig(`Cannot read ${path}: not YAML: ${mistake.message}`);
  if (document.getIn(KEY) !== undefined) return undefined;
  if (dry_run) return path;
  if (document.get("daemon") === null) document.delete("daemon");
  document.setIn(KEY, ids.secret(TOKEN_BYTES));
  if (before === undefined) Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  else writePrivately(`${path}.mesh-backup`, before);
  writePrivately(path, document.toString());
  return path;
}
