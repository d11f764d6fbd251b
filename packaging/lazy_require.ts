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

function rewriteParts(): void {
  const changed = [...Deno.readDirSync(PARTS)].filter(({ name }) => name.endsWith(".js"))
    .filter(({ name }) => {
      const text = Deno.readTextFileSync(PARTS + name);
      const rewritten = withLazyRequire(text);
      if (rewritten !== text) Deno.writeTextFileSync(PARTS + name, rewritten);
      return rewritten !== text;
    });
  if (changed.length === 0) throw new Error(`No part in ${PARTS} has the bundler's require`);
}

if (import.meta.main) rewriteParts();
