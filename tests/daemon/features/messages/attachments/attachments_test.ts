/** Files: taken in whole or not at all, handed out harmless, gone when their time is over. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { deleteAttachment } from "../../../../../daemon/features/messages/attachments/contract.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { world as startWorld, type WorldOptions } from "../../../../support/world.ts";
import {
  filesBeside,
  formLines,
  inPieces,
  postRawForm,
  upload,
} from "../../../../support/daemon/uploads.ts";
import { get } from "../../../../support/daemon/peer_clients.ts";

/** Uploads write real files, so each turn of the clock takes real time. */
const world = (options: WorldOptions = {}) => startWorld({ clock: new FakeClock(), ...options });

const utf8 = new TextEncoder();

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** A file with everything in it that a reader of forms could stumble over. */
function awkwardBytes(): Uint8Array<ArrayBuffer> {
  const lines = utf8.encode("\r\n--b\r\r\n\r\n--\r\n--\n--b--\r\n\0");
  const bytes = new Uint8Array(100_003);
  for (let at = 0; at < bytes.length; at++) bytes[at] = lines[at % lines.length] ?? 0;
  return bytes;
}

Deno.test("a file is taken, described and handed out as it was [4.attachments.upload] [4.attachments.download] [c2.attachment.download]", async () => {
  await using w = world();
  const content = utf8.encode("Grüße\n");
  const { status, ...file } = await upload(w, content, { name: "notes.txt", type: "text/plain" });
  assert.equal(status, 200);
  assert.match(file.id, /^att-[0-9a-f]{32}$/);
  assert.deepEqual(file, {
    id: file.id,
    filename: "notes.txt",
    size: content.length,
    content_type: "text/plain",
    sha256: await sha256(content),
    path: file.path,
    created_at: "2030-01-01T00:00:00.000Z",
    expires_at: "2030-01-08T00:00:00.000Z",
  });
  assert.deepEqual(Deno.readFileSync(file.path), content);
  const answer = await w.fetch(`/attachments/${file.id}`);
  assert.deepEqual(await answer.bytes(), content);
  assert.deepEqual([...answer.headers].sort(), [
    ["cache-control", "no-store"],
    ["content-disposition", `attachment; filename="notes.txt"; filename*=UTF-8''notes.txt`],
    ["content-length", String(content.length)],
    ["content-security-policy", "default-src 'none'; sandbox"],
    ["content-type", "text/plain"],
    ["cross-origin-resource-policy", "same-origin"],
    ["repr-digest", `sha-256=:${Uint8Array.fromHex(file.sha256).toBase64()}:`],
    ["x-content-type-options", "nosniff"],
  ]);
  const head = await w.fetch(`/attachments/${file.id}`, { method: "HEAD" });
  assert.deepEqual([...head.headers].sort(), [...answer.headers].sort());
  assert.equal(await head.text(), "");
});

Deno.test("files and their directory are for nobody else's eyes", async () => {
  await using w = world();
  const { path } = await upload(w, "x");
  assert.equal(Deno.statSync(path).mode! & 0o777, 0o600);
  assert.equal(Deno.statSync(join(path, "..")).mode! & 0o777, 0o700);
});

Deno.test("an empty file is a file", async () => {
  await using w = world();
  const { status, id, size, sha256: sum } = await upload(w, "");
  assert.deepEqual([status, size, sum], [200, 0, await sha256(new Uint8Array())]);
  assert.equal(await (await w.fetch(`/attachments/${id}`)).text(), "");
});

for (const size of [1, 2, 3, 7, 64, 4096, 1_000_000]) {
  Deno.test(`a form that comes in pieces of ${size} bytes is the same form`, async () => {
    await using w = world();
    const content = awkwardBytes().slice(0, size < 7 ? 400 : undefined);
    const boundary = "b-0123456789";
    const head =
      `preamble\r\n--${boundary}\r\ncontent-disposition: form-data; name="note"\r\n\r\n` +
      `a note\r\n--${boundary} \r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`;
    const whole = new Blob([head, content, `\r\n--${boundary}--\r\nepilogue`]);
    const response = await w.fetch("/attachments", {
      method: "POST",
      headers: { "content-type": `multipart/form-data; charset=utf-8; boundary="${boundary}"` },
      body: inPieces(await whole.bytes(), size),
    });
    const file = await response.json();
    assert.equal(file.sha256, await sha256(content), JSON.stringify(file));
    assert.deepEqual(Deno.readFileSync(file.path), content);
  });
}

const NAMED = 'form-data; name="file"; filename="a.txt"';

