import assert from "node:assert/strict";
import fc from "fast-check";
import { Frame, packChunk, PROTOCOL, unpackChunk } from "kit/tunnel/frames.ts";
import { ScriptedDaemon } from "./scripted.ts";
import { daemonId, RELAY, relayWorld, SECRET } from "./world.ts";

const RUNS = 60;
const ADDRESS = RELAY.replace("https", "wss");

const id = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer());
const word = fc.string({ maxLength: 40 });
/** Frames of the right form, of nearly the right form, and of none. */
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
const said = fc.array(fc.oneof(text, word, bytes), { maxLength: 30 });

Deno.test("whatever a daemon sends, the relay neither fails nor is stopped by it [c9.tunnel.bad-frames]", async () => {
  await fc.assert(
    fc.asyncProperty(said, fc.boolean(), async (frames, greets) => {
      await using r = relayWorld();
      const wishes = { address: ADDRESS, secret: SECRET, daemon_id: daemonId(1) };
      const daemon = ScriptedDaemon.dial(
        r.dial,
        greets ? wishes : { ...wishes, hello: frames[0] ?? {} },
      );
      await daemon.opened;
      await r.clock.settle();
      const asking = [0, 1].map(() =>
        r.ask(1, "/health").then((answer) => answer.text()).catch((fault) => fault)
      );
      for (const frame of frames) {
        if (typeof frame === "string") daemon.say(frame);
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

/** Requests of the right form, for whatever path and with whatever body. */
const asked = fc.record({
  method: fc.constantFrom("GET", "POST", "DELETE", "HEAD", "PATCH"),
  path: fc.oneof(
    fc.constantFrom("/peers", "/ask", "/asks/%00/wait", "/inbox", "/attachments", "/peers/%ff"),
    fc.webPath().map((path) => `/${path.replace(/^\/+/, "")}`),
  ),
  headers: fc.array(
    fc.tuple(fc.constantFrom("content-type", "idempotency-key", "last-event-id", "x y"), word),
    { maxLength: 3 },
  ),
  door: fc.constantFrom("browser", "program"),
  said: fc.option(fc.uint8Array({ minLength: 1, maxLength: 64 })),
});

Deno.test("whatever is asked through a tunnel, the daemon answers, and fails at nothing", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1);
  const [near, far] = r.lines[0] ?? [];
  let last = 0;
  const run = async (asking: { said: Uint8Array | null; [key: string]: unknown }) => {
    const { said, ...head } = asking;
    const id = ++last;
    far?.send(JSON.stringify({ type: "request", id, ...head, body: said !== null }));
    if (said) far?.send(packChunk(id, said));
    if (said) far?.send(JSON.stringify({ type: "end", id }));
    await r.clock.settle();
    const texts = (near?.sent ?? []).filter((data) => typeof data === "string");
    assert.ok(!texts.some((text) => text.includes('"status":500')), texts.join("\n"));
    assert.ok(!w.logged.some((line) => line.includes('"level":"error"')), w.logged.join("\n"));
    assert.equal(w.daemon.uplink?.report().status, "connected");
  };
  await fc.assert(fc.asyncProperty(asked, run), { numRuns: 4 * RUNS });
});

Deno.test("whatever a relay sends, the daemon neither fails nor is stopped by it", async () => {
  await using w0 = relayWorld();
  await using w = await w0.daemon(1);
  const run = async (frames: (string | Uint8Array<ArrayBuffer>)[]) => {
    const far = w0.lines.at(-1)?.[1];
    for (const frame of frames) far?.send(frame);
    await w0.clock.settle();
    assert.ok(!w.logged.some((line) => line.includes('"level":"error"')), w.logged.join("\n"));
    assert.equal((await w.fetch("/health")).status, 200);
    await w0.beat(3, w);
  };
  await fc.assert(fc.asyncProperty(said, run), { numRuns: RUNS });
});

Deno.test("a piece of a body is unpacked as it was packed", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 0xffff_ffff }),
      fc.uint8Array({ minLength: 1 }),
      (id, some) => {
        const bytes = new Uint8Array(some);
        assert.deepEqual(unpackChunk(packChunk(id, bytes).buffer), { id, bytes });
      },
    ),
  );
});

Deno.test("no frame names another version than the one that is spoken", () => {
  assert.equal(Frame.safeParse({ type: "hello", protocol: PROTOCOL }).success, false);
});
