/** The files that the person sends in the Telegram chat, forwarded with a reply. */

import assert from "node:assert/strict";
import { type SurfaceFixture, surfaceFixture } from "../../support/telegram/surface_fixture.ts";

type Fields = Record<string, unknown>;

const bytes = (text: string) => new TextEncoder().encode(text);
/** The fields of a message with a document of the person. */
const document = (r: SurfaceFixture, name: string, content = name): Fields => ({
  document: { ...r.bot.files.add(bytes(content)), file_name: name, mime_type: "text/plain" },
});
/** The fields of one part of an album. */
const part = (r: SurfaceFixture, name: string, more: Fields = {}): Fields => ({
  ...document(r, name),
  media_group_id: "album-1",
  ...more,
});

/** A surface whose chat shows one item. */
async function fixture(item: Fields = {}) {
  const r = await surfaceFixture();
  r.mesh.item(item);
  await r.settle();
  const ref = r.bot.sentMessages[0]?.message_id ?? 0;
  return { r, ref, [Symbol.asyncDispose]: () => r[Symbol.asyncDispose]() };
}

/** Lets transfers of files end, which take some turns. */
async function finishTransfers(r: SurfaceFixture): Promise<void> {
  for (let turn = 0; turn < 6; turn++) await r.settle();
}

/** The replies with the contents of their files. */
const replies = ({ mesh }: SurfaceFixture) =>
  mesh.replies.map(({ text, attachments = [] }) => [
    text,
    ...(Array.isArray(attachments) ? attachments : []).map((id) =>
      new TextDecoder().decode(mesh.attachments.bytes.get(String(id)))
    ),
  ]);
const names = ({ mesh }: SurfaceFixture) =>
  mesh.attachments.uploads.map(({ filename }) => filename);
const lastText = (r: SurfaceFixture) => r.bot.sentMessages.at(-1)?.text ?? "";
const isNotSent = (r: SurfaceFixture) => {
  assert.deepEqual([r.mesh.replies, [...r.mesh.attachments.bytes]], [[], []]);
};

Deno.test("the largest size of a photo goes with the reply, and its caption is the text", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  const photo = [["small", 90], ["large", 1280], ["medium", 320]].map(([name, width]) => ({
    ...r.bot.files.add(bytes(`${name}`)),
    width,
    height: 10,
  }));
  const id = r.bot.reply(ref, "", { caption: "Like this", photo });
  await finishTransfers(r);
  assert.deepEqual(replies(r), [["Like this", "large"]]);
  assert.partialDeepStrictEqual(r.mesh.replies, [{ surface_ref: String(ref) }]);
  assert.partialDeepStrictEqual(r.mesh.attachments.uploads, [
    { filename: `photo-${id}.jpg`, content_type: "image/jpeg", size: 5 },
  ]);
  assert.equal(r.bot.reactions.get(id), "👌");
});

Deno.test("documents, videos, audio and voice go with a reply, without a caption too", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  const file = (content: string) => r.bot.files.add(bytes(content));
  const ids = [
    r.bot.reply(ref, "", document(r, "plan.txt", "a plan")),
    r.bot.reply(ref, "", { video: { ...file("film"), mime_type: "video/quicktime" } }),
    r.bot.reply(ref, "", { video_note: file("round") }),
    r.bot.reply(ref, "", { audio: { ...file("song"), file_name: "song.flac" } }),
    r.bot.reply(ref, "", { voice: { ...file("hello"), mime_type: "audio/ogg" } }),
  ];
  for (const _ of ids) await finishTransfers(r);
  assert.deepEqual(replies(r).map(([, content]) => content), [
    "a plan",
    "film",
    "round",
    "song",
    "hello",
  ]);
  assert.deepEqual(
    r.mesh.attachments.uploads.map((upload) => [upload.filename, upload.content_type]),
    [
      ["plan.txt", "text/plain"],
      [`video-${ids[1]}.mp4`, "video/quicktime"],
      [`video-${ids[2]}.mp4`, "video/mp4"],
      ["song.flac", "audio/mpeg"],
      [`voice-${ids[4]}.ogg`, "audio/ogg"],
    ],
  );
});

