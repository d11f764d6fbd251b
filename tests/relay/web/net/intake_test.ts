/** The limits of request bodies: their duration, and their bytes per address. */

import assert from "node:assert/strict";
import { FakeClock } from "../../../support/clock.ts";
import { readBody } from "kit/http/body.ts";
import {
  ADDRESS_BODY_BYTES_MAX,
  BODY_MS_MAX,
  BodyLimiter,
} from "../../../../relay/web/net/body_limiter.ts";
import { connectDaemon, relayFixture, SECRET } from "../../../support/relay/composed_relay.ts";
import { RELAY, relayWorld } from "../../../support/relay/relay_world.ts";

const MEBIBYTE = 1_048_576;

/** A body that sends some bytes and never ends. */
function unfinished(bytes: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array(bytes).fill(0x20)),
  });
}

Deno.test("a body that does not arrive in time is aborted [c9.pace.bodies]", async () => {
  await using r = relayWorld();
  let answered: number | undefined;
  const request = new Request(`${RELAY}/login`, { method: "POST", body: unfinished(100) });
  const asked = r.relay.fetch(request).then(({ status }) => answered = status);
  await r.tick(BODY_MS_MAX / 1000 - 1);
  assert.equal(answered, undefined);
  await r.tick(1);
  assert.equal(await asked, 400);
});

Deno.test("unfinished bodies are limited per address [c9.pace.bodies]", async () => {
  const intake = new BodyLimiter(new FakeClock());
  const send = (address: string) => {
    const request = new Request(RELAY, { method: "POST", body: unfinished(MEBIBYTE) });
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
  for (const { reading } of [other, next]) reading.fail();
  for (const { error } of [other, next]) assert.equal((await error).code, "bad_json");
});

Deno.test("bodies of share requests are limited in size [c9.pace.bodies]", async () => {
  await using at = relayFixture();
  await using _w = connectDaemon(at, "dm-000000000001");
  const answer = await at.send("/api/v1/shares", {
    method: "POST",
    headers: { authorization: `Bearer ${SECRET}` },
    body: unfinished(20_000),
  });
  assert.equal(answer.status, 413);
});
