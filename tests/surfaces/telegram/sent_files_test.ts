/** The files of inbox items, sent into the Telegram chat. */

import assert from "node:assert/strict";
import { type SurfaceFixture, surfaceFixture } from "../../support/telegram/surface_fixture.ts";

const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 1);
const TEXT = new TextEncoder().encode("a plan");

/** The bot's messages: the text or caption, and how the file was sent. */
const messagesOf = ({ bot }: SurfaceFixture) =>
  bot.sentMessages.map(({ text, file }) => file ? `${file.as} ${text}` : text);
const refsOf = ({ bot }: SurfaceFixture) =>
  bot.sentMessages.map(({ message_id }) => String(message_id));
const isSend = ({ method }: { method: string }) => /^send(Photo|Document)$/.test(method);
/** The text of an item with so many files. */
const head = (count: number) =>
  `❓ ada asks:\nReady?\n\n📎 ${count} attached: mesh inbox show inb-000000000001`;

Deno.test("files follow the text: pictures by their content as photos, all else as documents", async () => {
  await using r = await surfaceFixture();
  const { attachments } = r.mesh;
  r.mesh.item({
    attachments: [
      attachments.add("shot.txt", PNG, "text/plain"),
      attachments.add("plan.png", TEXT, "image/png"),
    ],
  });
  await r.settle();
  assert.deepEqual(messagesOf(r), [head(2), "photo 📎 ada: shot.txt", "document 📎 ada: plan.png"]);
  assert.deepEqual(r.bot.sentMessages.slice(1).map(({ file }) => file), [
    { as: "photo", filename: "shot.txt", bytes: PNG },
    { as: "document", filename: "plan.png", bytes: TEXT },
  ]);
  const surface_refs = refsOf(r);
  assert.deepEqual(r.mesh.receipts, [{
    type: "delivery_ack",
    delivery_id: "qd-000000000001",
    status: "pushed",
    surface_ref: surface_refs[0],
    surface_refs,
  }]);
});

Deno.test("each kind of picture is recognized by its first bytes, and nothing else is", async () => {
  await using r = await surfaceFixture();
  const latin = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
  const beginnings = [
    "\xff\xd8\xff\xe0",
    "GIF87a",
    "GIF89a",
    "RIFF\x00%A\xffWEBPVP8 ",
    "GIF90a",
    "RIFF\x00\x00\x00\x00WAVE",
    "\x89PNG\n",
    " GIF89a",
  ];
  const attachments = beginnings.map((text) => r.mesh.attachments.add("a", latin(text)));
  r.mesh.item({ attachments });
  for (let file = 0; file < attachments.length; file++) await r.settle();
  assert.deepEqual(r.bot.sentMessages.slice(1).map(({ file }) => file?.as), [
    ...Array(4).fill("photo"),
    ...Array(4).fill("document"),
  ]);
});

Deno.test("a reply to a picture answers its item, also after a restart", async () => {
  await using r = await surfaceFixture();
  r.mesh.item({ attachments: [r.mesh.attachments.add("shot.png", PNG)] });
  await r.settle();
  const ref = r.bot.sentMessages[1]?.message_id ?? 0;
  await r.restart();
  r.bot.reply(ref, "Looks good");
  await r.settle();
  assert.partialDeepStrictEqual(r.mesh.replies, [
    { item_id: "inb-000000000001", surface_ref: String(ref), text: "Looks good" },
  ]);
});

Deno.test("a picture that is too large or that Telegram refuses as a photo is a document", async () => {
  await using r = await surfaceFixture();
  const large = new Uint8Array(10_000_001);
  large.set(PNG);
  r.bot.failNext("sendPhoto", { error_code: 400 });
  const names: [string, Uint8Array<ArrayBuffer>][] = [["wide.png", PNG], ["large.png", large]];
  r.mesh.item({ attachments: names.map(([name, bytes]) => r.mesh.attachments.add(name, bytes)) });
  for (let turn = 0; turn < 10; turn++) await r.settle();
  assert.deepEqual(messagesOf(r).slice(1), [
    "document 📎 ada: wide.png",
    "document 📎 ada: large.png",
  ]);
  assert.equal(r.bot.count("sendPhoto"), 1);
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed", surface_refs: refsOf(r) }]);
});

