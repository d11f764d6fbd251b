/** The bench's options, and the file that `--compare` reads. */

import assert from "node:assert/strict";
import { readOptions } from "./options.ts";
import { readFigures } from "./run_file.ts";

Deno.test("--only takes one part or several, and names the parts that exist", () => {
  assert.deepEqual(readOptions(["--only", "idle,floods"], ["idle", "floods"]).only, [
    "idle",
    "floods",
  ]);
  assert.throws(
    () => readOptions(["--only", "floods,idel"], ["idle", "floods"]),
    /--only "idel" names no part; the parts are idle, floods/,
  );
});

Deno.test("an unknown option is refused", () => {
  assert.throws(() => readOptions(["--fast"], []), /--fast/);
});

Deno.test("--compare refuses a file of another kind", () => {
  const path = Deno.makeTempFileSync();
  try {
    Deno.writeTextFileSync(path, '{"figures": []}');
    assert.throws(() => readFigures(path), /has no "parts"; --compare takes a JSON file/);
  } finally {
    Deno.removeSync(path);
  }
});