// deno-fmt-ignore
const MALFORMED_FORMS: readonly [why: string, lines: readonly string[], status: number, code: string, pattern: RegExp][] = [
  ["has no such field",       formLines('form-data; name="files"; filename="a"'),      422, "invalid_request", /file: There is no such field/],
  ["has text in the field",   formLines('form-data; name="file"'),                     422, "invalid_request", /file: No file/],
  ["has two files",           [...formLines(NAMED).slice(0, -2), ...formLines(NAMED)],  422, "invalid_request", /file: One file at a time/],
  ["is empty",                [""],                                                   400, "bad_multipart",   /cut short/],
  ["ends in the headers",     ["--b", `Content-Disposition: ${NAMED}`],               400, "bad_multipart",   /cut short/],
  ["ends in the file",        formLines(NAMED).slice(0, -2),                           400, "bad_multipart",   /cut short/],
  ["has another boundary",    ["--c", `Content-Disposition: ${NAMED}`, "", "x", "--c--"], 400, "bad_multipart", /cut short/],
  ["has a header that is none", formLines(NAMED, "x", ["nonsense"]),                   400, "bad_multipart",   /a header that is none/],
  ["has a part without a name", formLines('form-data; filename="a"'),                  400, "bad_multipart",   /without a name/],
  ["has headers without end", formLines(NAMED, "x", [`a: ${"x".repeat(9000)}`]),       400, "bad_multipart",   /headers without an end/],
  ["has parts without number", Array.from({ length: 40 }, () => formLines('form-data; name="n"').slice(0, -2)).flat(), 400, "bad_multipart", /more than 32 parts/],
];

for (const [why, lines, status, code, pattern] of MALFORMED_FORMS) {
  Deno.test(`a form that ${why} is refused, and leaves nothing`, async () => {
    await using w = world();
    const kept = await upload(w, "kept");
    const answer = await postRawForm(w, lines);
    const { error, detail } = await answer.json();
    assert.deepEqual([answer.status, error], [status, code]);
    assert.match(detail, pattern);
    assert.equal(filesBeside(kept.path).length, 1);
    assert.deepEqual(w.logged, []);
  });
}

Deno.test("a body of another type is refused, and says which type is right", async () => {
  await using w = world();
  for (
    const type of ["application/json", "multipart/mixed; boundary=b", "multipart/form-data", ""]
  ) {
    const answer = await postRawForm(w, formLines(NAMED), { "content-type": type });
    const { error, media } = await answer.json();
    assert.deepEqual([answer.status, error, media], [
      415,
      "unsupported_media",
      "multipart/form-data",
    ]);
  }
});

Deno.test("a caller that goes away in the middle leaves nothing, and is no fault of ours", async () => {
  await using w = world();
  const kept = await upload(w, "kept");
  const head = utf8.encode(formLines(NAMED).slice(0, 3).join("\r\n") + "\r\n");
  async function* broken() {
    yield head;
    yield utf8.encode("the beginning");
    throw await Promise.resolve(new Error("The network is gone"));
  }
  const answer = await w.fetch("/attachments", {
    method: "POST",
    headers: { "content-type": "multipart/form-data; boundary=b" },
    body: ReadableStream.from(broken()),
  });
  assert.equal((await answer.json()).error, "bad_multipart");
  assert.equal(filesBeside(kept.path).length, 1);
  assert.deepEqual(w.logged, []);
});

Deno.test("a file is as large as the limit at most, however it is announced [c2.attachment.limits]", async () => {
  await using w = world({ settings: { "daemon.attachments.file_bytes_max": "1000" } });
  const { path, status } = await upload(w, "x".repeat(1000));
  assert.equal(status, 200);
  const refused = await upload(w, "x".repeat(1001));
  assert.deepEqual([refused.status, refused.error, refused.bytes_max], [
    413,
    "attachment_too_large",
    1000,
  ]);
  let pulled = 0;
  const head = formLines(NAMED).slice(0, 3).join("\r\n") + "\r\n";
  const endless = new ReadableStream<Uint8Array>({
    pull: (to) => to.enqueue(utf8.encode(pulled++ === 0 ? head : "x".repeat(8192))),
  });
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  const streamed = await w.fetch("/attachments", { method: "POST", headers, body: endless });
  assert.equal((await streamed.json()).error, "attachment_too_large");
  assert.ok(pulled < 100, `${pulled} chunks were read`);
  assert.equal(filesBeside(path).length, 1);
});

