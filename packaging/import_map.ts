/** Import maps for the bundler, which replace modules of the repository by generated ones. */

import { fileURLToPath, pathToFileURL } from "node:url";
import config from "../deno.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const toUrl = (path: string) => pathToFileURL(path).href;

/**
 * Writes the imports of `deno.json` into a folder, with each module of the repository that
 * `replaced` names leading to a file of that folder. Files of that folder import the original.
 */
export function writeImportMap(
  folder: string,
  replaced: Readonly<Record<string, string>>,
): string {
  const imports = Object.entries(config.imports).map(([name, target]) =>
    [name, target.startsWith("./") ? toUrl(ROOT + target.slice(2)) : target] as const
  );
  const originals = Object.keys(replaced).map((path) => toUrl(ROOT + path));
  const map = {
    imports: Object.fromEntries([
      ...imports,
      ...Object.values(replaced).map((name, at) => [originals[at], toUrl(`${folder}/${name}`)]),
    ]),
    scopes: { [toUrl(`${folder}/`)]: Object.fromEntries(originals.map((url) => [url, url])) },
  };
  Deno.writeTextFileSync(`${folder}/import_map.json`, JSON.stringify(map));
  return `${folder}/import_map.json`;
}
