/** W3C trace contexts: passed from header to frame, made if absent, continued by replies. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { beginTrace, continueTrace, readTrace } from "../../../../kit/http/traceparent.ts";
import { countingIds } from "../../../support/ids.ts";
import { type FakeSocket, type World, world } from "../../../support/world.ts";
import { addPeer, connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const INCOMING_TRACEPARENT = `00-${TRACE}-${PARENT}-01`;
const OTHER = `00-${"a".repeat(32)}-${"b".repeat(16)}-00`;
const GENERATED_TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/;

const traceOf = (traceparent = "") => traceparent.split("-")[1] ?? "";

/** The trace contexts of all frames of a type that a socket received. */
function traceparentsOf(
  socket: FakeSocket,
  type: "ask" | "notify" | "broadcast" | "ack",
): string[] {
  return socket.of(type).map(({ traceparent }) => traceparent);
}

async function pair(): Promise<{ w: World; ada: FakeSocket; bob: FakeSocket }> {
  const w = world({ settings: { "human.name": "sam" } });
  return { w, ada: await connectPeer(w, "ada"), bob: await connectPeer(w, "bob") };
}

Deno.test("asks, notifications and broadcasts carry the trace context of their request, or a new one", async () => {
  const { w, bob } = await pair();
  await using _ = w;
  const message = { from_peer: "ada", to_peer: "bob", text: "Hi" };
  for (const [path, type] of [["/ask", "ask"], ["/notify", "notify"]] as const) {
    await post(w, path, message, { traceparent: INCOMING_TRACEPARENT });
    await post(w, path, message);
    await post(w, path, message, { traceparent: "nonsense" });
    const [given, absent, malformed] = traceparentsOf(bob, type);
    assert.equal(given, INCOMING_TRACEPARENT);
    for (const generated of [absent, malformed]) {
      assert.match(generated ?? "", GENERATED_TRACEPARENT);
    }
    assert.notEqual(traceOf(absent), traceOf(malformed));
  }
  await post(w, "/broadcast", { from_peer: "ada", text: "All" }, {
    traceparent: INCOMING_TRACEPARENT,
  });
  assert.deepEqual(traceparentsOf(bob, "broadcast"), [INCOMING_TRACEPARENT]);
});

Deno.test("all copies of a broadcast are in one trace", async () => {
  const { w, bob } = await pair();
  await using _ = w;
  const eve = await connectPeer(w, "eve");
  await post(w, "/broadcast", { from_peer: "ada", text: "All" });
  assert.match(traceparentsOf(bob, "broadcast")[0] ?? "", GENERATED_TRACEPARENT);
  assert.deepEqual(traceparentsOf(eve, "broadcast"), traceparentsOf(bob, "broadcast"));
});

Deno.test("every way to close an ask is reported in the ask's trace, with its own parent id", async () => {
  const { w, ada } = await pair();
  await using _ = w;
  const ends = [
    ["/ack", { message: "Yes" }],
    ["/ack", {}],
    ["/decline", { reason: "No" }],
  ] as const;
  for (const [path, how] of ends) {
    const asked = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
    const { correlation_id } = await post(w, "/ask", asked, { traceparent: INCOMING_TRACEPARENT });
    await post(w, path, { correlation_id, ...how });
    const ackTraceparent = traceparentsOf(ada, "ack").at(-1) ?? "";
    assert.match(ackTraceparent, GENERATED_TRACEPARENT);
    assert.equal(traceOf(ackTraceparent), TRACE);
    assert.notEqual(ackTraceparent, INCOMING_TRACEPARENT);
  }
});

Deno.test("a reply carries the trace context of its request", async () => {
  const { w, ada } = await pair();
  await using _ = w;
  const asked = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
  for (const [path, how] of [["/ack", {}], ["/decline", { reason: "No" }]] as const) {
    const { correlation_id } = await post(w, "/ask", asked, { traceparent: INCOMING_TRACEPARENT });
    await post(w, path, { correlation_id, ...how }, { traceparent: OTHER });
    assert.equal(traceparentsOf(ada, "ack").at(-1), OTHER);
  }
});

Deno.test("a cancelled and an evicted ask are reported in their trace", async () => {
  const { w, ada, bob } = await pair();
  await using _ = w;
  const asked = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
  const { correlation_id } = await post(w, "/ask", asked, { traceparent: INCOMING_TRACEPARENT });
  await post(w, `/asks/${correlation_id}/cancel`, { peer_id: "ada" });
  assert.deepEqual(traceparentsOf(bob, "ack").map(traceOf), [TRACE]);
  await post(w, "/ask", asked, { traceparent: OTHER });
  await w.clock.advance(25 * 3_600_000);
  await w.tick();
  assert.deepEqual(traceparentsOf(ada, "ack").map(traceOf), ["a".repeat(32)]);
});

Deno.test("a follow-up is in the trace of the ask that it follows", async () => {
  const { w, ada } = await pair();
  await using _ = w;
  const first = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
  const { correlation_id } = await post(w, "/ask", first, { traceparent: INCOMING_TRACEPARENT });
  const back = { from_peer: "bob", to_peer: "ada", text: "For what?", reply_to: correlation_id };
  await post(w, "/ask", back);
  assert.equal(traceOf(traceparentsOf(ada, "ask")[0]), TRACE);
  assert.deepEqual(traceparentsOf(ada, "ack").map(traceOf), [TRACE]);
});

