/** Attachments: stored completely or not at all, served as downloads, deleted when they expire. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { deleteAttachment } from "protocol/messages/attachments.ts";
import { filesIn } from "../../../../../daemon/host/files.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { countingIds } from "../../../../support/ids.ts";
import {
  filesBeside,
  formLines,
  inPieces,
  postRawForm,
  tempFolder,
  upload,
  uploadWorld,
} from "../../../../support/daemon/uploads.ts";
import { addPeer, get, notify, post } from "../../../../support/daemon/peer_clients.ts";

const DAY_SECONDS = 86_400;

const utf8 = new TextEncoder();

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** Contents with line ends, hyphens and boundaries that a parser of forms could misread. */
function awkwardBytes(): Uint8Array<ArrayBuffer> {
  const lines = utf8.encode("\r\n--b\r\r\n\r\n--\r\n--\n--b--\r\n\0");
  const bytes = new Uint8Array(100_003);
  for (let at = 0; at < bytes.length; at++) bytes[at] = lines[at % lines.length] ?? 0;
  return bytes;
}

Deno.test("an uploaded file is described and served unchanged [4.attachments.upload] [4.attachments.download] [c2.attachment.download]", async () => {
  await using w = uploadWorld();
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

Deno.test("files and their directory are readable by their user only", async () => {
  await using w = uploadWorld();
  const { path } = await upload(w, "x");
  assert.equal(Deno.statSync(path).mode! & 0o777, 0o600);
  assert.equal(Deno.statSync(join(path, "..")).mode! & 0o777, 0o700);
});

Deno.test("an empty file is stored", async () => {
  await using w = uploadWorld();
  const { status, id, size, sha256: sum } = await upload(w, "");
  assert.deepEqual([status, size, sum], [200, 0, await sha256(new Uint8Array())]);
  assert.equal(await (await w.fetch(`/attachments/${id}`)).text(), "");
});

for (const size of [1, 2, 3, 7, 64, 4096, 1_000_000]) {
  Deno.test(`a form in chunks of ${size} bytes is read the same`, async () => {
    await using w = uploadWorld();
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
  ["has no such field",       formLines('form-data; name="files"; filename="a"'),      422, "invalid_request", /file: The form has no field `file`/],
  ["has text in the field",   formLines('form-data; name="file"'),                     422, "invalid_request", /file: The field `file` has no filename/],
  ["has two files",           [...formLines(NAMED).slice(0, -2), ...formLines(NAMED)],  422, "invalid_request", /file: Send one file per request/],
  ["is empty",                [""],                                                   400, "bad_multipart",   /ends early/],
  ["ends in the headers",     ["--b", `Content-Disposition: ${NAMED}`],               400, "bad_multipart",   /ends early/],
  ["ends in the file",        formLines(NAMED).slice(0, -2),                           400, "bad_multipart",   /ends early/],
  ["has another boundary",    ["--c", `Content-Disposition: ${NAMED}`, "", "x", "--c--"], 400, "bad_multipart", /ends early/],
  ["has a malformed header", formLines(NAMED, "x", ["nonsense"]),                   400, "bad_multipart",   /a malformed header/],
  ["has a part without a name", formLines('form-data; filename="a"'),                  400, "bad_multipart",   /without a name/],
  ["has headers that are too long", formLines(NAMED, "x", [`a: ${"x".repeat(9000)}`]),       400, "bad_multipart",   /headers of more than 8192 bytes/],
  ["has too many parts", Array.from({ length: 40 }, () => formLines('form-data; name="n"').slice(0, -2)).flat(), 400, "bad_multipart", /more than 32 parts/],
];
for (const [why, lines, status, code, pattern] of MALFORMED_FORMS) {
  Deno.test(`a form that ${why} is refused, and leaves no file`, async () => {
    await using w = uploadWorld();
    const kept = await upload(w, "kept");
    const answer = await postRawForm(w, lines);
    const { error, detail } = await answer.json();
    assert.deepEqual([answer.status, error], [status, code]);
    assert.match(detail, pattern);
    assert.equal(filesBeside(kept.path).length, 1);
    assert.deepEqual(w.logged, []);
  });
}

Deno.test("a body of another media type is refused, with the right type", async () => {
  await using w = uploadWorld();
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

Deno.test("an aborted upload leaves no file, and logs no error", async () => {
  await using w = uploadWorld();
  const kept = await upload(w, "kept");
  const head = utf8.encode(formLines(NAMED).slice(0, 3).join("\r\n") + "\r\n");
  async function* brokenBody() {
    yield head;
    yield utf8.encode("the beginning");
    throw await Promise.resolve(new Error("The network is gone"));
  }
  const answer = await w.fetch("/attachments", {
    method: "POST",
    headers: { "content-type": "multipart/form-data; boundary=b" },
    body: ReadableStream.from(brokenBody()),
  });
  assert.equal((await answer.json()).error, "bad_multipart");
  assert.equal(filesBeside(kept.path).length, 1);
  assert.deepEqual(w.logged, []);
});

Deno.test("a file can be deleted once", async () => {
  await using w = uploadWorld();
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

Deno.test("an expired file is gone, even before the next tick", async () => {
  await using w = uploadWorld({ settings: { "daemon.attachments.ttl_days": "2" } });
  const { id, path } = await upload(w, "x");
  await w.tick(2 * DAY_SECONDS - 1);
  assert.equal((await w.fetch(`/attachments/${id}`)).status, 200);
  const later = await upload(w, "y");
  await w.clock.advance(1000);
  assert.equal((await get(w, `/attachments/${id}`)).error, "unknown_attachment");
  await w.tick();
  assert.deepEqual(filesBeside(path), [`${later.id}.txt`]);
});

Deno.test("many expired files are deleted a few at a time", async () => {
  await using w = uploadWorld({ settings: { "daemon.attachments.ttl_days": "1" } });
  const { path } = await upload(w, "0");
  for (let count = 1; count < 60; count++) await upload(w, String(count));
  await w.tick(DAY_SECONDS);
  assert.equal(filesBeside(path).length, 10);
  await w.tick();
  assert.equal(filesBeside(path).length, 0);
});

Deno.test("a file that was removed or changed on disk is attachment_lost", async () => {
  await using w = uploadWorld();
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

Deno.test("files survive a restart; remains of a crash are deleted", async () => {
  using at = tempFolder();
  const { directory } = at;
  const kept = { clock: new FakeClock(), ids: countingIds() };
  const files = filesIn(join(directory, "attachments"));
  const options = { ...kept, files, db_path: join(directory, "mesh.db") };
  let id = "", path = "";
  {
    await using w = uploadWorld(options);
    ({ id, path } = await upload(w, "kept"));
  }
  const half = `att-${"a".repeat(32)}.png.part`, unrecorded = `att-${"b".repeat(32)}`;
  for (const name of [half, unrecorded, "notes.txt"]) {
    Deno.writeTextFileSync(files.pathOf(name), "");
  }
  {
    await using w = uploadWorld(options);
    assert.deepEqual(filesBeside(path), [`${id}.txt`, "notes.txt"]);
    assert.equal(await (await w.fetch(`/attachments/${id}`)).text(), "kept");
  }
});

Deno.test("a file whose row cannot be stored is deleted", async () => {
  await using w = uploadWorld();
  const kept = await upload(w, "kept");
  const refuse =
    "create trigger refuse before insert on attachments begin select raise(fail, 'no'); end";
  w.daemon.ctx.db.transactNow((tx) => void tx.run(refuse));
  assert.equal((await upload(w, "lost")).status, 500);
  assert.deepEqual(filesBeside(kept.path), [`${kept.id}.txt`]);
});

Deno.test("with auth_token set, attachment routes need the token", async () => {
  await using w = uploadWorld({ settings: { "daemon.auth_token": "0123456789abcdef" } });
  assert.equal((await upload(w, "x")).error, "unauthorized");
  assert.equal((await get(w, "/attachments/att-1")).error, "unauthorized");
});

Deno.test("a page of another origin cannot upload", async () => {
  await using w = uploadWorld();
  const answer = await postRawForm(w, formLines(NAMED), { origin: "http://evil.example" });
  assert.equal((await answer.json()).error, "forbidden_origin");
});

Deno.test("a file that a queued message carries is not deleted, and the refusal names the message", async () => {
  await using w = uploadWorld();
  await addPeer(w, "web");
  const { id, path } = await upload(w, "plan");
  const { delivery_id } = await notify(w, "ada", "web", "Read it", { attachments: [id] });
  const remove = async () => {
    const response = await w.fetch(`/attachments/${id}`, { method: "DELETE" });
    return { status: response.status, ...await response.json() };
  };
  const refused = await remove();
  assert.deepEqual(
    [refused.status, refused.error, refused.messages, refused.message],
    [409, "attachment_in_use", 1, delivery_id],
  );
  assert.equal(await Deno.readTextFile(path), "plan");
  const { deliveries, drain_id } = await get(w, "/deliveries/pending?peer_id=web");
  assert.equal(deliveries[0].attachments[0].path, path);
  assert.equal((await remove()).status, 409, "it may be handed over again");
  await post(w, "/deliveries/receipts", { drain_id, status: "seen" });
  assert.equal((await remove()).status, 200);
});

Deno.test("a file of an open ask stays until the answer, beyond its expiry, and is gone after it", async () => {
  await using w = uploadWorld({ settings: { "human.name": "sam" } });
  const { id } = await upload(w, "plan");
  const other = await upload(w, "other");
  const body = { from_peer: "ada", to_peer: "sam", text: "Read it", attachments: [id] };
  const { correlation_id } = await post(w, "/ask", body);
  const status = async (of: string) => {
    const response = await w.fetch(`/attachments/${of}`);
    await response.body?.cancel();
    return response.status;
  };
  assert.equal((await w.fetch(`/attachments/${id}`, { method: "DELETE" })).status, 409);
  await w.tick(7 * DAY_SECONDS - 30);
  await w.tick(31);
  assert.deepEqual([await status(id), await status(other.id)], [200, 404]);
  await w.tick(3600 - 30);
  await w.tick(60);
  assert.equal(await status(id), 200);
  await post(w, "/ack", { correlation_id, message: "Read" });
  await w.tick(2 * 3600);
  assert.equal(await status(id), 404);
});

Deno.test("a file that an expired or refused message carried can be deleted", async () => {
  await using w = uploadWorld();
  await addPeer(w, "web");
  const { id } = await upload(w, "plan");
  await notify(w, "ada", "web", "Read it", { attachments: [id] });
  await post(w, "/peers/web/offline", { terminal: true });
  assert.equal((await w.fetch(`/attachments/${id}`, { method: "DELETE" })).status, 200);
});
