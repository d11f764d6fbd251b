/** Edited files of a folder, on a real file system. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { editsIn, ENTRIES_MAX } from "../../../daemon/host/edited_files.ts";

/** A folder with files by their paths, modified at these times. */
function folderOf(files: Readonly<Record<string, number>>) {
  const folder = Deno.makeTempDirSync();
  for (const [path, at] of Object.entries(files)) {
    Deno.mkdirSync(join(folder, path, ".."), { recursive: true });
    Deno.writeTextFileSync(join(folder, path), "");
    Deno.utimeSync(join(folder, path), at, at);
  }
  return { folder, [Symbol.dispose]: () => Deno.removeSync(folder, { recursive: true }) };
}

const SPAN = { since: 1000_000, until: 2000_000 };

Deno.test("files that match and were modified in the span are found [4.when.files]", async () => {
  using at = folderOf({
    "src/old.ts": 1000,
    "src/new.ts": 1001,
    "src/deep/last.ts": 2000,
    "src/later.ts": 2001,
    "src/new.md": 1500,
    "other/new.ts": 1500,
    "src/.git/new.ts": 1500,
    "src/node_modules/x/new.ts": 1500,
  });
  const { edits, is_complete } = await editsIn(at.folder, "src/**/*.ts", SPAN);
  assert.deepEqual(edits.map(({ path }) => path).sort(), ["src/deep/last.ts", "src/new.ts"]);
  assert.equal(is_complete, true);
});

Deno.test("a folder that does not exist holds no edits, and a link leads nowhere", async () => {
  using at = folderOf({ "a/x.ts": 1500 });
  Deno.symlinkSync(join(at.folder, "a"), join(at.folder, "b"));
  Deno.symlinkSync(join(at.folder, "a/x.ts"), join(at.folder, "y.ts"));
  const found = await editsIn(at.folder, "**/*.ts", SPAN);
  assert.deepEqual(found.edits.map(({ path }) => path), ["a/x.ts"]);
  assert.deepEqual((await editsIn(at.folder, "none/*", SPAN)).edits, []);
});

Deno.test("a folder of too many files is reported as incomplete [4.when.files]", async () => {
  using at = folderOf({});
  for (let file = 0; file < ENTRIES_MAX; file++) {
    Deno.openSync(join(at.folder, `${file}`), { write: true, create: true }).close();
  }
  assert.equal((await editsIn(at.folder, "*", SPAN)).is_complete, true);
  Deno.writeTextFileSync(join(at.folder, "more"), "");
  assert.equal((await editsIn(at.folder, "*", SPAN)).is_complete, false);
});
