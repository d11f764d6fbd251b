/** Files on their way to other machines: uploaded once for each, before their entries go out. */

import assert from "node:assert/strict";
import { entryWith, fileMachine } from "../../../support/machines/machine_files.ts";
import { MemoryBus } from "../../../support/memory_bus.ts";
import { SentFiles } from "../../../../daemon/machines/files/sent_files.ts";
import { filesIn } from "../../../../daemon/host/files.ts";
import { deleteAttachment } from "protocol/messages/attachments.ts";
import { countingIds } from "../../../support/ids.ts";
import { FakeClock } from "../../../support/clock.ts";
import { tempFolder } from "../../../support/daemon/uploads.ts";
import type { WorldOptions } from "../../../support/world.ts";

const LAPTOP = "dm-aaaaaaaaaaaa";
const BUILDBOX = "dm-bbbbbbbbbbbb";
const CLOUD = "dm-cccccccccccc";
const DAY_MS = 86_400_000;

function setUp(options: WorldOptions = {}) {
  const bus = new MemoryBus();
  return { bus, laptop: fileMachine(LAPTOP, bus, options) };
}

const unreachable = { name: "BusError", reason: "unreachable" };

Deno.test("an entry names a file without its path, and the bus sees neither name nor text", async () => {
  const { bus, laptop } = setUp();
  await using _ = laptop;
  const attachment = await laptop.attach("the secret plan", "plan.txt");
  const sent = laptop.describe(BUILDBOX, attachment);
  assert.deepEqual(Object.keys(sent), [
    "attachment_id",
    "filename",
    "media_type",
    "size",
    "sha256",
    "object",
  ]);
  assert.deepEqual([sent.filename, sent.size, sent.sha256], ["plan.txt", 15, attachment.sha256]);
  await laptop.files.uploads.prepare(BUILDBOX, [entryWith([sent])]);
  assert.deepEqual([...bus.files.keys()], [`${LAPTOP}.${sent.object}`]);
  const stored = new TextDecoder().decode(bus.files.get(`${LAPTOP}.${sent.object}`));
  assert.doesNotMatch(stored, /secret plan|plan\.txt/);
});

Deno.test("a broadcast to 5 peers of one machine uploads its file once, and once more for another machine", async () => {
  const { bus, laptop } = setUp();
  await using _ = laptop;
  const attachment = await laptop.attach("plan");
  const entries = Array.from({ length: 5 }, () => {
    return entryWith([laptop.describe(BUILDBOX, attachment)]);
  });
  await laptop.files.uploads.prepare(CLOUD, entries);
  assert.equal(bus.count("put"), 0, "they name no file for the other machine");
  const parts = [entries.slice(0, 2), entries.slice(2)];
  await Promise.all(parts.map((part) => laptop.files.uploads.prepare(BUILDBOX, part)));
  await laptop.files.uploads.prepare(BUILDBOX, entries);
  assert.equal(bus.count("put"), 1);
  const other = entryWith([laptop.describe(CLOUD, attachment)]);
  await laptop.files.uploads.prepare(CLOUD, [other]);
  assert.equal(bus.count("put"), 2);
  assert.equal(bus.files.size, 2);
});

Deno.test("a reply's files are uploaded, too, and an entry that is malformed has none", async () => {
  const { bus, laptop } = setUp();
  await using _ = laptop;
  const sent = laptop.describe(BUILDBOX, await laptop.attach("answer"));
  const malformed = [null, "text", { attachments: [{ ...sent, object: "../x" }] }];
  for (const body of malformed) {
    await laptop.files.uploads.prepare(BUILDBOX, [{ ...entryWith([]), body }]);
  }
  assert.equal(bus.count("put"), 0);
  const body = { reply_attachments: [sent] };
  await laptop.files.uploads.prepare(BUILDBOX, [{ ...entryWith([]), body }]);
  assert.equal(bus.count("put"), 1);
});

