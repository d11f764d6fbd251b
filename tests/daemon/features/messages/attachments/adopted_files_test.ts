/** Files that are stored from memory, as those of other machines are. */

import assert from "node:assert/strict";
import { filesBeside, upload, uploadWorld } from "../../../../support/daemon/uploads.ts";

const bytes = new TextEncoder().encode("plan\n".repeat(200_000));
const named = { filename: "plan.txt", media_type: "text/plain" };

Deno.test("a file from memory is stored as an uploaded one is", async () => {
  await using w = uploadWorld();
  const uploaded = await upload(w, bytes, { name: "plan.txt", type: "text/plain" });
  const adopted = await w.daemon.attachments.adopt(bytes, named);
  assert.deepEqual(Deno.readFileSync(adopted.path), bytes);
  assert.deepEqual([adopted.filename, adopted.content_type, adopted.size, adopted.sha256], [
    uploaded.filename,
    uploaded.content_type,
    uploaded.size,
    uploaded.sha256,
  ]);
  assert.deepEqual(w.daemon.attachments.get(adopted.id), adopted);
});

Deno.test("the file is complete on the disk when its row is written, and gone if that fails", async () => {
  await using w = uploadWorld();
  const { attachments } = w.daemon;
  let found: string | undefined;
  const kept = await attachments.adopt(bytes, named, (_tx, id) => {
    const path = attachments.get(id)?.path ?? "";
    found = Deno.readTextFileSync(path);
  });
  assert.equal(found?.length, bytes.length);
  let refused = "";
  const failing = attachments.adopt(bytes, named, (_tx, id) => {
    refused = id;
    throw new Error("no");
  });
  await assert.rejects(failing, /no/);
  assert.equal(attachments.get(refused), undefined);
  assert.deepEqual(filesBeside(kept.path).length, 1);
});

Deno.test("a file from memory is subject to the limits of one file and of all files", async () => {
  const settings = {
    "daemon.attachments.file_bytes_max": "1500000",
    "daemon.attachments.total_bytes_max": "2500000",
  };
  await using w = uploadWorld({ settings });
  const { attachments } = w.daemon;
  const tooLarge = attachments.adopt(new Uint8Array(1_500_001), named);
  await assert.rejects(tooLarge, { code: "attachment_too_large" });
  await attachments.adopt(bytes, named);
  const both = [attachments.adopt(bytes, named), attachments.adopt(bytes, named)];
  const outcomes = await Promise.allSettled(both);
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
});
