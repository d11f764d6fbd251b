import assert from "node:assert/strict";
import { HANDSHAKE_MS_MAX, PING_EVERY_MS } from "kit/net/tunnel/frames.ts";
import { unpackMessage } from "kit/net/tunnel/packing.ts";
import { getHealth } from "protocol/api/events.ts";
import { readConfig } from "../../../../daemon/app/config.ts";
import type { OpenSocket } from "../../../../daemon/api/relay/relay_client.ts";
import { eventData } from "../../../support/daemon/peer_clients.ts";
import { countingIds } from "../../../support/ids.ts";
import { type World, world } from "../../../support/world.ts";
import { FakeConnection } from "../../../support/relay/network.ts";
import {
  daemonId,
  NAMESPACE,
  OTHER_SECRET,
  RELAY,
  relayWorld,
  SECRET,
} from "../../../support/relay/relay_world.ts";

const RELAY_SETTINGS = { "relay.enabled": "true", "relay.url": RELAY, "relay.secret": SECRET };

/** A scripted relay: records each connection attempt, and answers it. */
function scriptedRelay(onDial: (end: FakeConnection, listener: Parameters<OpenSocket>[2]) => void) {
  const dialled_at: number[] = [];
  let clock: { now(): number } | undefined;
  const frames: unknown[] = [];
  const openSocket: OpenSocket = (_address, _headers, listener) => {
    dialled_at.push(clock?.now() ?? 0);
    const [daemonEnd, relayEnd] = FakeConnection.pair(listener, {
      opened: () => undefined,
      received: (data) => {
        const items = typeof data === "string" ? [data] : unpackMessage(data);
        for (const item of items) if (typeof item === "string") frames.push(JSON.parse(item));
      },
      closed: () => undefined,
    });
    daemonEnd.notifyOpened();
    onDial(relayEnd, listener);
    return daemonEnd;
  };
  return {
    dialled_at,
    frames,
    openSocket,
    on: (w: World) => void (clock = w.clock),
  };
}

const welcome = (end: FakeConnection) => {
  queueMicrotask(() => end.send(JSON.stringify({ type: "welcome", protocol: 1 })));
};

/** Lets this many seconds pass, with a tick in each. */
async function tickSeconds(w: World, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) await w.tick();
}

async function relayOf(w: World) {
  const { relay } = await w.call(getHealth, {});
  return relay;
}

Deno.test("a daemon without a configured relay opens no connection", async () => {
  await using w = world({ openSocket: () => assert.fail("It dialled") });
  await tickSeconds(w, 3);
  assert.deepEqual(await relayOf(w), {
    status: "disabled",
    url: null,
    last_connected_at: null,
    last_error: null,
  });
});

Deno.test("health reports the tunnel: connecting, connected, down [c3.health.relay]", async () => {
  await using r = relayWorld();
  const w = world({ clock: r.clock, openSocket: r.openSocket, settings: RELAY_SETTINGS });
  assert.equal((await relayOf(w)).status, "down");
  w.daemon.tick();
  assert.equal((await relayOf(w)).status, "connecting");
  await r.clock.settle();
  const at = new Date(r.clock.now()).toISOString();
  const url = RELAY;
  assert.deepEqual(await relayOf(w), {
    status: "connected",
    last_heard_at: at,
    url,
    last_connected_at: at,
    last_error: null,
  });
  r.connections[0]?.[0].cut();
  const last_error = "the connection was lost";
  assert.deepEqual(await relayOf(w), { status: "down", url, last_connected_at: at, last_error });
  await w[Symbol.asyncDispose]();
});

Deno.test("the event relay_status reports a change once, however many attempts follow [c2.event.relay-status]", async () => {
  const relay = scriptedRelay((_end, listener) =>
    queueMicrotask(() => listener.closed(0, "", "NetworkError: tcp connect error"))
  );
  await using w = world({ openSocket: relay.openSocket, settings: RELAY_SETTINGS });
  relay.on(w);
  await tickSeconds(w, 120);
  assert.ok(relay.dialled_at.length > 3);
  assert.deepEqual(eventData(w, "relay_status"), [
    { status: "down", url: RELAY, reason: "tcp connect error" },
  ]);
});

Deno.test("the backoff grows with each failure, up to a minute [c9.tunnel.backoff]", async () => {
  const relay = scriptedRelay((_end, listener) =>
    queueMicrotask(() => listener.closed(0, "", "no"))
  );
  await using w = world({ openSocket: relay.openSocket, settings: RELAY_SETTINGS });
  relay.on(w);
  await tickSeconds(w, 200);
  const waits_ms = relay.dialled_at.slice(1).map((at, index) =>
    at - (relay.dialled_at[index] ?? 0)
  );
  for (const [index, rest] of waits_ms.entries()) {
    const max = Math.min(60_000, 1000 * 2 ** (index + 1));
    assert.ok(rest >= max / 2 && rest <= max + 1000, `rest ${index} was ${rest} ms`);
  }
  assert.ok(waits_ms.length > 5 && waits_ms.length < 12, `${waits_ms.length} rests`);
});