Deno.test("an entry with more files than a message may have counts as one without files", async () => {
  const { bus, laptop } = setUp();
  await using _ = laptop;
  const sent = laptop.describe(BUILDBOX, await laptop.attach("plan"));
  const tooMany = Array.from({ length: 21 }, () => sent);
  assert.equal(SentFiles.safeParse(tooMany).success, false);
  await laptop.files.uploads.prepare(BUILDBOX, [entryWith(tooMany)]);
  assert.equal(bus.count("put"), 0);
  await laptop.files.uploads.prepare(BUILDBOX, [entryWith(tooMany.slice(1))]);
  assert.equal(bus.count("put"), 1);
});

Deno.test("while the bus is down the entries wait, and the upload is done when it is back", async () => {
  const { bus, laptop } = setUp();
  await using _ = laptop;
  const entry = entryWith([laptop.describe(BUILDBOX, await laptop.attach("plan"))]);
  laptop.state.isConnected = false;
  await assert.rejects(laptop.files.uploads.prepare(BUILDBOX, [entry]), unreachable);
  laptop.state.isConnected = true;
  bus.isDown = true;
  for (let attempt = 0; attempt < 20; attempt++) {
    await assert.rejects(laptop.files.uploads.prepare(BUILDBOX, [entry]), unreachable);
  }
  bus.isDown = false;
  await laptop.files.uploads.prepare(BUILDBOX, [entry]);
  assert.equal(bus.files.size, 1);
  assert.deepEqual(laptop.world.logged, []);
});

Deno.test("entries without files need no connection", async () => {
  const { laptop } = setUp();
  await using _ = laptop;
  laptop.state.isConnected = false;
  await laptop.files.uploads.prepare(BUILDBOX, [entryWith([])]);
});

Deno.test("an upload whose answer got lost is repeated under the same name", async () => {
  const { bus, laptop } = setUp();
  await using _ = laptop;
  const entry = entryWith([laptop.describe(BUILDBOX, await laptop.attach("plan"))]);
  bus.losesAnswer = () => true;
  await assert.rejects(laptop.files.uploads.prepare(BUILDBOX, [entry]), unreachable);
  bus.losesAnswer = () => false;
  await laptop.files.uploads.prepare(BUILDBOX, [entry]);
  assert.deepEqual([bus.count("put"), bus.files.size], [2, 1]);
});

Deno.test("an upload that breaks the connection 10 times goes out as a reason", async () => {
  const { bus, laptop } = setUp();
  await using buildbox = fileMachine(BUILDBOX, bus);
  await using _ = laptop;
  const sent = laptop.describe(BUILDBOX, await laptop.attach("plan"));
  let puts = 0;
  bus.refusal = (verb) => verb === "put" && ++puts <= 10 ? "unreachable" : undefined;
  for (let attempt = 1; attempt < 10; attempt++) {
    await assert.rejects(laptop.files.uploads.prepare(BUILDBOX, [entryWith([sent])]), unreachable);
  }
  await laptop.files.uploads.prepare(BUILDBOX, [entryWith([sent])]);
  await buildbox.files.downloads.fetch(LAPTOP, [entryWith([sent])]);
  assert.match(buildbox.received(LAPTOP, [sent]).missing, /the bus did not take it/);
});

Deno.test("a restart between upload and publish uploads nothing again", async () => {
  using folder = tempFolder();
  const bus = new MemoryBus();
  const ids = countingIds(), clock = new FakeClock();
  const files = filesIn(`${folder.directory}/files`), db_path = `${folder.directory}/mesh.db`;
  const start = () => fileMachine(LAPTOP, bus, { ids, clock, files, db_path });
  const before = start();
  const entries = [entryWith([before.describe(BUILDBOX, await before.attach("plan"))])];
  await before.files.uploads.prepare(BUILDBOX, entries);
  await before[Symbol.asyncDispose]();
  await using after = start();
  await after.files.uploads.prepare(BUILDBOX, entries);
  assert.equal(bus.count("put"), 1);
});

