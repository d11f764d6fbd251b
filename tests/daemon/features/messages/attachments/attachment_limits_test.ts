/** Limits of attachments: file size, total size, concurrent and stalled uploads. */

import assert from "node:assert/strict";
import { deleteAttachment } from "protocol/messages/attachments.ts";
import { filesBeside, formLines, upload, uploadWorld } from "../../../../support/daemon/uploads.ts";
import { until } from "../../../../support/waiting.ts";

const NAMED = 'form-data; name="file"; filename="a.txt"';
const utf8 = new TextEncoder();

Deno.test("a file over the limit is refused, with or without a Content-Length [c2.attachment.limits]", async () => {
  await using w = uploadWorld({ settings: { "daemon.attachments.file_bytes_max": "1000" } });
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

Deno.test("a body with a Content-Length over the limit is not read", async () => {
  await using w = uploadWorld();
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

Deno.test("the total of all files is limited, and deleting one makes room", async () => {
  await using w = uploadWorld({ settings: { "daemon.attachments.total_bytes_max": "20000" } });
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

Deno.test("a small total is counted in small blocks, and an empty file counts", async () => {
  await using w = uploadWorld({ settings: { "daemon.attachments.total_bytes_max": "2500" } });
  for (const size of [1000, 1000, 499, 0]) {
    assert.equal((await upload(w, "x".repeat(size))).status, 200, String(size));
  }
  assert.equal((await upload(w, "")).error, "attachments_full");
});

/** A form that stalls in the middle of its file, until the test continues it. */
function slowUpload(size: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const arrival = Promise.withResolvers<void>();
  async function* body() {
    yield utf8.encode(formLines(NAMED).slice(0, 3).join("\r\n") + "\r\n" + "x".repeat(size));
    arrival.resolve();
    await promise;
    yield utf8.encode("\r\n--b--\r\n");
  }
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  return {
    init: { method: "POST", headers, body: ReadableStream.from(body()) },
    finish: resolve,
    /** Resolves once the first part was read. */
    arrived: arrival.promise,
  };
}

Deno.test("running uploads count for the total, and their number is limited", async () => {
  await using w = uploadWorld({ settings: { "daemon.attachments.total_bytes_max": "300000" } });
  const slow = Array.from({ length: 64 }, () => slowUpload(4000));
  const answers = slow.map(({ init }) => w.fetch("/attachments", init));
  await Promise.all(slow.map(({ arrived }) => arrived));
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

Deno.test("a stalled upload is aborted, and frees its slot", async () => {
  await using w = uploadWorld();
  const kept = await upload(w, "kept");
  const { init } = slowUpload(4000);
  let answer: Response | undefined;
  const answered = w.fetch("/attachments", init).then((response) => answer = response);
  await until("the upload's file", () => filesBeside(kept.path).length === 2);
  await w.clock.advance(29_000);
  assert.equal(answer, undefined);
  // The 30 s begin when the first bytes are on the disk, which takes real time.
  await until("the end of the upload", async () => {
    await w.clock.advance(1000);
    return answer;
  });
  const { error, detail } = await (await answered).json();
  assert.equal(error, "body_too_slow");
  assert.match(detail, /did not arrive in time/);
  assert.equal(filesBeside(kept.path).length, 1);
  assert.deepEqual(w.logged, []);
});

Deno.test("a shutdown aborts uploads, and leaves no partial file", async () => {
  await using w = uploadWorld();
  const kept = await upload(w, "kept");
  const answer = w.fetch("/attachments", slowUpload(4000).init);
  await w.clock.settle();
  await w.daemon.shutDown();
  assert.equal((await (await answer).json()).error, "shutting_down");
  assert.equal(filesBeside(kept.path).length, 1);
});

Deno.test("a limit may have more digits than a safe integer", async () => {
  await using w = uploadWorld({ settings: { "daemon.attachments.total_bytes_max": "5000000000" } });
  assert.equal(w.daemon.config["daemon.attachments.total_bytes_max"], 5_000_000_000);
  const settings = { "daemon.attachments.total_bytes_max": "lots" };
  assert.throws(
    () => uploadWorld({ settings }),
    /total_bytes_max: found "lots".*allowed: bytes, 1 to/s,
  );
});

Deno.test("an upload that drips ends, although it never stalls, and a slow but steady one does not", async () => {
  for (const [bytes, status] of [[40, 408], [40_000, 200]] as const) {
    await using w = uploadWorld();
    const encoder = new TextEncoder();
    const boundary = "b";
    const head =
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`;
    let sent = 0;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        if (sent++ === 0) return controller.enqueue(encoder.encode(head));
        await w.clock.sleep(20_000);
        if (sent > 5) {
          controller.enqueue(encoder.encode(`\r\n--${boundary}--\r\n`));
          return controller.close();
        }
        controller.enqueue(new Uint8Array(bytes).fill(97));
      },
    });
    const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
    let done = false;
    const sending = w.fetch("/attachments", { method: "POST", body, headers })
      .finally(() => done = true);
    for (let step = 0; step < 40 && !done; step++) {
      await w.clock.advance(5000);
      await new Promise((resolve) => setTimeout(resolve, 5)); // Files take real time.
    }
    assert.equal((await sending).status, status);
  }
});