Deno.test("what is too large by its own word is not read", async () => {
  await using w = world();
  let read = false;
  const body = new ReadableStream<Uint8Array>({ pull: () => void (read = true) }, {
    highWaterMark: 0,
  });
  const headers = {
    "content-type": "multipart/form-data; boundary=b",
    "content-length": String(30_000_000),
  };
  const answer = await w.fetch("/attachments", { method: "POST", headers, body });
  assert.deepEqual([answer.status, (await answer.json()).bytes_max], [413, 26_214_400]);
  assert.equal(read, false);
});

Deno.test("all files together have a limit, and deleting one makes room", async () => {
  await using w = world({ settings: { "daemon.attachments.total_bytes_max": "20000" } });
  const first = await upload(w, "x".repeat(9000)), second = await upload(w, "x".repeat(9000));
  const refused = await upload(w, "x".repeat(9000));
  assert.deepEqual([refused.status, refused.error, refused.bytes_max], [
    507,
    "attachments_full",
    20_000,
  ]);
  assert.equal(filesBeside(second.path).length, 2);
  await w.call(deleteAttachment, { params: { id: first.id } });
  assert.equal((await upload(w, "x".repeat(9000))).status, 200);
});

Deno.test("a small whole is counted in bytes, and an empty file is not for nothing", async () => {
  await using w = world({ settings: { "daemon.attachments.total_bytes_max": "2500" } });
  for (const size of [1000, 1000, 499, 0]) {
    assert.equal((await upload(w, "x".repeat(size))).status, 200, String(size));
  }
  assert.equal((await upload(w, "")).error, "attachments_full");
});

/** A form that stands still in the middle of its file, until a test lets it go on. */
function slowUpload(size: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  async function* body() {
    yield utf8.encode(formLines(NAMED).slice(0, 3).join("\r\n") + "\r\n" + "x".repeat(size));
    await promise;
    yield utf8.encode("\r\n--b--\r\n");
  }
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  return {
    init: { method: "POST", headers, body: ReadableStream.from(body()) },
    finish: resolve,
  };
}

Deno.test("uploads that are under way count, and have a limit of their own", async () => {
  await using w = world({ settings: { "daemon.attachments.total_bytes_max": "300000" } });
  const slow = Array.from({ length: 64 }, () => slowUpload(4000));
  const answers = slow.map(({ init }) => w.fetch("/attachments", init));
  await w.clock.settle();
  const refused = await upload(w, "x");
  assert.deepEqual([refused.status, refused.error], [429, "too_many_uploads"]);
  slow[0]!.finish();
  assert.equal((await answers[0]!).status, 200);
  assert.equal((await upload(w, "x".repeat(50_000))).error, "attachments_full");
  for (const { finish } of slow) finish();
  for (const answer of answers) assert.equal((await answer).status, 200);
  assert.equal((await upload(w, "x")).status, 200);
});

Deno.test("an upload that stands still is given up, and its place is free", async () => {
  await using w = world();
  const kept = await upload(w, "kept");
  const { init } = slowUpload(4000);
  const answer = w.fetch("/attachments", init);
  await w.clock.advance(29_000);
  assert.equal(filesBeside(kept.path).length, 2);
  await w.clock.advance(1000);
  const { error, detail } = await (await answer).json();
  assert.equal(error, "bad_multipart");
  assert.match(detail, /stands still/);
  assert.equal(filesBeside(kept.path).length, 1);
  assert.deepEqual(w.logged, []);
});

Deno.test("a daemon that goes down takes no file half", async () => {
  await using w = world();
  const kept = await upload(w, "kept");
  const answer = w.fetch("/attachments", slowUpload(4000).init);
  await w.clock.settle();
  await w.daemon.shutDown();
  assert.equal((await (await answer).json()).error, "shutting_down");
  assert.equal(filesBeside(kept.path).length, 1);
});

Deno.test("with a token, files are for those who have it", async () => {
  await using w = world({ settings: { "daemon.auth_token": "0123456789abcdef" } });
  assert.equal((await upload(w, "x")).error, "unauthorized");
  assert.equal((await get(w, "/attachments/att-1")).error, "unauthorized");
});

Deno.test("a page of elsewhere uploads nothing", async () => {
  await using w = world();
  const answer = await postRawForm(w, formLines(NAMED), { origin: "http://evil.example" });
  assert.equal((await answer.json()).error, "forbidden_origin");
});

Deno.test("a limit may have more digits than the environment is read as a number with", async () => {
  await using w = world({ settings: { "daemon.attachments.total_bytes_max": "5000000000" } });
  assert.equal(w.daemon.config["daemon.attachments.total_bytes_max"], 5_000_000_000);
  const settings = { "daemon.attachments.total_bytes_max": "lots" };
  assert.throws(() => world({ settings }), /total_bytes_max: found "lots".*allowed: bytes, 1 to/s);
});