Deno.test("a hostile name, type or path of a file stays data", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  const file_name = '../../.ssh/"\r\nx-evil: 1\r\n\r\n.bashrc\u202e\ud800';
  const mime_type = "text/html\r\nx-evil: 1";
  const stored = r.bot.files.add(bytes("x"));
  r.bot.reply(ref, "", { document: { ...stored, file_name, mime_type } });
  await finishTransfers(r);
  assert.partialDeepStrictEqual(r.mesh.attachments.uploads, [
    { filename: "_ x-evil_ 1 .bashrc", content_type: "application/octet-stream", size: 1 },
  ]);
  for (const path of ["../getMe", "a/../../getMe", "https://evil.test/x", "", "/etc/x", "."]) {
    r.bot.reply(ref, "", { document: r.bot.files.add(bytes("y"), path) });
    await finishTransfers(r);
    assert.match(lastText(r), /^Not sent. Telegram does not give me .*unknown form\.$/, path);
  }
  assert.equal(r.mesh.replies.length, 1);
  r.bot.reply(ref, "", { document: r.bot.files.add(bytes("z"), "documents/a b?#.c++") });
  await finishTransfers(r);
  assert.deepEqual(replies(r)[1], ["", "z"]);
  assert.doesNotMatch(r.printed.join(), /topsecret/);
});

Deno.test("an album is one reply with all its files, also when its parts come late", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  const first = r.bot.reply(ref, "", part(r, "one", { caption: "These" }));
  r.bot.reply(ref, "", part(r, "two"));
  await r.advance(500);
  r.bot.reply(ref, "", part(r, "three", { caption: "and this" }));
  r.bot.reply(ref, "And a text");
  assert.deepEqual(r.mesh.replies, []);
  await r.advance(5_000);
  await finishTransfers(r);
  assert.deepEqual(replies(r), [["These\nand this", "one", "two", "three"], ["And a text"]]);
  assert.equal(r.bot.reactions.get(first), "👌");
  assert.deepEqual(r.bot.updates, [], "all parts are confirmed");
});

Deno.test("an album of ten files does not wait for an eleventh", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  for (let file = 0; file < 10; file++) r.bot.reply(ref, "", part(r, `file ${file}`));
  await r.advance(1_000);
  for (let file = 0; file < 10; file++) await finishTransfers(r);
  assert.deepEqual(replies(r).map((reply) => reply.length), [11]);
});

Deno.test("the parts of an album are confirmed only once they are forwarded", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  r.mesh.up = false;
  r.mesh.close(1006);
  for (const name of ["one", "two"]) r.bot.reply(ref, "", part(r, name));
  await r.advance(10_000);
  assert.equal(r.bot.updates.length, 2);
  await r.restart();
  r.mesh.up = true;
  await r.advance(60_000);
  await finishTransfers(r);
  assert.deepEqual(replies(r), [["", "one", "two"]]);
  assert.deepEqual(r.bot.updates, []);
});

Deno.test("an album with a file that is too large is not sent, and the chat names the file", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  const huge = { ...r.bot.files.add(bytes("x")), file_name: "film.mp4", file_size: 20_971_521 };
  r.bot.reply(ref, "", part(r, "one"));
  const id = r.bot.reply(ref, "", { media_group_id: "album-1", video: huge });
  await r.advance(5_000);
  await finishTransfers(r);
  assert.equal(
    lastText(r),
    'Not sent. "film.mp4" is too large: Telegram gives me files of up to 20 MB.',
  );
  assert.equal(r.bot.sentMessages.at(-1)?.reply_to, id - 1);
  assert.equal(r.bot.count("getFile"), 0);
  isNotSent(r);
});

Deno.test("a file that turns out to be too large, or is gone, is reported with Telegram's reason", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  const { file_id } = r.bot.files.add(new Uint8Array(20 * 2 ** 20 + 1));
  for (const [id, why] of [[file_id, "file is too big"], ["gone", "wrong file_id"]] as const) {
    r.bot.reply(ref, "", { document: { file_id: id, file_name: "a.bin" } });
    await finishTransfers(r);
    assert.ok(lastText(r).startsWith('Not sent. Telegram does not give me "a.bin": '));
    assert.ok(lastText(r).includes(why), lastText(r));
  }
  isNotSent(r);
});

