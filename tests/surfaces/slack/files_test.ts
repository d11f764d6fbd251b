/** Files of items in Slack, and files of the person for the daemon. */

import assert from "node:assert/strict";
import { POST_MS, slackFixture } from "../../support/slack/surface_fixture.ts";

const BYTES = new TextEncoder().encode("hello");

type Fixture = Awaited<ReturnType<typeof slackFixture>>;

/** An item with one file. */
async function showFile(r: Fixture): Promise<void> {
  r.mesh.item({ attachments: [r.mesh.attachments.add("<!here> a.txt", BYTES)] });
  await r.advance(60_000);
}

Deno.test("a file of an item follows its text in the thread, with a caption of literal text", async () => {
  await using r = await slackFixture();
  await showFile(r);
  const [text, file] = r.slack.sent;
  assert.equal(r.slack.shown[1], "📎 ada: <!here> a.txt");
  assert.equal(file?.thread_ts, text?.ts);
  assert.deepEqual([...r.slack.files.uploaded.values()], [BYTES]);
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed" }]);
});

// deno-fmt-ignore
const REFUSED_UPLOADS = [
  ["the upload is refused",       (r: Fixture) => r.slack.files.outcomes.push(413),             /not sent: .*HTTP 413/  ],
  ["Slack takes no such file",    (r: Fixture) => r.slack.failNext("files.getUploadURLExternal", { error: "file_type_not_allowed" }), /file_type_not_allowed/],
] as const;
for (const [name, arrange, expected] of REFUSED_UPLOADS) {
  Deno.test(`a text names the file when ${name}`, async () => {
    await using r = await slackFixture();
    arrange(r);
    await showFile(r);
    assert.match(r.slack.shown[1] ?? "", expected);
    assert.equal(r.slack.sent[1]?.thread_ts, r.slack.sent[0]?.ts);
    assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed" }]);
  });
}

for (const outcome of ["lost", 503] as const) {
  Deno.test(`an upload that nobody sees yet is repeated after ${outcome}`, async () => {
    await using r = await slackFixture();
    r.slack.files.outcomes.push(outcome);
    await showFile(r);
    assert.equal(r.slack.count("files.completeUploadExternal"), 1);
    assert.equal(r.slack.shown[1], "📎 ada: <!here> a.txt");
  });
}

Deno.test("a shared file whose answer was lost is found, and is not shared again", async () => {
  await using r = await slackFixture();
  r.slack.failNext("files.completeUploadExternal", "done but lost");
  await showFile(r);
  assert.equal(r.slack.count("files.completeUploadExternal"), 1);
  assert.equal(r.slack.sent.length, 2);
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed" }]);
});

Deno.test("a shared file that is not found is not shared again; a notice names it", async () => {
  await using r = await slackFixture();
  r.slack.failNext("files.completeUploadExternal", "lost");
  await showFile(r);
  assert.equal(r.slack.count("files.completeUploadExternal"), 1);
  assert.match(r.slack.shown[1] ?? "", /I do not know whether this file arrived/);
});

/** A reply with a file of the person. */
async function replyWithFile(
  r: Fixture,
  file: Record<string, unknown>,
  text = "See",
): Promise<void> {
  r.mesh.item();
  await r.advance(POST_MS);
  r.slack.reply(r.slack.sent[0]?.ts ?? "", text, { subtype: "file_share", files: [file] });
  await r.advance(60_000);
}

Deno.test("a file of a reply is attached to it", async () => {
  await using r = await slackFixture();
  await replyWithFile(r, r.slack.files.add("note.txt", BYTES));
  const [upload] = r.mesh.attachments.uploads;
  assert.equal(upload?.filename, "note.txt");
  assert.deepEqual(r.mesh.attachments.bytes.get(upload?.id ?? ""), BYTES);
  assert.partialDeepStrictEqual(r.mesh.replies, [{ text: "See", attachments: [upload?.id] }]);
});

Deno.test("a download that is cut short is repeated", async () => {
  await using r = await slackFixture();
  r.slack.files.outcomes.push("short");
  await replyWithFile(r, r.slack.files.add("note.txt", BYTES), "");
  assert.partialDeepStrictEqual(r.mesh.replies, [{ text: "" }]);
  assert.equal(r.mesh.attachments.uploads.length, 1);
});

// deno-fmt-ignore
const REFUSED_DOWNLOADS = [
  ["an address that is not Slack's", { url_private_download: "http://evil.test/x" },   /not one of Slack's/],
  ["an address that looks like it",  { url_private_download: "http://slack.test.evil/x" }, /not one of Slack's/],
  ["a file that is gone",            { url_private_download: "http://slack.test/download/F99" }, /HTTP 404/],
] as const;
for (const [name, more, expected] of REFUSED_DOWNLOADS) {
  Deno.test(`${name} is not downloaded, and nothing of the reply is forwarded`, async () => {
    await using r = await slackFixture();
    await replyWithFile(r, { ...r.slack.files.add("note.txt", BYTES), ...more });
    assert.match(r.slack.shown.at(-1) ?? "", expected);
    assert.deepEqual(r.mesh.replies, []);
  });
}

Deno.test("without the right to read files, a notice names the missing right", async () => {
  await using r = await slackFixture();
  r.slack.files.outcomes.push("sign in");
  await replyWithFile(r, r.slack.files.add("note.txt", BYTES));
  assert.match(r.slack.shown.at(-1) ?? "", /the app needs the scope files:read/);
});

Deno.test("a file that is too large is refused before it is downloaded", async () => {
  await using r = await slackFixture();
  await replyWithFile(r, { ...r.slack.files.add("note.txt", BYTES), size: 100_000_001 });
  assert.match(r.slack.shown.at(-1) ?? "", /Slack gives me files of up to 100 MB/);
  assert.deepEqual(r.mesh.replies, []);
});

Deno.test("a reply with a file that an earlier run forwarded is not forwarded again", async () => {
  await using r = await slackFixture();
  await replyWithFile(r, r.slack.files.add("note.txt", BYTES));
  await r.end();
  r.file.text = r.file.text?.replace(/"handled":\[[^\]]*\]/, '"handled":[]'); // As after a crash.
  const [envelope] = r.slack.connections.envelopes;
  assert.ok(envelope);
  await r.start();
  r.slack.connections.repeat(envelope);
  await r.advance(60_000);
  assert.equal(r.mesh.replies.length, 1);
  assert.equal(r.mesh.attachments.deleted.length, 1, "the second upload is of no use");
});
