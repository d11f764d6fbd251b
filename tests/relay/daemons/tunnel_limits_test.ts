import assert from "node:assert/strict";
import {
  HEAD_BYTES_MAX,
  PING_EVERY_MS,
  PINGS_RECEIVED_MAX,
  STREAMS_MAX,
  UNTAKEN_BYTES_MAX,
} from "kit/net/tunnel/frames.ts";
import { MultiplexedConnection } from "kit/net/tunnel/multiplexed.ts";
import type { ConnectionListener } from "kit/net/tunnel/connection.ts";
import { Problem } from "protocol/problems.ts";
import { packMessage, unpackMessage } from "kit/net/tunnel/packing.ts";
import { accept } from "../../../relay/app/main.ts";
import { DAEMONS_MAX, DAEMONS_OF_SECRET_MAX } from "../../../relay/daemons/machine_registry.ts";
import { FakeClock } from "../../support/clock.ts";
import { helloFrame, ScriptedDaemon } from "../../support/relay/scripted_daemon.ts";
import {
  daemonId,
  NAMESPACE,
  RELAY,
  type RelayWorld,
  relayWorld,
  SECRET,
} from "../../support/relay/relay_world.ts";

const open = { open: true, buffered: 0, send: () => undefined, close: () => undefined };

/** A connected daemon that does nothing. */
function registeredDaemon(r: RelayWorld, number: number) {
  const identity = { namespace: NAMESPACE, daemon_id: daemonId(number) };
  let ears: ConnectionListener | undefined;
  r.relay.machines.connect(identity, (received) => {
    ears = received;
    return { response: new Response(null), connection: open };
  });
  ears?.received(JSON.stringify(helloFrame("here")));
}

async function openSocket(r: RelayWorld, number: number): Promise<unknown> {
  const headers = {
    "authorization": `Bearer ${SECRET}`,
    "x-mesh-daemon-id": daemonId(number),
    "upgrade": "websocket",
  };
  const answer = await r.fetch("/ws/daemon", { headers });
  return (await answer.json()).error;
}

Deno.test("machines are limited per secret, and each may reconnect [c9.tunnel.bounds]", async () => {
  await using r = relayWorld();
  for (let number = 1; number <= DAEMONS_OF_SECRET_MAX; number++) registeredDaemon(r, number);
  assert.equal(r.relay.machines.size, DAEMONS_OF_SECRET_MAX);
  assert.equal(await openSocket(r, DAEMONS_OF_SECRET_MAX + 1), "too_many_daemons");
  for (const number of [1, DAEMONS_OF_SECRET_MAX + 1]) registeredDaemon(r, number);
  assert.equal(r.relay.machines.size, DAEMONS_OF_SECRET_MAX);
});

Deno.test("a failed upgrade does not count as a connection [c9.tunnel.bounds]", async () => {
  await using r = relayWorld();
  const identity = { namespace: NAMESPACE, daemon_id: daemonId(1) };
  const { machines } = r.relay;
  for (let number = 0; number < DAEMONS_MAX; number++) {
    assert.throws(() =>
      machines.connect(identity, () => {
        throw new Problem("upgrade_required", {});
      }), { code: "upgrade_required" });
  }
  machines.refuseIfFull(identity);
});

Deno.test("an incomplete WebSocket handshake is a 426, not a 500", () => {
  const asked = new Request("http://127.0.0.1/ws/daemon", { headers: { upgrade: "websocket" } });
  const ears = { opened: () => undefined, received: () => undefined, closed: () => undefined };
  assert.throws(() => accept(asked, ears), { code: "upgrade_required" });
});

Deno.test("beyond its limit of open requests a daemon cancels the next as not taken", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1);
  const [relayEnd, daemonEnd] = r.connections[0] ?? [];
  const request = (id: number) =>
    JSON.stringify({
      type: "request",
      id,
      method: "POST",
      path: "/ask",
      headers: [],
      body: true,
      door: "program",
    });
  for (let id = 1; id <= STREAMS_MAX + 1; id++) daemonEnd?.send(packMessage([request(id)]));
  await r.clock.settle();
  const items = (relayEnd?.sent ?? []).flatMap((data) => {
    return typeof data === "string" ? [] : unpackMessage(data);
  });
  const cancels = items.map((item) => JSON.parse(String(item))).filter(({ type }) =>
    type === "cancel"
  );
  assert.deepEqual(cancels.map(({ id, taken }) => [id, taken]), [[STREAMS_MAX + 1, false]]);
});

Deno.test("a daemon that sends too many pings is disconnected [c9.tunnel.bad-frames]", async () => {
  await using r = relayWorld();
  const address = RELAY.replace("https", "wss");
  const wishes = { address, secret: SECRET, daemon_id: daemonId(1) };
  const daemon = ScriptedDaemon.openSocket(r.openSocket, wishes);
  await r.clock.settle();
  const pings = Array.from({ length: PINGS_RECEIVED_MAX }, (_, ping_id) => {
    return JSON.stringify({ type: "ping", ping_id });
  });
  daemon.sendBytes(packMessage(pings));
  await r.tick(PING_EVERY_MS / 1000);
  daemon.sendBytes(packMessage(pings));
  await r.clock.settle();
  assert.equal(daemon.of("pong").length, 2 * PINGS_RECEIVED_MAX);
  assert.equal(r.relay.machines.size, 1);
  daemon.sendFrame({ type: "ping", ping_id: 1 });
  await r.clock.settle();
  assert.equal(daemon.closed?.code, 4002);
});

Deno.test("an end that does not read is disconnected [c9.tunnel.bounds]", () => {
  let [buffered, closed] = [UNTAKEN_BYTES_MAX, 0];
  const connection = {
    get open() {
      return closed === 0;
    },
    get buffered() {
      return buffered;
    },
    send: () => undefined,
    close: (code: number) => closed = code,
  };
  const trunk = new MultiplexedConnection(connection, { clock: new FakeClock() });
  const sendFrame = () => trunk.sendFrame({ type: "credit", id: 0, bytes: 1 });
  sendFrame();
  assert.equal(closed, 0);
  buffered++;
  sendFrame();
  assert.equal(closed, 4013);
});

Deno.test("a request with a used id closes the connection", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1);
  const head = { type: "request", method: "GET", path: "/health", headers: [], body: false };
  const request = JSON.stringify({ ...head, id: 1, door: "program" });
  r.connections[0]?.[1].send(packMessage([request, request]));
  await r.clock.settle();
  assert.equal(w.daemon.relayClient?.report().status, "down");
});

Deno.test("a head longer than a frame is refused", () => {
  const long = "x".repeat(HEAD_BYTES_MAX + 1);
  assert.equal(typeof unpackMessage(packMessage([long]).buffer), "string");
  assert.deepEqual(unpackMessage(packMessage([long.slice(1)]).buffer), [long.slice(1)]);
});
