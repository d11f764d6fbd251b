import assert from "node:assert/strict";
import {
  CHUNK_BYTES_MAX,
  CONNECTION_WINDOW_BYTES,
  HELD_BYTES_MAX,
  STREAM_WINDOW_BYTES,
} from "kit/net/tunnel/frames.ts";
import { requestHeaders } from "kit/net/tunnel/headers.ts";
import { addPeer, notify } from "../../support/daemon/peer_clients.ts";
import { ScriptedDaemon } from "../../support/relay/scripted_daemon.ts";
import {
  daemonId,
  RELAY,
  type RelayWorld,
  relayWorld,
  SECRET,
} from "../../support/relay/relay_world.ts";

async function scriptedDaemon(r: RelayWorld, number = 1) {
  const address = RELAY.replace("https", "wss");
  const wishes = { address, secret: SECRET, daemon_id: daemonId(number) };
  const daemon = ScriptedDaemon.openSocket(r.openSocket, wishes);
  await daemon.whenOpened;
  await r.clock.settle();
  return daemon;
}

/** Sends a body as a daemon would, as far as its credit allows. */
function sender(daemon: ScriptedDaemon, id: number) {
  let [room, trunk, sent] = [STREAM_WINDOW_BYTES, CONNECTION_WINDOW_BYTES, 0];
  daemon.on = (frame) => {
    if (frame.type !== "credit") return;
    if (frame.id === id) room += frame.bytes;
    if (frame.id === 0) trunk += frame.bytes;
  };
  return {
    get sent() {
      return sent;
    },
    /** Sends as much as the credit allows now. */
    fill(max: number): void {
      while (sent < max && room > 0 && trunk > 0) {
        const length = Math.min(CHUNK_BYTES_MAX, room, trunk, max - sent);
        daemon.sendChunk(id, new Uint8Array(length));
        room -= length, trunk -= length, sent += length;
      }
    },
  };
}

async function begin(r: RelayWorld, daemon: ScriptedDaemon, path: `/${string}`) {
  const asking = r.ask(1, path);
  await r.clock.settle();
  const id = daemon.of("request").at(-1)?.id ?? 0;
  daemon.sendFrame({ type: "response", id, status: 200, headers: [], body: true });
  return { id, response: await asking };
}

Deno.test("a body that is not read stops at its window, and continues when it is read [c9.tunnel.flow]", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r);
  const { id, response } = await begin(r, daemon, "/big");
  const body = sender(daemon, id);
  const whole = 3 * STREAM_WINDOW_BYTES;
  body.fill(whole);
  await r.clock.settle();
  body.fill(whole);
  assert.equal(body.sent, STREAM_WINDOW_BYTES);
  assert.equal(r.relay.machines.held_bytes, STREAM_WINDOW_BYTES);
  const reader = response.body?.getReader();
  let read = 0;
  while (read < whole) {
    read += (await reader?.read())?.value?.length ?? 0;
    await Promise.resolve();
    if (read % STREAM_WINDOW_BYTES === 0) await r.clock.settle();
    body.fill(whole);
    assert.ok(r.relay.machines.held_bytes <= STREAM_WINDOW_BYTES);
  }
  daemon.sendFrame({ type: "end", id });
  assert.equal((await reader?.read())?.done, true);
  assert.equal(r.relay.machines.held_bytes, 0);
});

Deno.test("a slow reader delays no other request [c9.tunnel.concurrent]", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r);
  const slow = await begin(r, daemon, "/slow");
  sender(daemon, slow.id).fill(STREAM_WINDOW_BYTES);
  const quick = await begin(r, daemon, "/quick");
  daemon.sendChunk(quick.id, new TextEncoder().encode("at once"));
  daemon.sendFrame({ type: "end", id: quick.id });
  assert.equal(await quick.response.text(), "at once");
  await slow.response.body?.cancel();
});

Deno.test("at the limit of unread bytes the slowest reader is cut off [c9.tunnel.bounds]", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r);
  const count = HELD_BYTES_MAX / STREAM_WINDOW_BYTES + 4;
  const all = [];
  for (let at = 0; at < count; at++) {
    const stream = await begin(r, daemon, `/slow-${at}`);
    sender(daemon, stream.id).fill(STREAM_WINDOW_BYTES);
    await r.clock.settle();
    all.push(stream);
    assert.ok(r.relay.machines.held_bytes <= HELD_BYTES_MAX);
  }
  assert.equal(daemon.closed, undefined);
  const cut = daemon.of("cancel").map(({ id, why }) => [id, why]);
  assert.deepEqual(cut, all.slice(0, 4).map(({ id }) => [id, "its reader is too slow"]));
  await assert.rejects(all[0]?.response.text() ?? Promise.resolve(), /too slow/);
  for (const { response } of all.slice(4)) await response.body?.cancel();
  assert.equal(r.relay.machines.held_bytes, 0);
});

