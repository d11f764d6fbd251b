/** The limits of request bodies: their duration, and their bytes per address. */

import assert from "node:assert/strict";
import { FakeClock } from "../../support/clock.ts";
import { readBody, readUpTo } from "kit/http/body.ts";
import {
  ADDRESS_BODY_BYTES_MAX,
  BODY_MS_MAX,
  BodyLimiter,
  TOTAL_BODY_BYTES_MAX,
} from "kit/http/body_limiter.ts";
import { connectDaemon, relayFixture, SECRET } from "../../support/relay/composed_relay.ts";
import { world } from "../../support/world.ts";
import { RELAY, relayWorld } from "../../support/relay/relay_world.ts";

const MEBIBYTE = 1_048_576;

/** A body that sends some bytes and never ends. */
function unfinishedBody(bytes: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array(bytes).fill(0x20)),
  });
}

Deno.test("a body that does not arrive in time is aborted [c9.pace.bodies]", async () => {
  await using r = relayWorld();
  let answered: number | undefined;
  const request = new Request(`${RELAY}/login`, { method: "POST", body: unfinishedBody(100) });
  const asked = r.relay.fetch(request).then(({ status }) => answered = status);
  await r.tick(BODY_MS_MAX / 1000 - 1);
  assert.equal(answered, undefined);
  await r.tick(1);
  assert.equal(await asked, 408);
});

Deno.test("unfinished bodies are limited per address [c9.pace.bodies]", async () => {
  const clock = new FakeClock();
  const intake = new BodyLimiter(clock, { address_bytes_max: ADDRESS_BODY_BYTES_MAX });
  const send = (address: string) => {
    const request = new Request(RELAY, { method: "POST", body: unfinishedBody(MEBIBYTE) });
    const reading = intake.begin(request, address);
    const error = readBody(reading.request, 2 * MEBIBYTE).catch((error) => error);
    return { reading, error };
  };
  const held = Array.from({ length: ADDRESS_BODY_BYTES_MAX / MEBIBYTE }, () => send("192.0.2.1"));
  const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
  await turn();
  const other = send("192.0.2.2");
  const { reading, error } = send("192.0.2.1");
  assert.equal((await error).code, "too_many_requests");
  reading[Symbol.dispose]();
  held[0]?.reading[Symbol.dispose]();
  const next = send("192.0.2.1");
  await turn();
  await clock.advance(BODY_MS_MAX);
  intake.tick(clock.monotonic());
  for (const { error } of [other, next]) assert.equal((await error).code, "body_too_slow");
});

Deno.test("all bodies together are limited: the one that takes the longest ends for the others", async () => {
  const limiter = new BodyLimiter(new FakeClock());
  const read = (bytes: number, headers: Record<string, string> = {}) => {
    const body = unfinishedBody(bytes);
    const request = new Request(RELAY, { method: "POST", body, headers });
    return readBody(request, 2 * MEBIBYTE, limiter).catch(({ code }) => code);
  };
  const short = read(9, { "content-length": "60000" });
  const many = Array.from({ length: TOTAL_BODY_BYTES_MAX / MEBIBYTE + 4 }, () => read(MEBIBYTE));
  const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
  await turn();
  assert.ok(limiter.bytes > TOTAL_BODY_BYTES_MAX - 2 * MEBIBYTE, String(limiter.bytes));
  assert.ok(limiter.bytes <= TOTAL_BODY_BYTES_MAX);
  assert.equal(await short, "body_too_slow");
  assert.deepEqual(await Promise.all(many.slice(0, 4)), Array(4).fill("body_too_slow"));
  const whole = new Request(RELAY, { method: "POST", body: "{}" });
  assert.equal(await readBody(whole, MEBIBYTE, limiter), "{}");
  const before = limiter.bytes;
  await assert.rejects(
    readBody(new Request(RELAY, { method: "POST", body: "x".repeat(20) }), 9, limiter),
  );
  assert.equal(limiter.bytes, before);
});

Deno.test("a body of many small chunks takes the memory of its bytes", async () => {
  const bytes = 300_000;
  let left = bytes;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (left-- === 0) return controller.close();
      controller.enqueue(new Uint8Array([97]));
    },
  });
  let retained = 0;
  const chunks = (async function* () {
    for await (const chunk of body) {
      yield chunk;
      if (++retained % 100_000 === 0) chunk.set([98]); // A copied chunk may be overwritten.
    }
  })();
  const read = await readUpTo(chunks, MEBIBYTE);
  assert.equal(new TextDecoder().decode(read), "a".repeat(bytes));
  assert.equal(
    await readUpTo(ReadableStream.from([new Uint8Array(5), new Uint8Array(5)]), 9),
    undefined,
  );
});

for (
  const [path, headers] of [
    ["/notify", {}],
    ["/ask", { "content-length": "500000" }],
    ["/mcp", { "content-type": "application/json", "content-length": "500" }],
    ["/dashboard/session", {}],
  ] as const
) {
  Deno.test(`a slow body of ${path} ends with 408 at the daemon, and releases its memory`, async () => {
    await using w = world();
    let answered = false;
    const init = { method: "POST", body: unfinishedBody(100), headers };
    const asked = w.fetch(path, init).finally(() => answered = true);
    await w.tick(BODY_MS_MAX / 1000 - 1);
    assert.equal(answered, false);
    await w.tick(1);
    const response = await asked;
    assert.deepEqual([response.status, (await response.json()).error], [408, "body_too_slow"]);
    assert.equal(w.daemon.bodies.bytes, 0);
    assert.equal((await w.post("/notify", { from_peer: "x" })).status, 422);
  });
}

Deno.test("bodies of share requests are limited in size [c9.pace.bodies]", async () => {
  await using at = relayFixture();
  await using _w = connectDaemon(at, "dm-000000000001");
  const answer = await at.send("/api/v1/shares", {
    method: "POST",
    headers: { authorization: `Bearer ${SECRET}` },
    body: unfinishedBody(20_000),
  });
  assert.equal(answer.status, 413);
});
