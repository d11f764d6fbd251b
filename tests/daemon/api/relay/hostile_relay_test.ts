/** A relay that tries to exhaust a daemon's memory or time gets a bounded part of them. */

import assert from "node:assert/strict";
import { TOTAL_BODY_BYTES_MAX } from "kit/http/body_limiter.ts";
import {
  type Frame,
  PROTOCOL,
  READ_BYTES_MAX,
  STREAM_WINDOW_BYTES,
  WAITING_BYTES_MAX,
} from "kit/net/tunnel/frames.ts";
import { packMessage, unpackMessage } from "kit/net/tunnel/packing.ts";
import type { OpenSocket } from "../../../../daemon/api/relay/relay_client.ts";
import {
  RequestScheduler,
  type TunnelRequest,
} from "../../../../daemon/api/relay/tunnel_requests.ts";
import { addPeer, notify } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";
import { FakeConnection } from "../../../support/relay/network.ts";
import { RELAY, SECRET } from "../../../support/relay/relay_world.ts";

const RELAY_SETTINGS = { "relay.enabled": "true", "relay.url": RELAY, "relay.secret": SECRET };
const MEBIBYTE = 1_048_576;
const PAGE = { path: "/messages?limit=500" };
const PIECE = new Uint8Array(65_536).fill(0x20);

/** A daemon with a scripted relay that grants no credit. */
async function hostile() {
  const frames: Frame[] = [];
  let daemonEnd: FakeConnection | undefined;
  const openSocket: OpenSocket = (_address, _headers, listener) => {
    const [localEnd, remoteEnd] = FakeConnection.pair(listener, {
      opened: () => undefined,
      received: (data) => {
        if (typeof data === "string") return;
        const items = unpackMessage(data);
        for (const item of items) if (typeof item === "string") frames.push(JSON.parse(item));
      },
      closed: () => undefined,
    });
    daemonEnd = remoteEnd;
    localEnd.notifyOpened();
    queueMicrotask(() => remoteEnd.send(JSON.stringify({ type: "welcome", protocol: PROTOCOL })));
    return localEnd;
  };
  const w = world({ openSocket, settings: RELAY_SETTINGS });
  w.daemon.tick();
  await w.clock.settle();
  const sendFrame = (frame: object) => daemonEnd?.send(packMessage([JSON.stringify(frame)]));
  const request = { type: "request", method: "GET", headers: [], body: false, door: "program" };
  return {
    w,
    sendFrame,
    ask: (id: number, more: object) => sendFrame({ ...request, id, ...more }),
    bytes: (id: number, bytes: Uint8Array<ArrayBuffer>) =>
      daemonEnd?.send(packMessage([{ id, bytes }])),
    count: (type: Frame["type"]) => frames.filter((frame) => frame.type === type).length,
    get open() {
      return daemonEnd?.open ?? false;
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

for (const lengths of [["5"], ["5", "6"], ["5, 6"], ["many"]]) {
  Deno.test(`a request longer than announced (${lengths}) ends the tunnel [c9.tunnel.bounds]`, async () => {
    await using relay = await hostile();
    const headers = lengths.map((length) => ["content-length", length]);
    relay.ask(1, { method: "POST", path: "/notify", headers, body: true });
    relay.bytes(1, PIECE);
    await relay.w.clock.settle();
    assert.equal(relay.open, false);
  });
}

Deno.test("a request of the announced length is answered", async () => {
  await using relay = await hostile();
  const headers = [["Content-Length", "2"]];
  relay.ask(1, { method: "POST", path: "/notify", headers, body: true });
  relay.bytes(1, new TextEncoder().encode("{}"));
  relay.sendFrame({ type: "end", id: 1 });
  await relay.w.clock.settle();
  assert.deepEqual([relay.open, relay.count("response")], [true, 1]);
});

Deno.test("unfinished requests hold a bounded amount of memory [c9.tunnel.bounds]", async () => {
  await using relay = await hostile();
  const max = READ_BYTES_MAX / MEBIBYTE, requests = 2 * max;
  const pieces = MEBIBYTE / PIECE.length - 1;
  for (let id = 1; id <= requests; id++) {
    relay.ask(id, { method: "POST", path: "/notify", body: true });
  }
  await relay.w.clock.settle();
  for (let sent = 0; sent < requests * pieces; sent++) {
    relay.bytes(1 + sent % requests, PIECE);
    if (sent % (STREAM_WINDOW_BYTES / PIECE.length) === 0) await relay.w.clock.settle();
  }
  await relay.w.clock.settle();
  // The daemon ends the oldest bodies before the tunnel's own limit does, and answers 408.
  const left = requests - relay.count("cancel") - relay.count("response");
  assert.equal(relay.open, true);
  assert.ok(left * pieces * PIECE.length <= READ_BYTES_MAX, `${left} of ${requests} are held`);
  assert.ok(left * MEBIBYTE > TOTAL_BODY_BYTES_MAX / 2, `${left} of ${requests} are held`);
});

Deno.test("answers that a relay does not take hold a bounded amount of memory [c9.tunnel.bounds]", async () => {
  await using relay = await hostile();
  const { w } = relay;
  for (const name of ["web", "api"]) await addPeer(w, name);
  const text = "x".repeat(60_000);
  for (let count = 0; count < 20; count++) {
    await notify(w, "web", "api", text);
  }
  relay.ask(1, PAGE);
  await relay.w.clock.settle();
  const size = 1_000_000;
  const requests = Math.ceil(2 * WAITING_BYTES_MAX / size);
  for (let id = 2; id <= requests; id++) {
    relay.ask(id, PAGE);
    await relay.w.clock.settle();
  }
  const left = requests - relay.count("cancel");
  assert.ok(left * size <= 1.1 * WAITING_BYTES_MAX, `${left} of ${requests} wait`);
});

Deno.test("concurrent requests of a relay start in turns, and cancelled ones do not start", async () => {
  const turns = new RequestScheduler();
  const begun: number[] = [];
  const given_up = new AbortController();
  given_up.abort();
  const { signal } = new AbortController();
  const stream = (ended: AbortSignal) => ({ ended }) as TunnelRequest["stream"];
  for (let number = 0; number < 12; number++) {
    turns.schedule(stream(number === 5 ? given_up.signal : signal), () => void begun.push(number));
  }
  const counts = [begun.length];
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    counts.push(begun.length);
  }
  assert.deepEqual(counts, [4, 8, 11, 11]);
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]);
});