Deno.test("a file that was deleted before its upload does not hold the entry back", async () => {
  const { bus, laptop } = setUp();
  await using buildbox = fileMachine(BUILDBOX, bus);
  await using _ = laptop;
  const gone = await laptop.attach("plan", "plan.txt");
  const deleted = laptop.describe(BUILDBOX, gone);
  await laptop.world.call(deleteAttachment, { params: { id: gone.id } });
  const lost = await laptop.attach("plan", "lost.txt");
  const unreadable = laptop.describe(BUILDBOX, lost);
  Deno.removeSync(lost.path);
  const changed = await laptop.attach("plan", "changed.txt");
  const altered = laptop.describe(BUILDBOX, changed);
  Deno.writeTextFileSync(changed.path, "Plan");
  const sent = [deleted, unreadable, altered];
  await laptop.files.uploads.prepare(BUILDBOX, [entryWith(sent)]);
  await buildbox.files.downloads.fetch(LAPTOP, [entryWith(sent)]);
  const { attachments, missing } = buildbox.received(LAPTOP, sent);
  assert.deepEqual(attachments, []);
  const expected: [name: string, reason: string][] = [
    ["plan.txt", "it was deleted on the sending machine, or had expired there"],
    ["lost.txt", "the sending machine could not read it"],
    ["changed.txt", "the sending machine could not read it"],
  ];
  const lines = expected.map(([name, reason]) => {
    return `[The attachment "${name}" (4 bytes) did not arrive: ${reason}.]`;
  });
  assert.equal(missing, lines.join("\n"));
});

Deno.test("a full bus is tried 3 times, and then the entry goes out without its file", async () => {
  const { bus, laptop } = setUp();
  await using buildbox = fileMachine(BUILDBOX, bus);
  await using _ = laptop;
  const sent = laptop.describe(BUILDBOX, await laptop.attach("plan"));
  bus.refusal = (verb) => verb === "put" ? "full" : undefined;
  for (let attempt = 1; attempt < 3; attempt++) {
    await assert.rejects(laptop.files.uploads.prepare(BUILDBOX, [entryWith([sent])]), {
      reason: "full",
    });
  }
  await laptop.files.uploads.prepare(BUILDBOX, [entryWith([sent])]);
  await buildbox.files.downloads.fetch(LAPTOP, [entryWith([sent])]);
  assert.match(buildbox.received(LAPTOP, [sent]).missing, /the bus no longer has it/);
});

Deno.test("an entry that waits for longer than the bus keeps files uploads its file again", async () => {
  const { bus, laptop } = setUp({ settings: { "daemon.attachments.ttl_days": "30" } });
  await using _ = laptop;
  const entry = entryWith([laptop.describe(BUILDBOX, await laptop.attach("plan"))]);
  await laptop.files.uploads.prepare(BUILDBOX, [entry]);
  laptop.world.clock.sleepMachine(7 * DAY_MS - 1);
  await laptop.files.uploads.prepare(BUILDBOX, [entry]);
  assert.equal(bus.count("put"), 1);
  const [[name, uploaded] = []] = [...bus.files];
  bus.files.clear();
  laptop.world.clock.sleepMachine(1);
  await laptop.files.uploads.prepare(BUILDBOX, [entry]);
  assert.deepEqual([...bus.files], [[name, uploaded]]);
});

Deno.test("an old upload is not named again, because the bus drops it too soon", async () => {
  const { laptop } = setUp();
  await using _ = laptop;
  const attachment = await laptop.attach("plan");
  const first = laptop.describe(BUILDBOX, attachment);
  laptop.world.clock.sleepMachine(DAY_MS - 1);
  assert.equal(laptop.describe(BUILDBOX, attachment).object, first.object);
  laptop.world.clock.sleepMachine(1);
  assert.notEqual(laptop.describe(BUILDBOX, attachment).object, first.object);
});

Deno.test("a file is deleted from the bus when all entries that name it are confirmed", async () => {
  const { bus, laptop } = setUp();
  await using _ = laptop;
  const attachment = await laptop.attach("plan");
  const entries = [1, 2].map(() => entryWith([laptop.describe(BUILDBOX, attachment)]));
  await laptop.files.uploads.prepare(BUILDBOX, entries);
  laptop.release(BUILDBOX, entries.slice(0, 1));
  await laptop.tick();
  assert.equal(bus.files.size, 1);
  laptop.release(CLOUD, entries.slice(1));
  await laptop.tick();
  assert.equal(bus.files.size, 1, "another machine's confirmation");
  laptop.release(BUILDBOX, entries.slice(1));
  bus.isDown = true;
  await laptop.tick();
  assert.deepEqual(laptop.world.logged, []);
  bus.isDown = false;
  const next = laptop.describe(BUILDBOX, attachment);
  laptop.files.tick(0);
  await laptop.tick();
  assert.equal(bus.files.size, 0);
  await laptop.tick();
  assert.equal(bus.count("delete"), 1);
  await laptop.files.uploads.prepare(BUILDBOX, [entryWith([next])]);
  assert.deepEqual([...bus.files.keys()], [`${LAPTOP}.${next.object}`]);
});

