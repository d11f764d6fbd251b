/** The last step of the build: `require` loads nothing until a package calls it. */

import assert from "node:assert/strict";
import { withLazyRequire, withoutImportOf } from "../../packaging/lazy_require.ts";

const BUNDLED =
  'var a=1;import{createRequire as __deno_internal_createRequire} from "node:module";' +
  "var m=__deno_internal_createRequire(import.meta.url);export{a,m};";

Deno.test("the require of a bundle works, and loads node:module only when it is called", async () => {
  const lazy = withLazyRequire(BUNDLED);
  assert.doesNotMatch(lazy, /^import|;import/);
  const dir = Deno.makeTempDirSync();
  try {
    Deno.writeTextFileSync(`${dir}/part.js`, lazy);
    const { m } = await import(`file://${dir}/part.js`);
    assert.equal(m("node:path").join("a", "b"), "a/b");
    assert.throws(() => m("bufferutil"), "as a package that is not installed");
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
});

Deno.test("a module without the bundler's require stays as it is", () => {
  const text = 'import{createRequire}from"node:module";createRequire("/x");';
  assert.equal(withLazyRequire(text), text);
});

Deno.test("a side-effect import of the bundler's part is removed, and a named import stays", () => {
  const text = 'import{a}from"./b.js";import"./b.js";import"./c.js";';
  assert.equal(withoutImportOf("b.js", text), 'import{a}from"./b.js";import"./c.js";');
});
