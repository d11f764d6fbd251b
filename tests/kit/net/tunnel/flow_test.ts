import assert from "node:assert/strict";
import { STREAM_WINDOW_BYTES } from "kit/net/tunnel/frames.ts";
import { Credit, ReceiveBuffer, ReceiveWindow } from "kit/net/tunnel/flow_control.ts";

function inlet() {
  const calls: string[] = [];
  const made = new ReceiveBuffer({
    taken: (bytes, credit) => calls.push(`taken ${bytes} ${credit}`),
    dropped: (bytes) => calls.push(`dropped ${bytes}`),
    onCancel: () => calls.push("left"),
  });
  return { made, calls };
}

Deno.test("credit is taken in order, and no more of it than there is", async () => {
  const credit = new Credit(10);
  assert.equal(credit.take(7), 7);
  assert.equal(credit.take(7), 3);
  const [first, second] = [credit.take(4), credit.take(4)];
  assert.equal(credit.restore(6), true);
  assert.deepEqual(await Promise.all([first, second]), [4, 2]);
});

Deno.test("credit beyond the window is told", () => {
  const credit = new Credit(10);
  credit.take(2);
  assert.equal(credit.restore(2), true);
  assert.equal(credit.restore(1), false);
});

Deno.test("when credit is over, nobody waits for it any more", async () => {
  const credit = new Credit(1);
  credit.take(1);
  const waiting = credit.take(1);
  credit.end();
  assert.deepEqual([await waiting, credit.take(1)], [0, 0]);
});

Deno.test("who leaves while waiting for credit takes none of it", async () => {
  const credit = new Credit(1);
  credit.take(1);
  const [gone, stays] = [{}, {}];
  const waiting = [credit.take(1, gone), credit.take(1, stays)];
  credit.abandon(gone);
  credit.restore(1);
  assert.deepEqual(await Promise.all(waiting), [0, 1]);
});

Deno.test("what is given back goes together, a quarter of the window at least", () => {
  const returns = new ReceiveWindow(100);
  assert.equal(returns.accepted(100), true);
  assert.deepEqual([returns.done(24), returns.done(1), returns.done(10)], [0, 25, 0]);
  assert.deepEqual([returns.accepted(25), returns.accepted(1)], [true, false]);
});

Deno.test("many small pieces are kept as few: they take no more memory than they count", async () => {
  const { made, calls } = inlet();
  for (let piece = 0; piece < 10_000; piece++) made.take(new Uint8Array([piece]));
  made.end();
  let reads = 0, bytes = 0;
  for await (const chunk of made.body) {
    assert.ok(chunk.every((byte, at) => byte === ((bytes + at) & 0xff)));
    reads++, bytes += chunk.length;
  }
  assert.deepEqual([reads, bytes], [3, 10_000]);
  assert.equal(calls.length, 3);
});

Deno.test("a small piece of a large message does not hold the message", async () => {
  const { made } = inlet();
  made.take(new Uint8Array(new ArrayBuffer(100_000), 0, 5000));
  const { value } = await made.body.getReader().read();
  assert.equal(value?.buffer.byteLength, 5000);
});

Deno.test("a reader that leaves drops what is held, and what still comes", async () => {
  const { made, calls } = inlet();
  made.take(new Uint8Array(5));
  await made.body.cancel();
  assert.deepEqual(calls, ["dropped 5", "left"]);
  assert.equal(made.take(new Uint8Array(5)), "left");
});

Deno.test("a body takes its window and no byte more", () => {
  const { made } = inlet();
  assert.equal(made.take(new Uint8Array(STREAM_WINDOW_BYTES)), "kept");
  assert.equal(made.take(new Uint8Array(1)), "no room");
});

Deno.test("a body that fails is not read as whole, though some of it had come", async () => {
  const { made, calls } = inlet();
  made.take(new Uint8Array(5));
  made.fail(new Error("cut"));
  await assert.rejects(new Response(made.body).bytes(), /cut/);
  assert.deepEqual(calls, ["dropped 5"]);
});
