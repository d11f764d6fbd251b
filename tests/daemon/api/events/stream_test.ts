import assert from "node:assert/strict";
import { type World, world } from "../../../support/world.ts";
import { addPeer, ask, get, notify, post } from "../../../support/daemon/peer_clients.ts";

interface Frame {
  id?: number;
  event?: string;
  data?: Record<string, unknown>;
  comment?: string;
}

/** A reader of the stream, which takes a chunk when the test says so. */
class Reader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #gone = new AbortController();
  readonly response: Response;

  private constructor(response: Response, gone: AbortController) {
    this.response = response;
    this.#gone = gone;
    assert.ok(response.body);
    this.#reader = response.body.getReader();
  }

  static async open(w: World, query = "", headers: Record<string, string> = {}) {
    const gone = new AbortController();
    const init = { headers, signal: gone.signal };
    return new Reader(await w.fetch(`/events/stream${query}`, init), gone);
  }

  async next(): Promise<Frame | undefined> {
    const { value } = await this.#reader.read();
    return value && toFrame(new TextDecoder().decode(value));
  }

  async take(count: number): Promise<(Frame | undefined)[]> {
    const frames = [];
    for (let n = 0; n < count; n++) frames.push(await this.next());
    return frames;
  }

  async hangUp(): Promise<void> {
    this.#gone.abort();
    await this.#reader.cancel();
  }
}

function toFrame(text: string): Frame {
  assert.ok(text.endsWith("\n\n"));
  if (text.startsWith(":")) return { comment: text.trim() };
  const fields = Object.fromEntries(text.trim().split("\n").map((line) => line.split(/: (.*)/s)));
  return {
    ...(fields.id && { id: Number(fields.id) }),
    event: fields.event,
    data: JSON.parse(fields.data),
  };
}

const events = (frames: (Frame | undefined)[]) => frames.map((frame) => frame?.event);
const ids = (frames: (Frame | undefined)[]) => frames.map((frame) => frame?.id);

Deno.test("a stream begins with ready, then sends events as they happen [4.events.stream] [6.log] [c3.stream.ready]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  const reader = await Reader.open(w);
  const { headers } = reader.response;
  assert.equal(headers.get("content-type"), "text/event-stream");
  assert.equal(headers.get("access-control-allow-origin"), null);
  assert.deepEqual(await reader.next(), { event: "ready", data: { last: 1 } });
  const next = reader.next();
  await w.clock.settle();
  await post(w, "/peers/ada/name", { name: "eve" });
  assert.deepEqual(await next, {
    id: 2,
    event: "peer_updated",
    data: {
      id: 2,
      type: "peer_updated",
      timestamp: "2030-01-01T00:00:00.000Z",
      peer_id,
      name: "eve",
    },
  });
  await reader.hangUp();
});

Deno.test("a stream resumes after Last-Event-ID or ?since=, without repeats and gaps", async () => {
  await using w = world();
  for (const name of ["a", "b", "c", "d"]) await addPeer(w, name);
  for (
    const [query, headers, after] of [
      ["?since=2", {}, 3],
      ["", { "last-event-id": "1" }, 2],
      ["?since=3", { "last-event-id": "1" }, 2],
      ["?replay=1", {}, undefined],
      ["?replay=99", {}, 1],
    ] as const
  ) {
    const last = w.events.length;
    const first = after ?? last;
    const reader = await Reader.open(w, query, headers);
    assert.equal((await reader.next())?.event, "ready");
    const count = last - first + 1;
    const replayed = await reader.take(count);
    assert.deepEqual(ids(replayed), Array.from({ length: count }, (_, n) => first + n));
    const live = reader.next();
    await w.clock.settle();
    await post(w, "/peers/a/touch");
    await post(w, "/peers/a/description", { description: "x" });
    assert.equal((await live)?.id, w.events.at(-1)?.id);
    await reader.hangUp();
  }
});

