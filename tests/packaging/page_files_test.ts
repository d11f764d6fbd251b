/** The page's files in the parts: compressed at the build, and the same as those of the sources. */

import assert from "node:assert/strict";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { PATHS, storedFile } from "../../dashboard/files/contents.ts";
import type { StoredFile } from "../../dashboard/files/stored_file.ts";
import { makeParts } from "../../packaging/parts.ts";
import { temporary } from "../support/programs/child.ts";

interface Parts {
  storedFile(path: string): StoredFile | undefined;
}

const UNDO = { br: brotliDecompressSync, gzip: gunzipSync, identity: (bytes: Uint8Array) => bytes };

Deno.test("the parts have each file of the page in each coding, in less space than the sources", async () => {
  using folder = temporary();
  const entry = `${folder.path}/entry.ts`;
  const contents = new URL("../../dashboard/files/contents.ts", import.meta.url).href;
  Deno.writeTextFileSync(entry, `export { storedFile } from "${contents}";\n`);
  await makeParts(`${folder.path}/parts`, [entry]);
  const parts: Parts = await import(`file://${folder.path}/parts/entry.js`);
  let plain_bytes = 0, packed_bytes = 0;
  for (const path of PATHS) {
    const source = storedFile(path), packed = parts.storedFile(path);
    assert.ok(source && packed, path);
    assert.deepEqual([packed.type, packed.digest], [source.type, source.digest]);
    const content = await source.read("identity");
    assert.deepEqual(await packed.read("identity"), content, path);
    for (const coding of packed.codings) {
      const sent = await packed.read(coding);
      assert.deepEqual(new Uint8Array(UNDO[coding](sent)), content, `${path} in ${coding}`);
    }
    plain_bytes += content.length;
    packed_bytes += (await packed.read(packed.codings.includes("br") ? "br" : "identity")).length;
  }
  assert.ok(packed_bytes < plain_bytes / 3, `${packed_bytes} of ${plain_bytes} bytes`);
  assert.equal(parts.storedFile("assets/none.js"), undefined);
  assert.equal(parts.storedFile("__proto__"), undefined);
});
