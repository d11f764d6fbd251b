import assert from "node:assert/strict";
import { STREAM_WINDOW_BYTES } from "kit/net/tunnel/frames.ts";
import { Credit, ReceiveBuffer, ReceiveWindow } from "kit/net/tunnel/flow_control.ts";

function receiveBuffer() {
  const calls: string[] = [];
  const buffer = new ReceiveBuffer({
    taken: (bytes, credit) => calls.push(`taken ${bytes} ${credit}`),
    dropped: (bytes) => calls.push(`dropped ${bytes}`),
    onCancel: () => calls.push("cancelled"),
  });
  return { buffer, calls };
}

Deno.test("credit is taken in order, up to the available amount", async () => {
  const credit = new Credit(10);
  assert.equal(credit.take(7), 7);
  assert.equal(credit.take(7), 3);
  const [first, second] = [credit.take(4), credit.take(4)];
  assert.equal(credit.restore(6), true);
  assert.deepEqual(await Promise.all([first, second]), [4, 2]);
});

Deno.test("restoring more credit than was taken returns false", () => {
  const credit = new Credit(10);
  credit.take(2);
  assert.equal(credit.restore(2), true);
  assert.equal(credit.restore(1), false);
});

Deno.test("after end, all waits for credit resolve with 0", async () => {
  const credit = new Credit(1);
  credit.take(1);
  const waiting = credit.take(1);
  credit.end();
  assert.deepEqual([await waiting, credit.take(1)], [0, 0]);
});

Deno.test("an abandoned wait for credit takes none", async () => {
  const credit = new Credit(1);
  credit.take(1);
  const [gone, stays] = [{}, {}];
  const waiting = [credit.take(1, gone), credit.take(1, stays)];
  credit.abandon(gone);
  credit.restore(1);
  assert.deepEqual(await Promise.all(waiting), [0, 1]);
});

Deno.test("credit is returned in parts of at least a quarter of the window", () => {
  const window = new ReceiveWindow(100);
  assert.equal(window.receive(100), true);
  assert.deepEqual([window.consume(24), window.consume(1), window.consume(10)], [0, 25, 0]);
  assert.deepEqual([window.receive(25), window.receive(1)], [true, false]);
});

Deno.test("small chunks are joined, so that they take no uncounted memory", async () => {
  const { buffer, calls } = receiveBuffer();
  for (let piece = 0; piece < 10_000; piece++) buffer.push(new Uint8Array([piece]));
  buffer.end();
  let reads = 0, bytes = 0;
  for await (const chunk of buffer.body) {
    assert.ok(chunk.every((byte, at) => byte === ((bytes + at) & 0xff)));
    reads++, bytes += chunk.length;
  }
  assert.deepEqual([reads, bytes], [3, 10_000]);
  assert.equal(calls.length, 3);
});

Deno.test("a small chunk of a large message does not keep the message in memory", async () => {
  const { buffer } = receiveBuffer();
  buffer.push(new Uint8Array(new ArrayBuffer(100_000), 0, 5000));
  const { value } = await buffer.body.getReader().read();
  assert.equal(value?.buffer.byteLength, 5000);
});

Deno.test("cancelling a body drops held chunks and ignores later ones", async () => {
  const { buffer, calls } = receiveBuffer();
  buffer.push(new Uint8Array(5));
  await buffer.body.cancel();
  assert.deepEqual(calls, ["dropped 5", "cancelled"]);
  assert.equal(buffer.push(new Uint8Array(5)), "cancelled");
});

Deno.test("a chunk beyond the window is an overflow", () => {
  const { buffer } = receiveBuffer();
  assert.equal(buffer.push(new Uint8Array(STREAM_WINDOW_BYTES)), "stored");
  assert.equal(buffer.push(new Uint8Array(1)), "overflow");
});

Deno.test("reading a failed body throws, though a part of it has arrived", async () => {
  const { buffer, calls } = receiveBuffer();
  buffer.push(new Uint8Array(5));
  buffer.fail(new Error("cut"));
  await assert.rejects(new Response(buffer.body).bytes(), /cut/);
  assert.deepEqual(calls, ["dropped 5"]);
});