Deno.test("cancelling a response cancels the request at the daemon [c9.tunnel.cancel]", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1, { settings: { "human.name": "sam" } });
  const surfaces = async () => (await notify(w, "cli", "sam")).surfaces;
  const stream = await r.ask(1, "/events/stream?surface=dashboard");
  const reader = stream.body?.getReader();
  await reader?.read();
  assert.deepEqual(await surfaces(), ["dashboard"]);
  await reader?.cancel();
  await r.clock.settle();
  assert.deepEqual(await surfaces(), []);
  assert.equal(r.relay.machines.requests, 0);
});

Deno.test("the event stream passes the tunnel without delay [c9.tunnel.streams]", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1);
  const stream = await r.ask(1, "/events/stream");
  assert.equal(stream.headers.get("content-type"), "text/event-stream");
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.match((await reader?.read())?.value ?? "", /event: ready/);
  const next = reader?.read();
  await addPeer(w, "api");
  assert.match((await next)?.value ?? "", /event: peer_registered/);
  await reader?.cancel();
});

Deno.test("a body fails when the tunnel is lost, and does not end as complete", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r);
  const { id, response } = await begin(r, daemon, "/big");
  daemon.sendChunk(id, new Uint8Array(10));
  await r.clock.settle();
  r.connections[0]?.[1].cut();
  await assert.rejects(response.bytes(), /the tunnel broke/);
});

Deno.test("a completely received body can be read after the tunnel is lost", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r);
  const { id, response } = await begin(r, daemon, "/small");
  daemon.sendChunk(id, new Uint8Array(10));
  daemon.sendFrame({ type: "end", id });
  await r.clock.settle();
  r.connections[0]?.[1].cut();
  assert.equal((await response.bytes()).length, 10);
});

Deno.test("an upload waits at the daemon's window, and is cancelled with its source", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r);
  let pulled = 0, left = false;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      pulled += CHUNK_BYTES_MAX;
      controller.enqueue(new Uint8Array(CHUNK_BYTES_MAX));
    },
    cancel: () => void (left = true),
  });
  const asking = r.ask(1, "/attachments", { method: "POST", body });
  await r.clock.settle();
  const came = () => daemon.chunks.reduce((sum, { bytes }) => sum + bytes.length, 0);
  assert.equal(came(), STREAM_WINDOW_BYTES);
  assert.ok(pulled <= STREAM_WINDOW_BYTES + 4 * CHUNK_BYTES_MAX, `${pulled} bytes were drawn`);
  const id = daemon.of("request")[0]?.id ?? 0;
  daemon.sendFrame({ type: "credit", id, bytes: CHUNK_BYTES_MAX });
  await r.clock.settle();
  assert.equal(came(), STREAM_WINDOW_BYTES + CHUNK_BYTES_MAX);
  daemon.sendFrame({ type: "response", id, status: 413, headers: [], body: false });
  assert.equal((await asking).status, 413);
  await r.clock.settle();
  assert.equal(left, true);
});

Deno.test("a stalled connection loses nothing, and continues afterwards", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1);
  r.connections[0]?.[1].stall();
  const asking = r.ask(1, "/health");
  await r.clock.settle();
  r.connections[0]?.[1].resume();
  assert.equal((await asking).status, 200);
});

Deno.test("a daemon that sends too much credit is disconnected", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r);
  daemon.sendFrame({ type: "credit", id: 0, bytes: CONNECTION_WINDOW_BYTES });
  await r.clock.settle();
  assert.equal(daemon.closed?.code, 4002);
});

Deno.test("headers that identify the caller do not pass the tunnel", () => {
  const browserHeaders = new Headers({
    "Authorization": "x",
    "Cookie": "y",
    "Accept": "z",
    "X-Mesh-Peer": "p",
  });
  assert.deepEqual(requestHeaders(browserHeaders), [["accept", "z"]]);
});
