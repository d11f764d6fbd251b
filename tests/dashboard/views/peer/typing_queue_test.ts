/** Keys typed into a pane are sent in order, in requests of a limited size. */

import assert from "node:assert/strict";
import type { Key } from "protocol/agents/contract.ts";
import { CHARS_MAX, KEYS_MAX, TypingQueue } from "../../../../dashboard/views/peer/typing_queue.ts";
import { TYPED_CHARS_MAX, TYPED_KEYS_MAX } from "protocol/agents/contract.ts";

/** A daemon that answers each request when the test says so. */
function fakeDaemon() {
  const requests: { keys: readonly Key[]; answer: (typed: boolean) => void }[] = [];
  const queue = new TypingQueue((keys) => new Promise((answer) => requests.push({ keys, answer })));
  return { queue, requests };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("the limits of the page are those of the daemon", () => {
  assert.deepEqual([CHARS_MAX, KEYS_MAX], [TYPED_CHARS_MAX, TYPED_KEYS_MAX]);
});

Deno.test("keys wait for the request before them, and letters become one text", async () => {
  const { queue, requests } = fakeDaemon();
  queue.add([{ text: "l" }]);
  for (const text of ["s", " ", "-l"]) queue.add([{ text }]);
  queue.add([{ key: "Enter" }]);
  assert.deepEqual(requests.map(({ keys }) => keys), [[{ text: "l" }]]);
  requests[0]?.answer(true);
  await settle();
  assert.deepEqual(requests[1]?.keys, [{ text: "s -l" }, { key: "Enter" }]);
});

Deno.test("keys behind refused ones are dropped", async () => {
  const { queue, requests } = fakeDaemon();
  queue.add([{ text: "rm" }]);
  queue.add([{ key: "Enter" }]);
  requests[0]?.answer(false);
  await settle();
  assert.equal(requests.length, 1);
  queue.add([{ text: "x" }]);
  assert.deepEqual(requests[1]?.keys, [{ text: "x" }]);
});

Deno.test("a long paste goes in parts that cut no character; too much is refused", async () => {
  const { queue, requests } = fakeDaemon();
  const paste = `${"x".repeat(CHARS_MAX - 1)}😀y`;
  assert.ok(queue.add([{ paste }]));
  requests[0]?.answer(true);
  await settle();
  const parts = requests.flatMap(({ keys }) => keys.map((key) => "paste" in key ? key.paste : ""));
  assert.deepEqual(parts, ["x".repeat(CHARS_MAX - 1), "😀y"]);
  assert.equal(queue.add([{ paste: "x".repeat(5 * CHARS_MAX) }]), false);
});
