/** Frames and bodies of 10 MB, on every way in: a clear refusal, and bounded memory. */

import assert from "node:assert/strict";
import { PROTOCOL } from "kit/net/tunnel/frames.ts";
import { systemClock } from "kit/core/clock.ts";
import { socketsOf } from "../../../daemon/api/relay/relay_socket.ts";
import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { residentMb } from "../../support/programs/process_facts.ts";
import { RealRelay, SECRET } from "../../support/e2e/relay_lab.ts";
import { until } from "../../support/waiting.ts";

const SIZE = 10_000_000;
const REPEATS = 20;
/** Some of the frames in memory at once, but not all of them. */
const GROWTH_MB_MAX = 120;

const CONNECT = { type: "connect", display_name: "bob", backend: "sdk", path: "/work" };

/** Opens a socket; `next` resolves with the next frame, or with the code of the close. */
async function open(base: string) {
  const socket = new WebSocket(`${base.replace("http", "ws")}/ws`);
  const waiting: ((frame: unknown) => void)[] = [];
  const arrived: unknown[] = [];
  const add = (frame: unknown) => {
    const wake = waiting.shift();
    if (wake) wake(frame);
    else arrived.push(frame);
  };
  socket.onmessage = ({ data }) => add(JSON.parse(data));
  socket.onclose = ({ code }) => add(code);
  await new Promise((resolve) => socket.onopen = resolve);
  return {
    send: (frame: unknown) => socket.send(JSON.stringify(frame)),
    // deno-lint-ignore no-explicit-any
    next: (): Promise<any> =>
      arrived.length > 0
        ? Promise.resolve(arrived.shift())
        : new Promise((resolve) => waiting.push(resolve)),
    close: () => socket.close(),
  };
}

Deno.test("a frame of 10 MB is refused, the socket stays open, and memory is bounded", async () => {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path);
  const text = "x".repeat(SIZE);
  const early = await open(daemon.base);
  early.send({ ...CONNECT, display_name: text });
  assert.match((await early.next()).detail, /larger than 1 MiB/);
  assert.equal(await early.next(), 4002);
  const bob = await open(daemon.base);
  bob.send(CONNECT);
  assert.equal((await bob.next()).type, "connected");
  const before_mb = residentMb(daemon.pid);
  for (let number = 1; number < REPEATS; number++) { // The twentieth in a minute would close it.
    bob.send({ type: "notify", request_id: `${number}`, to_peer: "bob", text });
    const { error, detail } = await bob.next();
    assert.deepEqual([error, detail], ["bad_frame", "The frame is larger than 1 MiB"]);
  }
  const grown_mb = residentMb(daemon.pid) - before_mb;
  assert.ok(grown_mb < GROWTH_MB_MAX, `memory grew by ${Math.round(grown_mb)} MB`);
  bob.close();
});

Deno.test("a body of 10 MB is refused as too large, with and without its length", async () => {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path);
  const before_mb = residentMb(daemon.pid);
  for (let number = 0; number < REPEATS; number++) {
    const bytes = new Uint8Array(SIZE).fill(0x20);
    const body = number % 2 === 0 ? bytes : ReadableStream.from([bytes]);
    const response = await fetch(`${daemon.base}/notify`, { method: "POST", body });
    const { error } = await response.json();
    assert.deepEqual([response.status, error], [413, "body_too_large"]);
  }
  const grown_mb = residentMb(daemon.pid) - before_mb;
  assert.ok(grown_mb < GROWTH_MB_MAX, `memory grew by ${Math.round(grown_mb)} MB`);
});

Deno.test("a message of 10 MB ends a tunnel with its reason, before and after the handshake", async () => {
  await using relay = new RealRelay();
  const headers = { authorization: `Bearer ${SECRET}`, "x-mesh-daemon-id": "dm-0123456789ab" };
  const hello = { type: "hello", protocol: PROTOCOL, machine: "m", version: "1", capabilities: {} };
  for (const isGreeted of [false, true]) {
    let end: string | undefined;
    const socket = socketsOf({ env: {}, clock: systemClock })(
      `${relay.url.replace("http", "ws")}/ws/daemon`,
      headers,
      {
        opened: () => socket.send(isGreeted ? JSON.stringify(hello) : new Uint8Array(SIZE)),
        received: () => socket.send(new Uint8Array(SIZE)),
        closed: (code, reason) => end = `${code} ${reason}`,
      },
    );
    const closed = await until("the end of the tunnel", () => end);
    assert.match(closed, /^4\d\d\d \w/);
  }
  const health = await (await fetch(`${relay.url}/health`)).json();
  assert.equal(health.status, "ok");
});
