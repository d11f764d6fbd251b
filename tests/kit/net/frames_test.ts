/** WebSocket frames: a valid one reaches its handler, an invalid one is rejected, none throws. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { frameHandler, whenStable } from "kit/net/frames.ts";

const Hello = z.object({ type: z.literal("hello"), peer_id: z.string() });
const Count = z.object({ type: z.literal("count"), n: z.number().default(1) });
const Inbound = z.discriminatedUnion("type", [Hello, Count]);

class Session {
  readonly got: unknown[] = [];
  readonly corrected: string[] = [];

  rejectFrame(detail: string): void {
    this.corrected.push(detail);
  }
}

const receive = frameHandler<Session, typeof Inbound>(Inbound, {
  hello: (session, { peer_id }) => session.got.push(peer_id),
  count: (session, { n }) => session.got.push(n),
});

Deno.test("a valid frame is parsed and reaches its handler", () => {
  const session = new Session();
  receive(session, `{"type": "hello", "peer_id": "peer-1", "extra": true}`);
  receive(session, `{"type": "count"}`);
  assert.deepEqual([session.got, session.corrected], [["peer-1", 1], []]);
});

Deno.test("an invalid frame is rejected with the reason, and the session continues", () => {
  const session = new Session();
  // deno-fmt-ignore
  const cases: [frame: string, errorPattern: RegExp][] = [
    ["not json",                         /^The frame is not JSON$/],
    ["",                                 /^The frame is not JSON$/],
    ["null",                             /^Invalid .*expected obj/],
    [`{"type": "goodbye"}`,              /^type: /                ],
    [`{"type": "hello"}`,                /^peer_id: /             ],
    [`{"type": "count", "n": "many"}`,   /^n: .*number/           ],
  ];
  for (const [frame, errorPattern] of cases) {
    receive(session, frame);
    assert.match(session.corrected.pop() ?? "", errorPattern, frame);
  }
  receive(session, `{"type": "count", "n": 2}`);
  assert.deepEqual([session.got, session.corrected], [[2], []]);
});

Deno.test("every text is handled or rejected, without an exception", () => {
  const frame = fc.oneof(
    fc.string(),
    fc.json(),
    fc.record({ type: fc.string() }).map((frame) => JSON.stringify(frame)),
  );
  fc.assert(fc.property(frame, (text) => {
    const session = new Session();
    receive(session, text);
    assert.equal(session.got.length + session.corrected.length, 1);
  }));
});

Deno.test("a frame without a handler does not compile", () => {
  // @ts-expect-error `count` has no handler.
  frameHandler<Session, typeof Inbound>(Inbound, { hello: () => {} });
});

Deno.test("whenStable runs once a count is stable, or after its maximum of turns", async () => {
  let count = 0;
  let remaining = 200;
  const work = Promise.withResolvers<number>();
  whenStable(() => remaining-- > 0 ? ++count : count, () => work.resolve(remaining));
  assert.ok(await work.promise < 0);
  const neverRead = Promise.withResolvers<void>();
  whenStable(() => ++count, neverRead.resolve);
  await neverRead.promise;
});