Deno.test("daemons that lose their relay at the same time do not reconnect at the same time [c9.tunnel.jitter]", async () => {
  const second_dial = async (drawn: string) => {
    const relay = scriptedRelay((_end, listener) =>
      queueMicrotask(() => listener.closed(0, "", "no"))
    );
    const ids = { ...countingIds(), hex: () => drawn };
    await using w = world({ openSocket: relay.openSocket, settings: RELAY_SETTINGS, ids });
    relay.on(w);
    await tickSeconds(w, 4);
    return (relay.dialled_at[1] ?? 0) - (relay.dialled_at[0] ?? 0);
  };
  assert.deepEqual([await second_dial("0000"), await second_dial("ffff")], [1000, 2000]);
});

Deno.test("after a stable connection the backoff is short again", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1);
  await r.tick(31, w);
  r.connections[0]?.[0].cut();
  await r.tick(2, w);
  assert.equal((await relayOf(w)).status, "connected");
  assert.equal(r.dials.length, 2);
});

Deno.test("a silent relay is abandoned after a timeout, and connected to again", async () => {
  const relay = scriptedRelay(() => undefined);
  await using w = world({ openSocket: relay.openSocket, settings: RELAY_SETTINGS });
  relay.on(w);
  await tickSeconds(w, 1 + HANDSHAKE_MS_MAX / 1000);
  assert.match((await relayOf(w)).last_error ?? "", /no answer within 10 s/);
  await tickSeconds(w, 5);
  assert.equal(relay.dialled_at.length, 2);
});

Deno.test("an unsupported protocol version is reported with its number", async () => {
  const detail = "The daemon speaks version 1 of the tunnel, the relay 7";
  const relay = scriptedRelay((end) =>
    queueMicrotask(() => {
      end.send(JSON.stringify({ type: "refused", error: "unknown_protocol", detail }));
      end.close(4005, "unknown_protocol");
    })
  );
  await using w = world({ openSocket: relay.openSocket, settings: RELAY_SETTINGS });
  relay.on(w);
  await w.tick();
  const { status, last_error } = await relayOf(w);
  assert.deepEqual([status, last_error], ["down", detail]);
});

for (
  const [error, explanation] of [
    [
      "NetworkError: failed to connect to WebSocket: Invalid status code: 401",
      /does not accept relay.secret/,
    ],
    ["NetworkError: failed to connect to WebSocket: Invalid status code: 302", /answered 302/],
    ["NetworkError: failed to connect to WebSocket: tcp connect error", /tcp connect error/],
  ] as const
) {
  Deno.test(`the reason of a failed connection is explained: ${explanation.source}`, async () => {
    const relay = scriptedRelay((_end, listener) =>
      queueMicrotask(() => listener.closed(0, "", error))
    );
    await using w = world({ openSocket: relay.openSocket, settings: RELAY_SETTINGS });
    relay.on(w);
    await w.tick();
    assert.match((await relayOf(w)).last_error ?? "", explanation);
  });
}

Deno.test("a daemon that is superseded twice in a minute stops connecting, and says so [c9.tunnel.replaced]", async () => {
  await using r = relayWorld();
  await using original = await r.daemon(1);
  await using copy = await r.daemon(1);
  assert.equal((await relayOf(original)).status, "down");
  await r.tick(30, original, copy);
  const all = [await relayOf(original), await relayOf(copy)];
  const stopped = all.filter(({ last_error }) => /has stopped connecting/.test(last_error ?? ""));
  assert.equal(stopped.length, 1, JSON.stringify(all));
  assert.match(stopped[0]?.last_error ?? "", new RegExp(daemonId(1)));
  assert.equal(all.filter(({ status }) => status === "connected").length, 1);
  const dialled = r.dials.length;
  await r.tick(200, original, copy);
  assert.equal(r.dials.length, dialled);
});

Deno.test("a daemon that was superseded once connects again", async () => {
  let dials = 0;
  const relay = scriptedRelay((end) => {
    welcome(end);
    if (++dials === 1) queueMicrotask(() => end.close(4009, "superseded"));
  });
  await using w = world({ openSocket: relay.openSocket, settings: RELAY_SETTINGS });
  relay.on(w);
  await tickSeconds(w, 5);
  assert.deepEqual([dials, (await relayOf(w)).status], [2, "connected"]);
});

