import assert from "node:assert/strict";
import fc from "fast-check";
import { Frame, PROTOCOL } from "kit/net/tunnel/frames.ts";
import { packMessage, unpackMessage } from "kit/net/tunnel/packing.ts";
import { ScriptedDaemon } from "../../../support/relay/scripted_daemon.ts";
import { daemonId, RELAY, relayWorld, SECRET } from "../../../support/relay/relay_world.ts";

const RUNS = 60;
const ADDRESS = RELAY.replace("https", "wss");

const id = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer());
const word = fc.string({ maxLength: 40 });
/** Valid, almost valid and random frames. */
const text = fc.oneof(
  fc.record({
    type: fc.constant("response"),
    id,
    status: fc.integer({ min: 100, max: 700 }),
    headers: fc.array(fc.tuple(word, word), { maxLength: 3 }),
    body: fc.boolean(),
  }),
  fc.record({
    type: fc.constantFrom("end", "credit", "cancel", "request", "ping", "pong"),
    id,
    bytes: fc.integer({ min: -1, max: 100_000 }),
    why: word,
    taken: fc.boolean(),
    ping_id: fc.integer(),
  }),
  fc.record({
    type: fc.constant("hello"),
    protocol: fc.integer({ min: 0, max: 3 }),
    machine: word,
    version: word,
    capabilities: fc.dictionary(word, fc.boolean(), { maxKeys: 3 }),
  }),
  fc.jsonValue({ maxDepth: 2 }),
).map((frame) => JSON.stringify(frame));
const bytes = fc.uint8Array({ maxLength: 64 }).map((some) => new Uint8Array(some));
const anyItems = fc.array(fc.oneof(text, word, bytes), { maxLength: 30 });

Deno.test("no frames of a daemon make the relay throw or stop [c9.tunnel.bad-frames]", async () => {
  await fc.assert(
    fc.asyncProperty(anyItems, fc.boolean(), async (frames, sends_hello) => {
      await using r = relayWorld();
      const wishes = { address: ADDRESS, secret: SECRET, daemon_id: daemonId(1) };
      const daemon = ScriptedDaemon.openSocket(
        r.openSocket,
        sends_hello ? wishes : { ...wishes, hello: frames[0] ?? {} },
      );
      await daemon.whenOpened;
      await r.clock.settle();
      const asking = [0, 1].map(() =>
        r.ask(1, "/health").then((answer) => answer.text()).catch((error) => error)
      );
      for (const frame of frames) {
        if (typeof frame === "string") daemon.sendFrame(frame);
        else daemon.sendBytes(frame);
        await Promise.resolve();
      }
      await r.clock.settle();
      daemon.close();
      await Promise.all(asking);
      assert.ok(!r.logged.some((line) => line.includes('"level":"error"')), r.logged.join("\n"));
      assert.equal((await r.fetch("/health")).status, 200);
      assert.equal(r.relay.machines.requests, 0);
    }),
    { numRuns: RUNS },
  );
});

/** Valid requests with any path and any body. */
const asked = fc.record({
  method: fc.constantFrom("GET", "POST", "DELETE", "HEAD", "PATCH"),
  path: fc.oneof(
    fc.constantFrom("/peers", "/ask", "/asks/%00/wait", "/inbox", "/attachments", "/peers/%ff"),
    fc.webPath().map((path) => `/${path.replace(/^\/+/, "")}`),
  ),
  headers: fc.array(
    fc.tuple(fc.constantFrom("content-type", "idempotency-key", "last-event-id", "x-odd"), word),
    { maxLength: 3 },
  ),
  door: fc.constantFrom("browser", "program"),
  anyItems: fc.option(fc.uint8Array({ minLength: 1, maxLength: 64 })),
});

Deno.test("the daemon answers every request through a tunnel without an error", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1);
  const [relayEnd, daemonEnd] = r.connections[0] ?? [];
  let last = 0;
  const run = async (asking: { anyItems: Uint8Array | null; [key: string]: unknown }) => {
    const { anyItems, ...head } = asking;
    const id = ++last;
    const request = JSON.stringify({ type: "request", id, ...head, body: anyItems !== null });
    const end = JSON.stringify({ type: "end", id });
    const bytes = anyItems && new Uint8Array(anyItems);
    daemonEnd?.send(packMessage([request, ...(bytes ? [{ id, bytes }, end] : [])]));
    await r.clock.settle();
    const heads = (relayEnd?.sent ?? []).flatMap((data) => {
      return typeof data === "string" ? [] : unpackMessage(data);
    });
    assert.deepEqual(heads.filter((head) => String(head).includes('"status":500')), []);
    assert.ok(!w.logged.some((line) => line.includes('"level":"error"')), w.logged.join("\n"));
    assert.equal(w.daemon.relayClient?.report().status, "connected");
  };
  await fc.assert(fc.asyncProperty(asked, run), { numRuns: 4 * RUNS });
});

Deno.test("no frames of a relay make the daemon throw or stop", async () => {
  await using w0 = relayWorld();
  await using w = await w0.daemon(1);
  const run = async (frames: (string | Uint8Array<ArrayBuffer>)[]) => {
    const daemonEnd = w0.connections.at(-1)?.[1];
    for (const frame of frames) {
      daemonEnd?.send(typeof frame === "string" ? packMessage([frame]) : frame);
    }
    await w0.clock.settle();
    assert.ok(!w.logged.some((line) => line.includes('"level":"error"')), w.logged.join("\n"));
    assert.equal((await w.fetch("/health")).status, 200);
    await w0.tick(3, w);
  };
  await fc.assert(fc.asyncProperty(anyItems, run), { numRuns: RUNS });
});

const item = fc.oneof(
  fc.string({ unit: "grapheme" }).filter((text) => text.isWellFormed()),
  fc.record({
    id: fc.integer({ min: 0, max: 0xffff_ffff }),
    bytes: fc.uint8Array({ minLength: 1 }).map((some) => new Uint8Array(some)),
  }, { noNullPrototype: true }),
);

Deno.test("unpacking returns the packed items, or a reason for an invalid message", () => {
  fc.assert(fc.property(fc.array(item), (items) => {
    assert.deepEqual(unpackMessage(packMessage(items).buffer), items);
  }));
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (some) => {
    const items = unpackMessage(new Uint8Array(some).buffer);
    assert.ok(Array.isArray(items) || typeof items === "string");
  }));
});

Deno.test("hello and welcome accept only the supported version", () => {
  assert.equal(Frame.safeParse({ type: "hello", protocol: PROTOCOL }).success, false);
});
