/** A frozen daemon: its connections stay open and carry nothing. */

import assert from "node:assert/strict";
import { SILENCE_MS_MAX, watchEvents } from "../../../cli/client/event_stream.ts";
import { ANSWER_MS_MAX, sendLocally } from "../../../cli/client/local_http.ts";
import { SwiftClock } from "../../support/swift_clock.ts";
import { until } from "../../support/waiting.ts";

const encode = (text: string) => new TextEncoder().encode(text);

Deno.test("a stream that falls silent is read on after the last event, on a new connection", async () => {
  const clock = new SwiftClock();
  const stop = new AbortController();
  const requests: (string | undefined)[] = [];
  let cancelled = 0;
  const changes: string[] = [];
  const events = watchEvents({
    clock,
    signal: stop.signal,
    onConnectionChange: (change) => void changes.push(change),
    daemon: {
      get: (_path, init) => {
        requests.push(init?.headers?.["last-event-id"]);
        const id = requests.length * 10;
        const frame = `id: ${id}\nevent: ask\ndata: {}\n\n`;
        const body = new ReadableStream({
          start: (controller) => controller.enqueue(encode(frame)),
          cancel: () => void cancelled++,
        });
        return Promise.resolve(new Response(body));
      },
    },
  });
  assert.equal((await events.next()).value?.id, "10");
  const second = events.next();
  await clock.advance(SILENCE_MS_MAX - 1);
  assert.deepEqual([requests.length, cancelled], [1, 0]);
  await clock.advance(1000);
  assert.equal((await second).value?.id, "20");
  assert.deepEqual([requests, changes, cancelled], [[undefined, "10"], ["lost", "resumed"], 1]);
  const end = events.next();
  stop.abort();
  assert.equal((await end).done, true);
});

Deno.test("a daemon that accepts the stream's connection and never answers is tried again", async () => {
  const clock = new SwiftClock();
  const stop = new AbortController();
  let requests = 0;
  const events = watchEvents({
    clock,
    signal: stop.signal,
    daemon: {
      get: (_path, init) => {
        requests++;
        return new Promise((_, reject) =>
          init?.signal?.addEventListener("abort", () => reject(init.signal?.reason))
        );
      },
    },
  });
  const first = events.next();
  await clock.advance(2 * SILENCE_MS_MAX + 1000);
  assert.ok(requests >= 2, `${requests} requests`);
  stop.abort();
  assert.equal((await first).done, true);
});

for (const answer of ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}"]) {
  const what = answer ? "stops within its answer" : "accepts and never answers";
  Deno.test(`a daemon that ${what} ends a call after its limit`, async () => {
    const clock = new SwiftClock();
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const url = new URL(`http://127.0.0.1:${listener.addr.port}/peers`);
    let outcome = "";
    const deadline = { clock, ms: ANSWER_MS_MAX };
    const call = sendLocally({ url, method: "GET", headers: {}, deadline })
      .catch(({ message }: Error) => outcome = message);
    const connection = await listener.accept();
    await connection.read(new Uint8Array(4096));
    if (answer) await connection.write(encode(answer));
    await clock.advance(ANSWER_MS_MAX - 1);
    assert.equal(outcome, "");
    await clock.advance(1);
    await until("the end of the call", () => outcome);
    assert.equal(outcome, "The daemon has not answered within 90 s");
    await call;
    connection.close();
    listener.close();
  });
}
