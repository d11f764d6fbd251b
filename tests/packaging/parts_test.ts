/** The build of the parts: nothing is lost, and `require` loads nothing until a package calls it. */

import assert from "node:assert/strict";
import { makeParts, withLazyRequire, withoutImportOf } from "../../packaging/parts.ts";
import { temporary } from "../support/programs/child.ts";

/** Each use is the only one of its variable, and follows it at once: a bundler could join them. */
const RESOURCES = `
const ended: string[] = [];
const resource = (name: string) => ({
  name,
  [Symbol.dispose]: () => void ended.push(name),
  [Symbol.asyncDispose]: () => Promise.resolve(void ended.push(name)),
});
export async function used(): Promise<readonly string[]> {
  {
    using first = resource("first");
    if (first.name === "") throw new Error(first.name);
  }
  const name = () => {
    using second = resource("second");
    return second.name;
  };
  name();
  {
    await using third = resource("third");
    name.call(third.name);
  }
  return ended;
}
`;

Deno.test("a bundle closes what its source closes with using", async () => {
  using folder = temporary();
  const source = `${folder.path}/resources.ts`;
  Deno.writeTextFileSync(source, RESOURCES);
  await makeParts(`${folder.path}/parts`, [source]);
  const { used } = await import(`file://${folder.path}/parts/resources.js`);
  assert.deepEqual(await used(), ["first", "second", "second", "third"]);
});

const BUNDLED = `var a = 1;
import { createRequire as __deno_internal_createRequire } from "node:module";
var m = __deno_internal_createRequire(import.meta.url);
export { a, m };
`;

Deno.test("the require of a bundle works, and loads node:module only when it is called", async () => {
  const lazy = withLazyRequire(BUNDLED);
  assert.doesNotMatch(lazy, /^import/m);
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

Deno.test("another form of the bundler's require is reported", () => {
  const text = 'import { createRequire as r } from "node:module";\nconst m = r(import.meta.url);\n';
  assert.throws(() => withLazyRequire(text), /has another form now/);
});

Deno.test("a part that uses nothing of the bundler's part does not load it", () => {
  const text = 'import { a } from "./b.js";\nimport "./b.js";\nimport "./c.js";\n';
  const rest = 'import { a } from "./b.js";\nimport "./c.js";\n';
  assert.equal(withoutImportOf("b.js", text), rest);
});