Deno.test("a file that was never uploaded is not deleted from the bus", async () => {
  const { bus, laptop } = setUp();
  await using _ = laptop;
  laptop.release(BUILDBOX, [entryWith([laptop.describe(BUILDBOX, await laptop.attach("plan"))])]);
  await laptop.tick();
  assert.deepEqual(bus.requests, []);
});

Deno.test("a file that is too large for the bus is tried once, and a later message tries again", async () => {
  const { bus, laptop } = setUp();
  await using buildbox = fileMachine(BUILDBOX, bus);
  await using _ = laptop;
  const attachment = await laptop.attach("plan");
  const sent = laptop.describe(BUILDBOX, attachment);
  bus.refusal = () => bus.count("put") === 1 ? "too_large" : undefined;
  await laptop.files.uploads.prepare(BUILDBOX, [entryWith([sent])]);
  await buildbox.files.downloads.fetch(LAPTOP, [entryWith([sent])]);
  assert.match(buildbox.received(LAPTOP, [sent]).missing, /the bus did not take it/);
  assert.notEqual(laptop.describe(BUILDBOX, attachment).object, sent.object);
});

Deno.test("a file over 64 MiB is not read into memory, and its entry goes out", async () => {
  const { bus, laptop } = setUp();
  await using _ = laptop;
  const sent = laptop.describe(BUILDBOX, await laptop.attach("x".repeat(10_000)));
  await laptop.files.uploads.prepare(BUILDBOX, [entryWith([{ ...sent, size: (64 << 20) + 1 }])]);
  const [stored] = [...bus.files.values()];
  assert.ok(stored && stored.length < 1000, "the reason is there in its place");
});

Deno.test("only one file is in memory at a time, whatever machines it is for", async () => {
  const { laptop } = setUp();
  await using _ = laptop;
  const attachment = await laptop.attach("plan");
  let running = 0, max = 0;
  const { putFile } = laptop.connection;
  laptop.connection.putFile = async (name, bytes) => {
    max = Math.max(max, ++running);
    await putFile(name, bytes);
    running--;
  };
  await Promise.all([BUILDBOX, CLOUD].map((to) => {
    return laptop.files.uploads.prepare(to, [entryWith([laptop.describe(to, attachment)])]);
  }));
  assert.equal(max, 1);
});

Deno.test("a file that the bus does not delete is left to its expiry there", async () => {
  const { bus, laptop } = setUp();
  await using _ = laptop;
  const entries = [entryWith([laptop.describe(BUILDBOX, await laptop.attach("plan"))])];
  await laptop.files.uploads.prepare(BUILDBOX, entries);
  laptop.release(BUILDBOX, entries);
  bus.refusal = (verb) => verb === "delete" ? "not_permitted" : undefined;
  for (let tick = 0; tick < 3; tick++) await laptop.tick();
  assert.equal(bus.count("delete"), 1);
});

Deno.test("files that were never released are deleted after 38 days", async () => {
  const { bus, laptop } = setUp();
  await using _ = laptop;
  const entries = [entryWith([laptop.describe(BUILDBOX, await laptop.attach("plan"))])];
  await laptop.files.uploads.prepare(BUILDBOX, entries);
  laptop.world.clock.sleepMachine(38 * DAY_MS - 1);
  await laptop.tick();
  await laptop.files.uploads.prepare(BUILDBOX, entries);
  assert.equal(bus.count("put"), 2, "uploaded again, because the bus has dropped it");
  laptop.world.clock.sleepMachine(8 * DAY_MS);
  await laptop.tick();
  await laptop.files.uploads.prepare(BUILDBOX, entries);
  assert.equal(bus.count("put"), 2);
});
