/**
 * The last step of `deno task parts`. The bundler gives every program a `require` for packages in
 * the CommonJS form, and loads `node:module` for it at the start, which takes as long as Deno itself
 * takes to start. This step delays it until a package calls `require`.
 */

import { fileURLToPath } from "node:url";

const PARTS = fileURLToPath(new URL("../dist/parts/", import.meta.url));
const EAGER =
  /import\s*\{\s*createRequire as (\w+)\s*\}\s*from\s*"node:module";\s*(?:var|const) (\w+)\s*=\s*\1\(import\.meta\.url\);/;

/** The text of a module with a `require` that loads `node:module` when it is called. */
export function withLazyRequire(text: string): string {
  return text.replace(
    EAGER,
    'var $2=id=>process.getBuiltinModule("node:module").createRequire(import.meta.url)(id);',
  );
}

/** The text of a module without the imports that only run this part. */
export function withoutImportOf(part: string, text: string): string {
  return text.replaceAll(`import"./${part}";`, "");
}

function rewriteParts(): void {
  const names = [...Deno.readDirSync(PARTS)].map(({ name }) => name)
    .filter((name) => name.endsWith(".js"));
  const runtime = names.find((name) => EAGER.test(Deno.readTextFileSync(PARTS + name)));
  if (runtime === undefined) throw new Error(`No part in ${PARTS} has the bundler's require`);
  rewrite(runtime, withLazyRequire);
  // Running that part now has no effect. A part that does not use it need not load it.
  for (const name of names) rewrite(name, (text) => withoutImportOf(runtime, text));
}

function rewrite(name: string, change: (text: string) => string): void {
  const text = Deno.readTextFileSync(PARTS + name);
  const changed = change(text);
  if (changed !== text) Deno.writeTextFileSync(PARTS + name, changed);
}

if (import.meta.main) rewriteParts();
