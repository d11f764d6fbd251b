/** Reading unified diffs. */

import assert from "node:assert/strict";
import { readUnifiedDiff } from "../../../protocol/derived/diff.ts";

Deno.test("a unified diff of git is read: files, paths before, hunks, and lines like headers", () => {
  const files = readUnifiedDiff([
    "diff --git a/src/a.ts b/src/a.ts",
    "index 1..2 100644",
    "--- a/src/a.ts",
    "+++ b/src/a.ts",
    "@@ -1,3 +1,3 @@ export",
    " one",
    "--- a/other.ts",
    "+++ b/other.ts",
    "",
    "\\ No newline at end of file",
    "@@ -10 +10,2 @@",
    " ten",
    "+eleven",
    "diff --git a/gone b/gone",
    "--- a/gone",
    "+++ /dev/null",
    "@@ -1 +0,0 @@",
    "-x",
    "--- a/old.ts",
    "+++ b/new.ts",
    "@@ -1 +1 @@",
    "-a",
    "+b",
    "",
  ].join("\n"));
  assert.deepEqual(
    files.map(({ path, old_path, added, removed }) => [path, old_path, added, removed]),
    [
      ["src/a.ts", undefined, 2, 1],
      ["gone", undefined, 0, 1],
      ["new.ts", "old.ts", 1, 1],
    ],
  );
  assert.deepEqual(files[0]?.hunks[0]?.lines, [
    " one",
    "--- a/other.ts",
    "+++ b/other.ts",
    " ",
    "\\ No newline at end of file",
  ]);
});