Deno.test("a malformed id starts the stream live", async () => {
  await using w = world();
  await addPeer(w, "ada");
  for (const since of ["abc", "-1", "1.5", "", "9".repeat(30)]) {
    const reader = await Reader.open(w, `?since=${since}`);
    await reader.next();
    const live = reader.next();
    await w.clock.settle();
    await post(w, "/peers/ada/description", { description: since });
    assert.equal((await live)?.id, w.events.at(-1)?.id, since);
    await reader.hangUp();
  }
});

Deno.test("a reader whose position is no longer stored gets a gap frame first [c3.stream.gap]", async () => {
  await using w = world({ settings: { "daemon.history_days": "1" } });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  await w.clock.advance(86_400_001);
  await addPeer(w, "eve");
  w.daemon.tick();
  await w.clock.settle();
  const reader = await Reader.open(w, "?since=0");
  const [ready, gap, kept] = await reader.take(3);
  assert.equal(ready?.event, "ready");
  assert.deepEqual(gap, { event: "gap", data: { oldest: kept?.id } });
  assert.equal((await get(w, "/events")).events[0].id, kept?.id);
  await reader.hangUp();
  // All events are replayed: nothing is missing.
  const replaying = await Reader.open(w, "?replay=100");
  assert.deepEqual(ids(await replaying.take(2)), [undefined, kept?.id]);
  await replaying.hangUp();
});

Deno.test("a quiet stream of a page also sends an event with the daemon's time", async () => {
  await using w = world();
  const init = { signal: new AbortController().signal };
  const { body } = await w.fetch("/events/stream?surface=dashboard", init);
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.match((await reader?.read())?.value ?? "", /^event: ready\n/);
  const quiet = reader?.read();
  await w.clock.settle();
  await w.clock.advance(15_000);
  const { value = "" } = await quiet ?? {};
  const timestamp = new Date(w.clock.now()).toISOString();
  assert.equal(value, `: keep-alive\n\nevent: alive\ndata: {"timestamp":"${timestamp}"}\n\n`);
  await reader?.cancel();
});

Deno.test("a quiet stream sends a comment every 15 s [c3.stream.quiet]", async () => {
  await using w = world();
  const reader = await Reader.open(w);
  await reader.next();
  for (let n = 0; n < 2; n++) {
    const quiet = reader.next();
    await w.clock.advance(15_000);
    assert.match((await quiet)?.comment ?? "", /^:/);
  }
  await reader.hangUp();
});

Deno.test("a reader that is too slow is notified and disconnected, and loses nothing by resuming [c3.stream.too-slow]", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  const reader = await Reader.open(w);
  await reader.next();
  const first = reader.next();
  await w.clock.settle();
  for (let n = 0; n < 1100; n++) w.daemon.profiles.describe(peer_id, String(n));
  await w.clock.settle();
  const frames = [await first];
  for (let frame = await reader.next(); frame; frame = await reader.next()) frames.push(frame);
  assert.equal(frames.at(-1)?.event, "too_slow");
  const last = frames.at(-2)?.id ?? 0;
  assert.ok(last < 1101);
  const again = await Reader.open(w, `?since=${last}`);
  const rest = await again.take(1101 - last + 1);
  assert.deepEqual([ids(rest)[1], ids(rest).at(-1)], [last + 1, 1101]);
  await again.hangUp();
});

Deno.test("delivery steps are sent live only, without an id, and are not in the log [c2.event.delivery-live]", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const reader = await Reader.open(w);
  await reader.next();
  const frames = reader.take(2);
  await w.clock.settle();
  const { delivery_id } = await notify(w, "ada", "bob");
  const step = (await frames).find((frame) => frame?.event === "delivery");
  assert.equal(step?.id, undefined);
  assert.deepEqual([step?.data?.["delivery_id"], step?.data?.["state"]], [delivery_id, "queued"]);
  const { events: kept } = await get(w, "/events");
  assert.equal(kept.some(({ type }: { type: string }) => type === "delivery"), false);
  await reader.hangUp();
});

