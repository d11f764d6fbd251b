/** The filter of a guest's event stream. */

import assert from "node:assert/strict";
import { StreamError } from "kit/net/tunnel/stream.ts";
import { filterEvents } from "../../../relay/shares/guest_stream.ts";

/** Sent at once, because a proxy may hold the head back until the body begins. */
const BEGIN = ": keep-alive\n\n";

// deno-fmt-ignore
const FRAMES: [why: string, frame: string, streamState: string | undefined][] = [
  ["an event that names the peer",       `id: 7\nevent: ask\ndata: {"to_peer_id":"peer-1"}`,           `id: 7\nevent: ask\ndata: {"to_peer_id":"peer-1"}`],
  ["an event of another",                `id: 7\nevent: ask\ndata: {"to_peer_id":"peer-2"}`,           undefined],
  ["an id that stands for another field",`event: ask\ndata: {"from":"peer-1","to_peer_id":"peer-2"}`,  undefined],
  ["an id that only begins so",          `event: ask\ndata: {"peer_id":"peer-11"}`,                    undefined],
  ["an inbox item",                      `event: inbox_item\ndata: {"from_peer_id":"peer-1"}`,         undefined],
  ["an inbox item by another name",      `event: ask\ndata: {"type":"inbox_item","peer_id":"peer-1"}`, undefined],
  ["no JSON",                            `event: ask\ndata: peer_id peer-1`,                           undefined],
  ["no type",                            `data: {"peer_id":"peer-1"}`,                                 undefined],
  ["where the log ends",                 `event: ready\ndata: {"last":9}`,                             undefined],
  ["a sign of life",                     `: keep-alive`,                                               `: keep-alive`],
];
for (const [why, frame, streamState] of FRAMES) {
  Deno.test(`the guest's filter and ${why}, in chunks of any size`, async () => {
    const bytes = new TextEncoder().encode(`${frame}\n\n`);
    for (const size of [1, 7, bytes.length]) {
      const pieces = Array.from(
        { length: Math.ceil(bytes.length / size) },
        (_, at) => bytes.slice(at * size, (at + 1) * size),
      );
      const stream = ReadableStream.from(pieces).pipeThrough(filterEvents("peer-1"));
      const text = await new Response(stream).text();
      assert.equal(text, BEGIN + (streamState === undefined ? "" : `${streamState}\n\n`));
    }
  });
}

Deno.test("the guest's filter fails for an endless frame", async () => {
  const endless = ReadableStream.from([new TextEncoder().encode("x".repeat(65_537))]);
  await assert.rejects(
    new Response(endless.pipeThrough(filterEvents("peer-1"))).text(),
    StreamError,
  );
});