Deno.test("a file that Telegram refuses or would not take is named in a text, and the rest is sent", async () => {
  await using r = await surfaceFixture();
  const { attachments } = r.mesh;
  const huge = { ...attachments.add("huge.iso", TEXT), size: 50_000_001 };
  r.bot.failNext("sendDocument", { error_code: 400 });
  r.mesh.item({
    attachments: [attachments.add("odd.txt", TEXT), huge, attachments.add("plan.txt", TEXT)],
  });
  await r.settle();
  const show = "mesh inbox show inb-000000000001";
  assert.deepEqual(messagesOf(r), [
    head(3),
    `📎 ada: odd.txt\nThis file was not sent: Telegram rejects it: As a test wants it\n${show}`,
    "📎 ada: huge.iso\nThis file was not sent: it has 50000001 bytes, and Telegram takes at most " +
    `50000000\n${show}`,
    "document 📎 ada: plan.txt",
  ]);
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed", surface_refs: refsOf(r) }]);
});

Deno.test("a file that the daemon no longer has is named in a text", async () => {
  await using r = await surfaceFixture();
  const gone = r.mesh.attachments.add("plan.txt", TEXT);
  r.mesh.attachments.bytes.clear();
  r.mesh.item({ attachments: [gone] });
  await r.settle();
  assert.match(
    messagesOf(r)[1] ?? "",
    /^📎 ada: plan.txt\nThis file was not sent: .*has expired\n/,
  );
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed" }]);
});

for (const outcome of ["lost", "done but lost"] as const) {
  Deno.test(`a file whose answer was lost is not sent again; a notice names it (${outcome})`, async () => {
    await using r = await surfaceFixture();
    r.bot.failNext("sendPhoto", outcome);
    const item = r.mesh.item({ attachments: [r.mesh.attachments.add("shot.png", PNG)] });
    await r.advance(2_000);
    assert.equal(r.bot.calls.filter(isSend).length, 1);
    assert.match(
      r.bot.sentMessages.at(-1)?.text ?? "",
      /^📎 ada: shot.png\nI do not know whether this file arrived.*\/show inb-000000000001$/,
    );
    r.mesh.sendItem(item);
    await r.advance(60_000);
    assert.equal(r.bot.calls.filter(isSend).length, 1);
    const known = r.bot.sentMessages.filter(({ file }) => !file);
    const surface_refs = known.map(({ message_id }) => String(message_id));
    assert.partialDeepStrictEqual(r.mesh.receipts[0], { status: "pushed", surface_refs });
  });
}

Deno.test("each of many files whose answers are lost is named once, and the item is pushed", async () => {
  await using r = await surfaceFixture();
  r.bot.failNext("sendDocument", ...Array(6).fill("lost"));
  const attachments = Array.from(
    { length: 7 },
    (_, index) => r.mesh.attachments.add(`${index}.txt`, TEXT),
  );
  r.mesh.item({ attachments });
  await r.advance(60_000);
  assert.deepEqual(messagesOf(r).slice(1).map((text) => text.split("\n")[0]), [
    ...Array.from({ length: 6 }, (_, index) => `📎 ada: ${index}.txt`),
    "document 📎 ada: 6.txt",
  ]);
  assert.partialDeepStrictEqual(r.mesh.receipts.at(-1), { status: "pushed" });
});

Deno.test("a file that definitely was not sent is sent once Telegram takes it", async () => {
  await using r = await surfaceFixture();
  const limited = { error_code: 429, parameters: { retry_after: 5 } };
  r.bot.failNext("sendPhoto", "unreached", limited, "ok");
  r.mesh.item({ attachments: [r.mesh.attachments.add("shot.png", PNG)] });
  await r.advance(10_000);
  assert.deepEqual(messagesOf(r), [head(1), "photo 📎 ada: shot.png"]);
});