Deno.test("a change of what a peer does is sent live only, without an id, and not in the log", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  const reader = await Reader.open(w);
  await reader.next();
  const report = (turn_state: string) => post(w, "/peers/ada/turn", { turn_state });
  await report("working");
  await report("working");
  await report("idle");
  assert.deepEqual(await reader.take(2), [
    {
      event: "turn",
      data: { type: "turn", peer_id, status: "busy", turn_state: "working", waits_for: null },
    },
    {
      event: "turn",
      data: { type: "turn", peer_id, status: "online", turn_state: "idle", waits_for: null },
    },
  ]);
  const { events } = await get(w, "/events");
  assert.ok(!events.some(({ type }: { type: string }) => type === "turn"));
  await reader.hangUp();
});

Deno.test("no event contains message text [c2.event.no-text]", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const secret = "the words themselves";
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob", secret);
  await post(w, "/decline", { correlation_id: id, reason: secret });
  const asked = await ask(w, "bob", "sam", secret);
  await post(w, "/ack", { correlation_id: asked, message: secret });
  await notify(w, "ada", "bob", secret);
  await post(w, "/broadcast", { from_peer: "ada", text: secret });
  const { events: log } = await get(w, "/events");
  assert.ok(log.length >= 8);
  assert.doesNotMatch(JSON.stringify(log), /the words themselves/);
});

Deno.test("the log is read by id and type, page by page [c3.events.log]", async () => {
  await using w = world();
  for (const name of ["a", "b", "c"]) await addPeer(w, name);
  await post(w, "/peers/a/description", { description: "x" });
  const first = await get(w, "/events?type=peer_registered&limit=2");
  assert.deepEqual([first.events.length, first.next], [2, 2]);
  const rest = await get(w, `/events?type=peer_registered&limit=2&since=${first.next}`);
  assert.deepEqual(rest.events.map(({ name }: { name: string }) => name), ["c"]);
  assert.equal(rest.next, null);
});

Deno.test("the dashboard's stream is a surface, and taking an event is its receipt [4.events.dashboard] [6.dashboard-live] [2.inbox.pushes]", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  assert.deepEqual((await notify(w, "ada", "sam")).surfaces, []);
  const reader = await Reader.open(w, "?surface=dashboard");
  await reader.next();
  const frames = reader.take(3);
  await w.clock.settle();
  const { surfaces, inbox_item_id } = await notify(w, "ada", "sam");
  assert.deepEqual(surfaces, ["dashboard"]);
  const shown = (await frames).find((frame) => frame?.event === "inbox_item");
  assert.deepEqual(Object.keys(shown?.data ?? {}), [
    ...["id", "type", "timestamp", "item_id", "kind", "from", "from_peer_id", "correlation_id"],
  ]);
  await w.clock.settle();
  const [push] = (await get(w, `/inbox/${inbox_item_id}`)).pushes;
  assert.deepEqual([push.surface, push.status, push.surface_ref, push.verified], [
    "dashboard",
    "pushed",
    String(shown?.id),
    true,
  ]);
  await reader.hangUp();
  await w.clock.settle();
  assert.deepEqual((await notify(w, "ada", "sam")).surfaces, []);
});

Deno.test("a daemon that shuts down ends its streams", async () => {
  await using w = world();
  const reader = await Reader.open(w);
  assert.deepEqual(events([await reader.next()]), ["ready"]);
  const end = reader.next();
  await w.clock.settle();
  await w.daemon.shutDown();
  assert.equal(await end, undefined);
});

Deno.test("a stream is neither cached, changed nor held back by proxies, and its first frame comes at once [c11.stream.headers]", async () => {
  await using w = world();
  const head = await w.fetch("/events/stream", { method: "HEAD" });
  const reader = await Reader.open(w);
  for (const { headers } of [head, reader.response]) {
    assert.deepEqual(
      ["content-type", "cache-control", "x-accel-buffering"].map((name) => headers.get(name)),
      ["text/event-stream", "no-store, no-transform", "no"],
    );
  }
  assert.equal((await reader.next())?.event, "ready");
  await reader.hangUp();
});
