import assert from "node:assert/strict";
import { senderOf } from "../../../../daemon/machines/nats/names.ts";

Deno.test("the sender is the last name of a batch or a call, and of no other subject", () => {
  assert.equal(senderOf("mesh.batch.dm-00000000000a.dm-00000000000b"), "dm-00000000000b");
  assert.equal(senderOf("mesh.call.dm-00000000000a.dm-00000000000b"), "dm-00000000000b");
  const others = [
    "$KV.mesh_directory.x.dm-00000000000b",
    "mesh.answer.dm-00000000000a.dm-00000000000b",
    "other.batch.dm-00000000000a.dm-00000000000b",
    "mesh.batch.dm-00000000000a.dm-00000000000b.x",
    "mesh.batch.dm-00000000000a",
    "mesh.batch.dm-00000000000a.admin",
    "",
  ];
  for (const subject of others) assert.equal(senderOf(subject), undefined, subject);
});
