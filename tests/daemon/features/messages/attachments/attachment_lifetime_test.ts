/** Attachments end: by deletion, by time, by a restart, by a failed write. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { deleteAttachment } from "../../../../../daemon/features/messages/attachments/contract.ts";
import { filesIn } from "../../../../../daemon/host/files.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { countingIds } from "../../../../support/ids.ts";
import { world as startWorld, type WorldOptions } from "../../../../support/world.ts";
import { filesBeside, tempFolder, upload } from "../../../../support/daemon/uploads.ts";
import { get } from "../../../../support/daemon/peer_clients.ts";

const DAY_SECONDS = 86_400;

/** Uploads write real files, so each turn of the clock takes real time. */
const world = (options: WorldOptions = {}) => startWorld({ clock: new FakeClock(), ...options });

Deno.test("deleting a file ends it, once", async () => {
  await using w = world();
  const { id, path } = await upload(w, "x");
  assert.deepEqual(await w.call(deleteAttachment, { params: { id } }), { ok: true });
  assert.throws(() => Deno.statSync(path), Deno.errors.NotFound);
  for (const method of ["GET", "HEAD", "DELETE"]) {
    const answer = await w.fetch(`/attachments/${id}`, { method });
    assert.equal(answer.status, 404, method);
    if (method !== "HEAD") {
      assert.deepEqual(await answer.json(), {
        error: "unknown_attachment",
        detail: `Unknown attachment: ${id}`,
        hint: "files are kept for some days only",
        attachment: id,
      });
    }
  }
});

Deno.test("a file goes when its time is over, before the next beat as well", async () => {
  await using w = world({ settings: { "daemon.attachments.ttl_days": "2" } });
  const { id, path } = await upload(w, "x");
  await w.tick(2 * DAY_SECONDS - 1);
  assert.equal((await w.fetch(`/attachments/${id}`)).status, 200);
  const later = await upload(w, "y");
  await w.clock.advance(1000);
  assert.equal((await get(w, `/attachments/${id}`)).error, "unknown_attachment");
  await w.tick();
  assert.deepEqual(filesBeside(path), [`${later.id}.txt`]);
});

Deno.test("many files go a few at a time, and none is forgotten", async () => {
  await using w = world({ settings: { "daemon.attachments.ttl_days": "1" } });
  const { path } = await upload(w, "0");
  for (let count = 1; count < 60; count++) await upload(w, String(count));
  await w.tick(DAY_SECONDS);
  assert.equal(filesBeside(path).length, 10);
  await w.tick();
  assert.equal(filesBeside(path).length, 0);
});

Deno.test("a file that somebody took away, or changed, is lost and said to be", async () => {
  await using w = world();
  const gone = await upload(w, "x"), cut = await upload(w, "long");
  Deno.removeSync(gone.path);
  Deno.truncateSync(cut.path, 2);
  for (const { id } of [gone, cut]) {
    const { status, error, attachment } = await get(w, `/attachments/${id}`);
    assert.deepEqual([status, error, attachment], [410, "attachment_lost", id]);
    assert.equal((await w.fetch(`/attachments/${id}`, { method: "DELETE" })).status, 200);
  }
  assert.deepEqual(w.logged, []);
});

Deno.test("files survive a restart; what a crash left of others does not", async () => {
  using at = tempFolder();
  const { directory } = at;
  const kept = { clock: new FakeClock(), ids: countingIds() };
  const files = filesIn(join(directory, "attachments"));
  const options = { ...kept, files, db_path: join(directory, "mesh.db") };
  let id = "", path = "";
  {
    await using w = world(options);
    ({ id, path } = await upload(w, "kept"));
  }
  const half = `att-${"a".repeat(32)}.png.part`, unrecorded = `att-${"b".repeat(32)}`;
  for (const name of [half, unrecorded, "notes.txt"]) {
    Deno.writeTextFileSync(files.pathOf(name), "");
  }
  {
    await using w = world(options);
    assert.deepEqual(filesBeside(path), [`${id}.txt`, "notes.txt"]);
    assert.equal(await (await w.fetch(`/attachments/${id}`)).text(), "kept");
  }
});

Deno.test("a file whose row cannot be stored is not kept either", async () => {
  await using w = world();
  const kept = await upload(w, "kept");
  const refuse =
    "create trigger refuse before insert on attachments begin select raise(fail, 'no'); end";
  w.daemon.ctx.db.transactNow((tx) => void tx.run(refuse));
  assert.equal((await upload(w, "lost")).status, 500);
  assert.deepEqual(filesBeside(kept.path), [`${kept.id}.txt`]);
});
