/** Messages are handled once, and reported when that is done. */

import assert from "node:assert/strict";
import { Deliveries } from "../../../clients/typescript/deliveries.ts";
import type { Frame } from "../../../clients/typescript/connection.ts";

const NOTE: Frame = { type: "notify", delivery_id: "notif-1", text: "Done" };
const SEEN = { type: "delivery_ack", delivery_id: "notif-1", status: "seen" };

function fixture() {
  const sent: Frame[] = [];
  return { sent, deliveries: new Deliveries((frame) => (sent.push(frame), true)) };
}

Deno.test("a message that comes again is not handled again, but reported again", async () => {
  const { sent, deliveries } = fixture();
  let handled = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  deliveries.handle("notify", () => (handled++, promise));
  deliveries.take(NOTE);
  deliveries.take(NOTE);
  assert.deepEqual(sent, []);
  resolve();
  await promise;
  await Promise.resolve();
  deliveries.take(NOTE);
  assert.deepEqual([handled, sent], [1, [SEEN, SEEN]]);
});

Deno.test("a message waits for its handler", async () => {
  const { sent, deliveries } = fixture();
  deliveries.take(NOTE);
  const texts: unknown[] = [];
  deliveries.handle("notify", ({ text }) => void texts.push(text));
  await Promise.resolve();
  assert.deepEqual([texts, sent], [["Done"], [SEEN]]);
});

Deno.test("a handler that fails is reported with its error", async () => {
  const { sent, deliveries } = fixture();
  deliveries.handle("notify", () => {
    throw new Error("The disk is full");
  });
  deliveries.take(NOTE);
  await Promise.resolve();
  assert.deepEqual(sent, [{ ...SEEN, status: "failed", detail: "The disk is full" }]);
});
