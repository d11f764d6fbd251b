/** Patterns of paths. */

import assert from "node:assert/strict";
import { matchesGlob, splitGlob } from "../../../daemon/host/edited_files.ts";

function matches(glob: string, path: string): boolean {
  return matchesGlob(splitGlob(glob).pattern, path.split("/"));
}

Deno.test("* and ? match within a name, and ** any number of folders [4.when.files]", () => {
  const yes = [
    ["a.ts", "a.ts"],
    ["*.ts", "a.ts"],
    ["src/*.ts", "src/a.ts"],
    ["src/**", "src/a/b.ts"],
    ["**/*.ts", "a.ts"],
    ["**/*.ts", "a/b/c.ts"],
    ["a/**/b/**/c", "a/x/b/b/y/c"],
    ["?.md", "é.md"],
    ["*a*b*", "xxaxxbxx"],
    ["**", ".env"],
  ] as const;
  const no = [
    ["*.ts", "src/a.ts"],
    ["src/*.ts", "src/a/b.ts"],
    ["?.md", "ab.md"],
    ["a.ts", "axts"],
    ["a/**/c", "b/c"],
    ["*a*b*", "xxbxxaxx"],
    ["src/**/x.ts", "src/a/y.ts"],
  ] as const;
  for (const [glob, path] of yes) assert.ok(matches(glob, path), `${glob} ${path}`);
  for (const [glob, path] of no) assert.ok(!matches(glob, path), `${glob} ${path}`);
});

Deno.test("a search begins in the folders without a wildcard, and goes no deeper than the pattern", () => {
  const parts = (glob: string) => {
    const { fixed, depth_max } = splitGlob(glob);
    return [fixed.join("/"), depth_max];
  };
  assert.deepEqual(parts("src/app/*.ts"), ["src/app", 3]);
  assert.deepEqual(parts("src/**/a.ts"), ["src", Infinity]);
  assert.deepEqual(parts("**"), ["", Infinity]);
  assert.deepEqual(parts("src/a.ts"), ["src", 2]);
  assert.deepEqual(parts("a.ts"), ["", 1]);
});

Deno.test("a pattern of many wildcards does not take exponential time", () => {
  const glob = `${"*a".repeat(120)}b`;
  assert.equal(matches(glob, "a".repeat(255)), false);
  const deep = `${"**/a/".repeat(60)}b`;
  assert.equal(matches(deep, Array.from({ length: 200 }, () => "a").join("/")), false);
});
