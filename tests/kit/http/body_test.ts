/** Reading bodies up to a limit. */

import assert from "node:assert/strict";
import { decodeUtf8, readRequestBody, readUpTo } from "kit/http/body.ts";

/** A body in chunks, and how many of them were read. */
function inPieces(pieces: readonly number[]) {
  const state = { taken: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const size = pieces[state.taken++];
      if (size === undefined) return controller.close();
      controller.enqueue(new Uint8Array(size).fill(state.taken));
    },
    cancel: () => void (state.cancelled = true),
  }, { highWaterMark: 0 });
  return { state, body };
}

Deno.test("a body of exactly the limit is read in the order of its chunks", async () => {
  const { body } = inPieces([2, 1, 1]);
  assert.deepEqual(await readUpTo(body, 4), new Uint8Array([1, 1, 2, 3]));
  assert.deepEqual(await readUpTo(null, 4), new Uint8Array());
});

Deno.test("reading a longer body stops at the chunk that exceeds the limit", async () => {
  const { body, state } = inPieces([2, 2, 1, 1, 1]);
  const held: number[] = [];
  assert.equal(await readUpTo(body, 4, (bytes) => held.push(bytes)), undefined);
  assert.deepEqual([state, held], [{ taken: 3, cancelled: true }, [2, 4]]);
});

Deno.test("a request with a too large content-length is not read", async () => {
  const { body, state } = inPieces([5]);
  const init = { method: "POST", body, headers: { "content-length": "5" } };
  assert.equal(await readRequestBody(new Request("http://x/", init), 4), undefined);
  assert.equal(state.taken, 0);
  const small = new Request("http://x/", { method: "POST", body: "1234" });
  assert.equal((await readRequestBody(small, 4))?.length, 4);
});

Deno.test("decodeUtf8 returns undefined for invalid UTF-8", () => {
  assert.equal(decodeUtf8(new Uint8Array([0xc3, 0xa9])), "\u00e9");
  assert.equal(decodeUtf8(new Uint8Array([0xc3])), undefined);
  assert.equal(decodeUtf8(new Uint8Array([0xff])), undefined);
});