Deno.test("when the daemon refuses a file or the reply, it keeps no file of the message", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  r.mesh.attachments.file_bytes_max = 5;
  r.bot.reply(ref, "", part(r, "small"));
  r.bot.reply(ref, "", part(r, "too large"));
  await r.advance(5_000);
  await finishTransfers(r);
  assert.equal(lastText(r), "Not sent. The file is larger than 5 bytes");
  isNotSent(r);
  r.mesh.outcomes.push({ status: 422, error: "unknown_option", detail: "No such option" });
  r.bot.reply(ref, "", document(r, "a.txt"));
  await finishTransfers(r);
  assert.equal(lastText(r), "Not sent. No such option");
  isNotSent(r);
  assert.equal(r.mesh.attachments.deleted.length, 2);
});

Deno.test("a download that breaks off is repeated, and only the whole file is forwarded", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  const stored = r.bot.files.add(bytes("a plan"));
  r.bot.files.cutNext(stored.file_id);
  r.bot.failNext("getFile", "lost", "unreached", { error_code: 500 }, {
    error_code: 429,
    parameters: { retry_after: 3 },
  });
  r.bot.reply(ref, "", { document: stored });
  await r.advance(60_000);
  await finishTransfers(r);
  assert.deepEqual(replies(r), [["", "a plan"]]);
  assert.equal(r.bot.count("getFile"), 6);
});

Deno.test("when no download succeeds, the chat says so, even if that text is lost at first", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  r.bot.failNext("getFile", ...Array(10).fill("unreached"));
  r.bot.failNext("sendMessage", "unreached", "lost");
  r.bot.reply(ref, "", document(r, "a.txt"));
  await r.advance(300_000);
  assert.equal(r.bot.count("getFile"), 10);
  assert.equal(
    lastText(r),
    'Not sent. Telegram does not give me "a.txt": Telegram cannot be reached.',
  );
  isNotSent(r);
});

Deno.test("a file is uploaded once, although the reply had to wait for the daemon", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  r.mesh.outcomes.push({ status: 503, error: "shutting_down", detail: "Stopping" });
  r.bot.reply(ref, "", document(r, "a.txt"));
  await r.advance(30_000);
  await finishTransfers(r);
  assert.deepEqual(replies(r), [["", "a.txt"]]);
  assert.deepEqual(names(r), ["a.txt"]);
});

Deno.test("a reply whose answer was lost keeps its file, and is not sent again", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  r.mesh.outcomes.push("lost");
  r.bot.reply(ref, "", document(r, "a.txt"));
  await r.advance(60_000);
  assert.deepEqual(replies(r), [["", "a.txt"]]);
  assert.deepEqual(r.mesh.attachments.deleted, []);
  assert.match(lastText(r), /answered in the meantime/);
});

Deno.test("after a failure inside the daemon the file is kept, and the chat says only what is known", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  r.mesh.outcomes.push({ status: 500, error: "internal_error", detail: "Something failed" });
  r.bot.reply(ref, "", document(r, "a.txt"));
  await finishTransfers(r);
  assert.equal(lastText(r), "I do not know whether this was sent. Something failed");
  assert.deepEqual([r.mesh.attachments.bytes.size, r.mesh.attachments.deleted], [1, []]);
  r.mesh.outcomes.push({ status: 503, error: "no_human", detail: "No human is registered" });
  r.bot.reply(ref, "", document(r, "b.txt"));
  await finishTransfers(r);
  assert.equal(lastText(r), "Not sent. No human is registered");
  assert.equal(r.mesh.attachments.deleted.length, 1);
});

Deno.test("a file is forwarded only as a reply, and a caption is no command", async () => {
  await using p = await fixture();
  const { r, ref } = p;
  r.bot.write(undefined, { ...document(r, "a.txt"), caption: "/read" });
  await finishTransfers(r);
  assert.match(lastText(r), /^Reply to one of the messages/);
  isNotSent(r);
  r.bot.reply(ref, "", { ...document(r, "a.txt"), caption: "/read" });
  await finishTransfers(r);
  assert.deepEqual(replies(r), [["/read", "a.txt"]]);
  assert.deepEqual(r.mesh.reads, []);
});
