/** Durable files: directories are created with all above them, and files are replaced whole. */

import assert from "node:assert/strict";
import { FileRefusal } from "kit/host/file_errors.ts";
import { join } from "node:path";
import { makeDirectory, writePrivately } from "kit/host/durable_files.ts";

function temporary() {
  const path = Deno.makeTempDirSync();
  return { path, [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }) };
}

Deno.test("a directory is created with those above it, for this user only", () => {
  using folder = temporary();
  const path = join(folder.path, "a", "b", "c");
  makeDirectory(path);
  makeDirectory(`${path}/`);
  for (const made of [path, join(folder.path, "a")]) {
    const { isDirectory, mode } = Deno.statSync(made);
    assert.equal(isDirectory, true);
    if (Deno.build.os !== "windows") assert.equal((mode ?? 0) & 0o777, 0o700);
  }
});

Deno.test("a directory cannot be created where a file is", () => {
  using folder = temporary();
  const path = join(folder.path, "file");
  Deno.writeTextFileSync(path, "");
  for (const wanted of [path, join(path, "below")]) {
    assert.throws(() => makeDirectory(wanted), FileRefusal);
  }
});

Deno.test("a file is replaced whole, whatever an earlier attempt has left", () => {
  using folder = temporary();
  const path = join(folder.path, "token");
  Deno.writeTextFileSync(`${path}.new`, "half of a tok");
  writePrivately(path, "first");
  writePrivately(path, "second");
  assert.equal(Deno.readTextFileSync(path), "second");
  assert.deepEqual([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["token"]);
});