Deno.test("while the daemon is down, the rest of an item waits for its file", async () => {
  await using r = await surfaceFixture();
  const file = r.mesh.attachments.add("plan.txt", TEXT);
  r.bot.failNext("sendMessage", { error_code: 429, parameters: { retry_after: 5 } });
  r.mesh.item({ attachments: [file] });
  r.mesh.up = false;
  r.mesh.close(1006);
  await r.advance(40_000);
  assert.deepEqual(messagesOf(r), [head(1)]);
  r.mesh.up = true;
  await r.advance(60_000);
  assert.deepEqual(messagesOf(r), [head(1), "document 📎 ada: plan.txt"]);
  assert.partialDeepStrictEqual(r.mesh.receipts.at(-1), {
    status: "pushed",
    surface_refs: refsOf(r),
  });
});

Deno.test("when Telegram refuses everything after the text, the failed push lists the text", async () => {
  await using r = await surfaceFixture();
  r.bot.failNext("sendDocument", { error_code: 403 });
  r.mesh.item({ attachments: [r.mesh.attachments.add("plan.txt", TEXT)] });
  await r.settle();
  assert.partialDeepStrictEqual(r.mesh.receipts, [
    { status: "failed", error_class: "forbidden", surface_refs: refsOf(r) },
  ]);
});

Deno.test("an item that was interrupted before its file is shown again, and says so", async () => {
  await using r = await surfaceFixture();
  r.bot.failNext("sendDocument", { error_code: 429, parameters: { retry_after: 20 } });
  const item = r.mesh.item({ attachments: [r.mesh.attachments.add("plan.txt", TEXT)] });
  await r.settle();
  const surface_refs = refsOf(r);
  await r.restart();
  const interrupted = { status: "failed", error_class: "interrupted", surface_refs };
  assert.partialDeepStrictEqual(r.mesh.receipts[0], interrupted);
  const push = { surface: "telegram", ...interrupted };
  r.mesh.sendItem({ ...item, item_id: "inb-00000000000f", pushes: [push] });
  await r.settle();
  assert.equal(messagesOf(r).at(-1), "document 📎 ada (again): plan.txt");
});

Deno.test("an upload that does not end is aborted at the stop signal, and reported as unclear", async () => {
  const r = await surfaceFixture();
  r.bot.failNext("sendDocument", { error_code: 429, parameters: { retry_after: 5 } });
  r.mesh.item({ attachments: [r.mesh.attachments.add("plan.txt", TEXT)] });
  await r.settle();
  r.bot.holdSends();
  await r.advance(5_000);
  assert.equal(r.bot.count("sendDocument"), 2);
  const ending = r[Symbol.asyncDispose]();
  await r.advance(3_000);
  await ending;
  assert.partialDeepStrictEqual(r.mesh.receipts.at(-1), {
    status: "failed",
    error_class: "unclear",
    surface_refs: refsOf(r),
  });
});

Deno.test("names of files are data: cleaned, and always after the sender's name", async () => {
  await using r = await surfaceFixture();
  const name = "a\u202egnp.exe\r\n❓ sam asks";
  const attachments = [r.mesh.attachments.add(name, TEXT)];
  r.mesh.item({ attachments, from: "eve" });
  await r.settle();
  const [, message] = r.bot.sentMessages;
  assert.match(message?.text ?? "", /^📎 eve: agnp\.exe ?❓ sam asks$/);
  assert.equal(message?.file?.filename, "agnp.exe ❓ sam asks");
});

Deno.test("/show sends the files again, and a reply to one finds the item", async () => {
  await using r = await surfaceFixture();
  r.mesh.item({ attachments: [r.mesh.attachments.add("shot.png", PNG)] });
  await r.settle();
  r.bot.failNext("sendPhoto", "ok", "lost");
  r.bot.write("/show inb-000000000001");
  await r.settle();
  assert.deepEqual(messagesOf(r).slice(2), [head(1), "photo 📎 ada: shot.png"]);
  r.bot.reply(r.bot.sentMessages[3]?.message_id ?? 0, "Yes");
  await r.settle();
  assert.partialDeepStrictEqual(r.mesh.replies, [{ item_id: "inb-000000000001", text: "Yes" }]);
  r.bot.write("/show inb-000000000001");
  await r.settle();
  assert.match(messagesOf(r).at(-1) ?? "", /I do not know whether this file arrived/);
});
