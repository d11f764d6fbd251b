import assert from "node:assert/strict";
import { failStalled, Silence } from "kit/net/silence.ts";
import { SwiftClock } from "../../support/swift_clock.ts";

const bytes = (length: number) => new Uint8Array(length);

Deno.test("silence is reported once, after the last sign of life, and not after the end", async () => {
  const clock = new SwiftClock();
  let silences = 0;
  const silence = new Silence(clock, 100, () => silences++);
  await clock.advance(99);
  silence.heard();
  await clock.advance(99);
  assert.equal(silences, 0);
  await clock.advance(1);
  await clock.advance(1000);
  assert.equal(silences, 1);
  silence.heard();
  silence[Symbol.dispose]();
  await clock.advance(1000);
  assert.equal(silences, 1);
});

Deno.test("a body whose reader stalls fails, and its source is cancelled", async () => {
  const clock = new SwiftClock();
  let cancelled: unknown;
  const source = new ReadableStream({
    pull: (controller) => controller.enqueue(bytes(1)),
    cancel: (why) => void (cancelled = why),
  });
  const reader = failStalled(clock, 100, source).getReader();
  for (let read = 0; read < 3; read++) {
    await reader.read();
    await clock.advance(99);
  }
  assert.equal(cancelled, undefined);
  await clock.advance(1);
  assert.match(String(cancelled), /the reader took nothing for 0\.1 s/);
  await assert.rejects(reader.read(), /the reader took nothing/);
});

Deno.test("a source that has nothing is not a reader that stalls", async () => {
  const clock = new SwiftClock();
  const { promise, resolve } = Promise.withResolvers<void>();
  const source = new ReadableStream({
    async pull(controller) {
      await promise;
      controller.enqueue(bytes(2));
      controller.close();
    },
  });
  const reader = failStalled(clock, 100, source).getReader();
  const first = reader.read();
  await clock.advance(10_000);
  resolve();
  assert.equal((await first).value?.length, 2);
  assert.equal((await reader.read()).done, true);
});

Deno.test("a connection whose reader has stopped is ended by the server", async () => {
  const clock = new SwiftClock();
  const cancelled = Promise.withResolvers<unknown>();
  const source = new ReadableStream({
    pull: (controller) => controller.enqueue(bytes(1 << 20)),
    cancel: cancelled.resolve,
  });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    () => new Response(failStalled(clock, 100, source)),
  );
  const { port } = server.addr;
  const reader = await Deno.connect({ hostname: "127.0.0.1", port });
  await reader.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  const ticking = setInterval(() => void clock.advance(10), 20);
  assert.match(String(await cancelled.promise), /took nothing/);
  clearInterval(ticking);
  // The bytes in the kernel's buffers arrive, then the end: the answer is incomplete.
  let read = 0;
  const buffer = bytes(1 << 20);
  await assert.doesNotReject(async () => {
    for (let size; (size = await reader.read(buffer).catch(() => null)) !== null;) read += size;
  });
  assert.ok(read < 1 << 27, `${read} bytes`);
  reader.close();
  await server.shutdown();
});
