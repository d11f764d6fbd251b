/**
 * `deno task parts`: bundles the program into `dist/parts`, one part for each role and for shared
 * code, minifies the parts, and delays what no start needs.
 */

import { transform } from "esbuild";
import { fileURLToPath } from "node:url";
import { packPageFiles } from "./page_files.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PARTS = `${ROOT}dist/parts`;
const EAGER =
  /import { createRequire as (\w+) } from "node:module";\nvar (\w+) = \1\(import\.meta\.url\);/;

/**
 * Bundles modules into a folder, with the page's files compressed, delays what no start needs, and
 * minifies the parts.
 */
export async function makeParts(folder: string, modules: readonly string[]): Promise<void> {
  const packed = Deno.makeTempDirSync({ prefix: "mesh-page-" });
  try {
    const map = await packPageFiles(packed);
    const flags = ["--import-map", map, "--platform", "deno", "--code-splitting"];
    await bundle(modules, ...flags, "--outdir", folder);
  } finally {
    Deno.removeSync(packed, { recursive: true });
  }
  const parts = partsIn(folder);
  delayRequire(parts);
  await Promise.all([...parts].map(async ([name, text]) => {
    Deno.writeTextFileSync(`${folder}/${name}`, await minify(text));
  }));
}

/** Runs `deno bundle`. Returns the text of the bundle, unless the flags name a folder for it. */
export async function bundle(modules: readonly string[], ...flags: string[]): Promise<string> {
  const args = ["bundle", "--quiet", ...flags, ...modules];
  const command = new Deno.Command(Deno.execPath(), { args, cwd: ROOT });
  const { success, stdout, stderr } = await command.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (!success) throw new Error(`Cannot bundle ${modules.join(" ")}: ${text(stderr)}`);
  return text(stdout);
}

/**
 * Minifies a module. Deno's own `--minify` drops `using` where its variable is used once: files
 * would stay open, and locks held (evanw/esbuild#4482).
 */
export async function minify(text: string): Promise<string> {
  return (await transform(text, { minify: true, format: "esm", target: "esnext" })).code;
}

function partsIn(folder: string): Map<string, string> {
  return new Map(
    [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".js"))
      .map(({ name }) => [name, Deno.readTextFileSync(`${folder}/${name}`)]),
  );
}

/**
 * The text of a module with a `require` that loads `node:module` when it is called. The bundler
 * gives every program a `require` for packages in the CommonJS form, and loads `node:module` for it
 * at the start, which takes as long as Deno itself takes to start.
 */
export function withLazyRequire(text: string): string {
  if (!EAGER.test(text)) throw new Error("The bundler's require has another form now");
  return text.replace(
    EAGER,
    'var $2=id=>process.getBuiltinModule("node:module").createRequire(import.meta.url)(id);',
  );
}

/** The text of a module without the imports that only run this part. */
export function withoutImportOf(part: string, text: string): string {
  return text.replaceAll(`import "./${part}";\n`, "");
}

function delayRequire(parts: Map<string, string>): void {
  const eager = [...parts].find(([, text]) => text.includes("createRequire as"))?.[0];
  if (eager === undefined) return;
  for (const [name, text] of parts) {
    // Running that part then has no effect. A part that does not use it need not load it.
    parts.set(name, withoutImportOf(eager, name === eager ? withLazyRequire(text) : text));
  }
}

if (import.meta.main) {
  Deno.mkdirSync(PARTS, { recursive: true });
  Deno.removeSync(PARTS, { recursive: true });
  await makeParts(PARTS, ["main.ts"]);
}