Deno.test("the human's reply from the inbox is in the ask's trace", async () => {
  const { w, ada } = await pair();
  await using _ = w;
  const asked = { from_peer: "ada", to_peer: "sam", text: "May I?" };
  const { inbox } = await post(w, "/ask", asked, { traceparent: INCOMING_TRACEPARENT });
  await post(w, `/inbox/${inbox.item_id}/reply`, { surface: "dashboard", text: "Yes" });
  assert.deepEqual(traceparentsOf(ada, "ack").map(traceOf), [TRACE]);
});

Deno.test("on a socket, the trace context is a field of the verb", async () => {
  const { w, ada, bob } = await pair();
  await using _ = w;
  const verb = { to_peer: "bob", text: "Hi", traceparent: INCOMING_TRACEPARENT };
  await ada.send({ ...verb, type: "notify", request_id: "1" });
  await ada.send({ ...verb, type: "notify", request_id: "2", traceparent: 7 });
  assert.equal(traceparentsOf(bob, "notify")[0], INCOMING_TRACEPARENT);
  assert.match(traceparentsOf(bob, "notify")[1] ?? "", GENERATED_TRACEPARENT);
  await ada.send({ ...verb, type: "ask", request_id: "3" });
  const [asked] = bob.of("ask");
  assert.equal(asked?.traceparent, INCOMING_TRACEPARENT);
  const { correlation_id } = asked ?? {};
  await bob.send({ type: "ack", request_id: "1", correlation_id, traceparent: OTHER });
  assert.deepEqual(traceparentsOf(ada, "ack"), [OTHER]);
});

Deno.test("a replayed message keeps its trace context", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "bob");
  const message = { from_peer: "ada", to_peer: "bob", text: "Hi" };
  await post(w, "/notify", message, { traceparent: INCOMING_TRACEPARENT });
  const bob = await connectPeer(w, "bob", { peer_id });
  assert.deepEqual(traceparentsOf(bob, "notify"), [INCOMING_TRACEPARENT]);
});

Deno.test("an MCP tool's message is in the trace of its call, by header or by _meta", async () => {
  const { w, bob } = await pair();
  await using _ = w;
  const call = (params: object, traceparent = "") =>
    w.post("/mcp", {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name: "notify_peer",
        arguments: { peer: "bob", message: "Hi" },
        ...params,
      },
    }, { "content-type": "application/json", ...(traceparent && { traceparent }) });
  for (
    const response of [
      await call({}, INCOMING_TRACEPARENT),
      await call({ _meta: { traceparent: OTHER } }),
    ]
  ) {
    assert.equal((await response.json()).result.isError, undefined);
  }
  await call({ _meta: { traceparent: 7 } });
  const [header, meta, none] = traceparentsOf(bob, "notify");
  assert.deepEqual([header, meta], [INCOMING_TRACEPARENT, OTHER]);
  assert.match(none ?? "", GENERATED_TRACEPARENT);
  assert.equal((await get(w, "/deliveries")).deliveries.length, 3);
});

// deno-fmt-ignore
const HEADER_FORMS: readonly [why: string, given: string, read: string | undefined][] = [
  ["as it should be",             INCOMING_TRACEPARENT,                                          INCOMING_TRACEPARENT],
  ["not sampled",                 `00-${TRACE}-${PARENT}-00`,                     `00-${TRACE}-${PARENT}-00`],
  ["flags that we do not know",   `00-${TRACE}-${PARENT}-fe`,                     `00-${TRACE}-${PARENT}-fe`],
  ["a later version",             `01-${TRACE}-${PARENT}-09`,                     INCOMING_TRACEPARENT],
  ["a later version with more",   `cc-${TRACE}-${PARENT}-00-what-comes`,          `00-${TRACE}-${PARENT}-00`],
  ["a later version with a dash", `cc-${TRACE}-${PARENT}-01-`,                    INCOMING_TRACEPARENT],
  ["a later version, run on",     `cc-${TRACE}-${PARENT}-01x`,                    undefined],
  ["version 00 with more",        `${INCOMING_TRACEPARENT}-more`,                                undefined],
  ["version ff",                  `ff-${TRACE}-${PARENT}-01`,                     undefined],
  ["no trace",                    `00-${"0".repeat(32)}-${PARENT}-01`,            undefined],
  ["no parent",                   `00-${TRACE}-${"0".repeat(16)}-01`,             undefined],
  ["capitals",                    INCOMING_TRACEPARENT.toUpperCase(),                            undefined],
  ["a capital",                   `00-${TRACE.replace("a", "A")}-${PARENT}-01`,   undefined],
  ["a short trace",               `00-${TRACE.slice(1)}-${PARENT}-01`,            undefined],
  ["two of them",                 `${INCOMING_TRACEPARENT}, ${INCOMING_TRACEPARENT}`,                           undefined],
  ["nothing",                     "",                                             undefined],
];

for (const [why, given, read] of HEADER_FORMS) {
  Deno.test(`a traceparent is parsed as W3C specifies: ${why}`, () => {
    assert.equal(readTrace(given), read);
  });
}

Deno.test("every parsed, new or continued traceparent is well formed, and parses as itself", () => {
  const ids = countingIds();
  assert.match(beginTrace(ids), GENERATED_TRACEPARENT);
  const hex = (digits: number) =>
    fc.string({
      unit: fc.constantFrom(..."0123456789abcdef"),
      minLength: digits,
      maxLength: digits,
    });
  const context = fc.tuple(hex(2), hex(32), hex(16), hex(2)).map((parts) => parts.join("-"));
  fc.assert(fc.property(fc.oneof(context, fc.string()), (given) => {
    const read = readTrace(given);
    if (read === undefined) return;
    assert.equal(readTrace(read), read);
    const next = continueTrace(read, ids);
    assert.equal(readTrace(next), next);
    assert.equal(traceOf(next), traceOf(read));
  }));
});