Deno.test("two unanswered pings end the connection [c9.tunnel.heartbeat]", async () => {
  const relay = scriptedRelay(welcome);
  await using w = world({ openSocket: relay.openSocket, settings: RELAY_SETTINGS });
  relay.on(w);
  await tickSeconds(w, 3 * PING_EVERY_MS / 1000 + 2);
  const pings = relay.frames.filter((frame) => (frame as { type: string }).type === "ping");
  assert.equal(pings.length, 2);
  assert.ok(relay.dialled_at.length >= 2);
});

Deno.test("a relay that sends malformed frames is disconnected", async () => {
  const relay = scriptedRelay((end) => {
    welcome(end);
    queueMicrotask(() => end.send("{}"));
  });
  await using w = world({ openSocket: relay.openSocket, settings: RELAY_SETTINGS });
  relay.on(w);
  w.daemon.tick();
  await w.clock.settle();
  assert.equal((await relayOf(w)).status, "down");
});

Deno.test("a daemon that shuts down closes its tunnel, and records no further events", async () => {
  await using r = relayWorld();
  const w = await r.daemon(1);
  const statusEventCount = eventData(w, "relay_status").length;
  await w[Symbol.asyncDispose]();
  await r.clock.settle();
  assert.deepEqual(r.relay.machines.list(NAMESPACE), []);
  assert.equal(eventData(w, "relay_status").length, statusEventCount);
  assert.ok(r.logged.some((line) => line.includes("going_away")));
});

Deno.test("a reason from the relay cannot control a terminal", async () => {
  const detail = "no\x1b[2J\u202e room";
  const relay = scriptedRelay((end) =>
    queueMicrotask(() => end.send(JSON.stringify({ type: "refused", error: "x", detail })))
  );
  await using w = world({ openSocket: relay.openSocket, settings: RELAY_SETTINGS });
  relay.on(w);
  await tickSeconds(w, 1);
  assert.equal((await relayOf(w)).last_error, "no[2J room");
});

Deno.test("two daemons with different secrets and the same id do not see each other", async () => {
  await using r = relayWorld();
  await using first = await r.daemon(1);
  await using second = await r.daemon(1, { secret: OTHER_SECRET });
  await r.tick(3, first, second);
  const statuses = [(await relayOf(first)).status, (await relayOf(second)).status];
  assert.deepEqual(statuses, ["connected", "connected"]);
});

for (
  const [what, settings, refusal] of [
    ["http to elsewhere", { "url": "http://relay.example" }, /relay\.url/],
    ["ws to elsewhere", { "url": "ws://relay.example" }, /relay\.url/],
    ["a path", { "url": "https://relay.example/mesh" }, /relay\.url/],
    ["a query", { "url": "https://relay.example/?a=1" }, /relay\.url/],
    ["a name in it", { "url": "https://sam:pw@relay.example" }, /relay\.url/],
    ["another scheme", { "url": "ftp://relay.example" }, /relay\.url/],
    ["no address", { "url": "relay" }, /relay\.url/],
    ["no address at all", { "url": undefined }, /relay\.url: found nothing/],
    ["a secret of another form", { "secret": "hunter2" }, /relay\.secret: found a value/],
    ["no secret", { "secret": undefined }, /relay\.secret: found nothing/],
  ] as const
) {
  Deno.test(`a relay with ${what} stops the start, and its configuration key is named [c9.tunnel.plain]`, () => {
    const relay = { enabled: true, url: RELAY, secret: SECRET, ...settings };
    const read = () => readConfig({ MESH_CONFIG: "/c.yaml" }, () => JSON.stringify({ relay }));
    assert.throws(read, refusal);
    assert.throws(read, (error: Error) => !error.message.includes("hunter2"));
  });
}

for (
  const [url, kept] of [
    ["https://relay.example", "https://relay.example"],
    ["https://relay.example/", "https://relay.example"],
    ["wss://relay.example:444", "https://relay.example:444"],
    ["http://127.0.0.1:8378", "http://127.0.0.1:8378"],
    ["ws://localhost:8378", "http://localhost:8378"],
    ["http://[::1]:8378", "http://[::1]:8378"],
  ] as const
) {
  Deno.test(`a relay at ${url} is accepted`, () => {
    const relay = { enabled: true, url, secret: SECRET };
    const config = readConfig({ MESH_CONFIG: "/c.yaml" }, () => JSON.stringify({ relay }));
    assert.equal(config["relay.url"], kept);
    assert.equal(JSON.stringify(config["relay.secret"]), '"[hidden]"');
    assert.equal(config["relay.allow_admin"], false);
  });
}
