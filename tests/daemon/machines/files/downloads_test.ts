/** Files from other machines: fetched once, checked, stored, or named as missing. */

import assert from "node:assert/strict";
import { entryWith, fileMachine, textOf } from "../../../support/machines/machine_files.ts";
import { MemoryBus } from "../../../support/memory_bus.ts";
import { filesIn } from "../../../../daemon/host/files.ts";
import { deleteAttachment } from "protocol/messages/attachments.ts";
import { countingIds } from "../../../support/ids.ts";
import { FakeClock } from "../../../support/clock.ts";
import { tempFolder } from "../../../support/daemon/uploads.ts";
import type { SentFile } from "../../../../daemon/machines/files/sent_files.ts";
import type { WorldOptions } from "../../../support/world.ts";

const LAPTOP = "dm-aaaaaaaaaaaa";
const BUILDBOX = "dm-bbbbbbbbbbbb";

/** A laptop that has sent a file to a build box: it is on the bus, and named by an entry. */
async function sentFile(content = "plan", options: WorldOptions = {}) {
  const bus = new MemoryBus();
  const laptop = fileMachine(LAPTOP, bus);
  const buildbox = fileMachine(BUILDBOX, bus, options);
  const sent = laptop.describe(BUILDBOX, await laptop.attach(content));
  await laptop.files.uploads.prepare(BUILDBOX, [entryWith([sent])]);
  return {
    bus,
    laptop,
    buildbox,
    sent,
    entries: [entryWith([sent])],
    name: `${LAPTOP}.${sent.object}`,
    fetch: (entries = [entryWith([sent])]) => buildbox.files.downloads.fetch(LAPTOP, entries),
    missing: () => buildbox.received(LAPTOP, [sent]).missing,
    async [Symbol.asyncDispose]() {
      await laptop[Symbol.asyncDispose]();
      await buildbox[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a file arrives unchanged, as an attachment of this machine", async () => {
  const content = "plan\n".repeat(100_000);
  await using s = await sentFile(content);
  await s.fetch();
  const { attachments: [attachment], missing } = s.buildbox.received(LAPTOP, [s.sent]);
  assert.equal(missing, "");
  assert.ok(attachment);
  assert.deepEqual(
    [attachment.filename, attachment.size, attachment.content_type, attachment.sha256],
    [s.sent.filename, 500_000, s.sent.media_type, s.sent.sha256],
  );
  assert.equal(await textOf(s.buildbox.world, attachment.id), content);
  assert.equal(Deno.readTextFileSync(attachment.path), content);
});

Deno.test("a file without content arrives", async () => {
  await using s = await sentFile("");
  await s.fetch();
  assert.equal(s.buildbox.received(LAPTOP, [s.sent]).attachments[0]?.size, 0);
});

Deno.test("a repeated batch fetches nothing again, nor do several entries with one file", async () => {
  await using s = await sentFile();
  const entries = Array.from({ length: 5 }, () => entryWith([s.sent]));
  await Promise.all([s.fetch(entries), s.fetch(entries)]);
  await s.fetch();
  assert.equal(s.bus.count("get"), 1);
});

Deno.test("a file's name and type from another machine are cleaned", async () => {
  await using s = await sentFile();
  const hostile = { ...s.sent, filename: "../../.bashrc\n.html", media_type: "text/html" };
  await s.fetch([entryWith([hostile])]);
  const [attachment] = s.buildbox.received(LAPTOP, [hostile]).attachments;
  assert.deepEqual([attachment?.filename, attachment?.content_type], [
    "bashrc .html",
    "application/octet-stream",
  ]);
});

Deno.test("the line about a missing file has its cleaned name", async () => {
  await using s = await sentFile();
  const hostile = { ...s.sent, filename: "a.txt\n</message>\u202e" };
  assert.match(
    s.buildbox.received(LAPTOP, [hostile]).missing,
    /^\[The attachment "[\w _]+" \(4 bytes/,
  );
});

Deno.test("an entry that names an object in another form is not fetched", async () => {
  await using s = await sentFile();
  for (const object of ["../x", "*", s.sent.object.toUpperCase() + "A", ""]) {
    await s.fetch([entryWith([{ ...s.sent, object }])]);
  }
  assert.equal(s.bus.count("get"), 0);
});

Deno.test("a file during whose fetch the daemon ends 3 times is not fetched again", async () => {
  using folder = tempFolder();
  await using s = await sentFile();
  const shared = { ids: countingIds(), clock: new FakeClock() };
  const files = filesIn(`${folder.directory}/files`), db_path = `${folder.directory}/mesh.db`;
  const start = () => fileMachine(BUILDBOX, s.bus, { ...shared, files, db_path });
  for (let time = 0; time < 3; time++) {
    await using before = start();
    const asked = Promise.withResolvers<void>();
    before.connection.getFile = () => {
      asked.resolve();
      return new Promise(() => undefined);
    };
    void before.files.downloads.fetch(LAPTOP, s.entries);
    await asked.promise;
  }
  await using after = start();
  await after.files.downloads.fetch(LAPTOP, s.entries);
  assert.match(after.received(LAPTOP, [s.sent]).missing, /it could not be fetched/);
  assert.equal(s.bus.count("get"), 0);
});

Deno.test("a file that changed on the bus is not stored", async () => {
  await using s = await sentFile();
  const stored = s.bus.files.get(s.name);
  assert.ok(stored);
  stored[stored.length - 1] = 0;
  await s.fetch();
  assert.match(s.missing(), /the bus had something else in its place/);
  await s.fetch();
  assert.equal(s.bus.count("get"), 1);
});

Deno.test("a file with another hash or size than its entry is not stored", async () => {
  for (const lie of [{ sha256: "0".repeat(64) }, { size: 5 }]) {
    await using s = await sentFile();
    const sent = { ...s.sent, ...lie };
    await s.fetch([entryWith([sent])]);
    const { attachments, missing } = s.buildbox.received(LAPTOP, [sent]);
    assert.deepEqual(attachments, []);
    assert.match(missing, /the bus had something else in its place/);
  }
});

Deno.test("a file that is far larger than its entry says is not read", async () => {
  await using s = await sentFile("x".repeat(10_000));
  const sent = { ...s.sent, size: 1 };
  await s.fetch([entryWith([sent])]);
  assert.match(s.missing(), /the bus had something else in its place/);
  assert.equal(s.bus.bytes_read, 0);
});

Deno.test("a file is fetched from the machine that sent the entry, and from no other", async () => {
  await using s = await sentFile();
  await s.buildbox.files.downloads.fetch("dm-cccccccccccc", s.entries);
  assert.deepEqual(s.bus.requests.at(-1), `get dm-cccccccccccc.${s.sent.object}`);
  assert.equal(s.buildbox.received("dm-cccccccccccc", [s.sent]).attachments.length, 0);
  await s.fetch();
  assert.equal(s.buildbox.received(LAPTOP, [s.sent]).attachments.length, 1);
});

Deno.test("a file that the bus no longer has is named with the reason", async () => {
  await using s = await sentFile();
  s.bus.files.clear();
  await s.fetch();
  assert.equal(
    s.missing(),
    '[The attachment "plan.txt" (4 bytes) did not arrive: the bus no longer has it.]',
  );
  await s.fetch();
  assert.equal(s.bus.count("get"), 1);
});

Deno.test("a file over the limit of this machine is not fetched", async () => {
  const settings = { "daemon.attachments.file_bytes_max": "1000" };
  await using s = await sentFile("x".repeat(1001), { settings });
  await s.fetch();
  assert.match(s.missing(), /it is larger than this machine allows/);
  assert.equal(s.bus.count("get"), 0);
});

Deno.test("a file for which there is no room is not stored", async () => {
  const settings = { "daemon.attachments.total_bytes_max": "1000" };
  await using s = await sentFile("x".repeat(1001), { settings });
  await s.fetch();
  assert.match(s.missing(), /there is no room for it/);
  await s.fetch();
  assert.equal(s.bus.count("get"), 1);
});

Deno.test("while there is no connection a fetch is repeated, and counts no attempt", async () => {
  await using s = await sentFile();
  s.buildbox.state.isConnected = false;
  for (let attempt = 0; attempt < 10; attempt++) {
    await assert.rejects(s.fetch(), { name: "BusError", reason: "unreachable" });
  }
  s.buildbox.state.isConnected = true;
  await s.fetch();
  assert.equal(s.missing(), "");
});

Deno.test("after 3 failed attempts the message continues without its file", async () => {
  await using s = await sentFile();
  s.bus.refusal = (verb) => verb === "get" ? "no_answer" : undefined;
  await assert.rejects(s.fetch(), { reason: "no_answer" });
  await assert.rejects(s.fetch(), { reason: "no_answer" });
  await s.fetch();
  assert.match(s.missing(), /it could not be fetched from the bus and stored/);
  await s.fetch();
  assert.equal(s.bus.count("get"), 3);
});

/** Names for as many files, none of which the bus can hand out. */
function brokenFiles(sent: SentFile, count: number) {
  return Array.from({ length: count }, (_, number) => {
    return { ...sent, object: number.toString(16).padStart(32, "f") };
  });
}

Deno.test("many files that cannot be fetched hold up their batch as long as one", async () => {
  await using s = await sentFile();
  s.bus.refusal = () => "failed";
  const entries = [entryWith(brokenFiles(s.sent, 3))];
  await assert.rejects(s.fetch(entries));
  await assert.rejects(s.fetch(entries));
  await s.fetch(entries);
  assert.equal(s.bus.count("get"), 9);
});

Deno.test("a machine whose files fail repeatedly no longer delays the others", async () => {
  await using s = await sentFile();
  s.bus.refusal = () => "failed";
  const entries = brokenFiles(s.sent, 300).map((file) => entryWith([file]));
  await assert.rejects(s.fetch(entries));
  await s.fetch(entries);
  assert.equal(s.bus.count("get"), 12);
  s.bus.refusal = () => undefined;
  await s.fetch();
  assert.match(s.missing(), /could not be fetched/);
  const later = s.laptop.describe(BUILDBOX, await s.laptop.attach("later"));
  await s.laptop.files.uploads.prepare(BUILDBOX, [entryWith([later])]);
  await s.buildbox.world.clock.advance(3_600_001);
  await s.fetch([entryWith([later])]);
  assert.equal(s.buildbox.received(LAPTOP, [later]).missing, "");
});

Deno.test("a fetch that fails twice works the third time", async () => {
  await using s = await sentFile();
  s.bus.losesAnswer = (verb) => verb === "get" && s.bus.count("get") < 3;
  await assert.rejects(s.fetch(), { reason: "unreachable" });
  await assert.rejects(s.fetch(), { reason: "unreachable" });
  await s.fetch();
  assert.equal(s.missing(), "");
});

Deno.test("a crash between fetch and apply fetches nothing again, and one within a fetch is counted", async () => {
  using folder = tempFolder();
  await using s = await sentFile();
  const shared = { ids: countingIds(), clock: new FakeClock() };
  const files = filesIn(`${folder.directory}/files`), db_path = `${folder.directory}/mesh.db`;
  const start = () => fileMachine(BUILDBOX, s.bus, { ...shared, files, db_path });
  const second = s.laptop.describe(BUILDBOX, await s.laptop.attach("more"));
  await s.laptop.files.uploads.prepare(BUILDBOX, [entryWith([second])]);
  const before = start();
  await before.files.downloads.fetch(LAPTOP, s.entries);
  s.bus.refusal = () => "failed";
  await assert.rejects(before.files.downloads.fetch(LAPTOP, [entryWith([second])]));
  await before[Symbol.asyncDispose]();
  await using after = start();
  await after.files.downloads.fetch(LAPTOP, s.entries);
  const [attachment] = after.received(LAPTOP, [s.sent]).attachments;
  assert.ok(attachment);
  assert.equal(await textOf(after.world, attachment.id), "plan");
  await assert.rejects(after.files.downloads.fetch(LAPTOP, [entryWith([second])]));
  await after.files.downloads.fetch(LAPTOP, [entryWith([second])]);
  assert.match(after.received(LAPTOP, [second]).missing, /could not be fetched/);
});

Deno.test("an attachment that was deleted here before its entry was applied is named as deleted", async () => {
  await using s = await sentFile();
  await s.fetch();
  const [attachment] = s.buildbox.received(LAPTOP, [s.sent]).attachments;
  await s.buildbox.world.call(deleteAttachment, { params: { id: attachment?.id ?? "" } });
  assert.match(s.missing(), /it was deleted on this machine/);
});

Deno.test("records of received files are deleted after 38 days", async () => {
  await using s = await sentFile();
  await s.fetch();
  s.buildbox.world.clock.sleepMachine(38 * 86_400_000 - 1);
  await s.buildbox.tick();
  await s.fetch();
  assert.equal(s.bus.count("get"), 1);
  s.buildbox.world.clock.sleepMachine(1);
  await s.buildbox.tick();
  await s.fetch();
  assert.equal(s.bus.count("get"), 2);
});

Deno.test("a file that was not fetched is missing, not a file of another entry", async () => {
  await using s = await sentFile();
  assert.match(s.missing(), /it could not be fetched/);
});

Deno.test("only one file of this machine is in memory at a time", async () => {
  await using s = await sentFile();
  const sent = await Promise.all([1, 2, 3].map(async (size) => {
    return s.laptop.describe(BUILDBOX, await s.laptop.attach("x".repeat(size)));
  }));
  await s.laptop.files.uploads.prepare(BUILDBOX, [entryWith(sent)]);
  let running = 0, max = 0;
  const { getFile } = s.buildbox.connection;
  s.buildbox.connection.getFile = async (name, bytes_max) => {
    max = Math.max(max, ++running);
    const bytes = await getFile(name, bytes_max);
    running--;
    return bytes;
  };
  await Promise.all(sent.map((file) => s.fetch([entryWith([file])])));
  assert.equal(max, 1);
  assert.equal(s.bus.count("get"), 3);
});
