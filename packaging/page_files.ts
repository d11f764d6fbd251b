/**
 * Compresses the page and its files for the parts, into modules that replace
 * `dashboard/files/contents.ts` there. Their text is in no repository: it is made at each build.
 */

import { fileURLToPath, pathToFileURL } from "node:url";
import { PATHS, storedFile } from "../dashboard/files/contents.ts";
import { compress } from "../dashboard/files/stored_file.ts";
import { writeImportMap } from "./import_map.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const BROTLI_QUALITY_BEST = 11;
const CODINGS = ["br", "gzip", "identity"] as const;

/** Writes the modules into a folder; returns the path of an import map that leads to them. */
export async function packPageFiles(folder: string): Promise<string> {
  const write = (name: string, text: string) => Deno.writeTextFileSync(`${folder}/${name}`, text);
  Deno.mkdirSync(folder, { recursive: true });
  const packs = { br: {}, gzip: {}, identity: {} } as Record<string, Record<string, string>>;
  const files: Record<string, object> = {};
  for (const path of PATHS) {
    const file = storedFile(path);
    if (!file) continue;
    const { codings } = file;
    files[path] = { type: file.type, digest: file.digest, codings };
    const bytes = await file.read("identity");
    for (const coding of codings.length > 0 ? codings : ["identity"] as const) {
      const packed = compress(bytes, coding, BROTLI_QUALITY_BEST);
      (packs[coding] ??= {})[path] = packed.toBase64();
    }
  }
  for (const coding of CODINGS) write(`${coding}.json`, JSON.stringify(packs[coding]));
  const imports = CODINGS.map((coding) =>
    `${coding}: () => import("./${coding}.json", { with: { type: "json" } })`
  );
  const unpack = pathToFileURL(`${ROOT}dashboard/files/packed.ts`).href;
  write(
    "contents.ts",
    `import { unpack } from "${unpack}";
export const storedFile = unpack({
  files: ${JSON.stringify(files)},
  packs: { ${imports.join(", ")} },
});
`,
  );
  return writeImportMap(folder, { "dashboard/files/contents.ts": "contents.ts" });
}
