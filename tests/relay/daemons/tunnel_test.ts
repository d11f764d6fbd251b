import assert from "node:assert/strict";
import {
  HANDSHAKE_MS_MAX,
  PING_EVERY_MS,
  STREAM_WINDOW_BYTES,
  STREAMS_MAX,
} from "kit/net/tunnel/frames.ts";
import { isUnreachable } from "protocol/relay/daemons.ts";
import { ScriptedDaemon } from "../../support/relay/scripted_daemon.ts";
import {
  daemonId,
  NAMESPACE,
  OTHER_SECRET,
  RELAY,
  type RelayWorld,
  relayWorld,
  SECRET,
} from "../../support/relay/relay_world.ts";

const ADDRESS = RELAY.replace("https", "wss");

/** A daemon that does only what the test does with it. */
async function scriptedDaemon(
  r: RelayWorld,
  number = 1,
  more: { secret?: string; hello?: unknown } = {},
) {
  const wishes = { address: ADDRESS, secret: SECRET, daemon_id: daemonId(number), ...more };
  const daemon = ScriptedDaemon.openSocket(r.openSocket, wishes);
  await daemon.whenOpened;
  await r.clock.settle();
  return daemon;
}

/** The problem that a request was refused with. */
async function refusal(asking: Promise<unknown>) {
  const error: unknown = await asking.then(() => undefined, (error) => error);
  assert.ok(isUnreachable(error), String(error));
  return { code: error.code, delivered: error.fields.may_have_been_delivered };
}

Deno.test("a connected daemon is listed with the data of its hello [c9.tunnel.hello]", async () => {
  await using r = relayWorld();
  await using _d = await r.daemon(1);
  assert.deepEqual(r.relay.machines.list(NAMESPACE), [{
    daemon_id: daemonId(1),
    machine: "here",
    connected_at: r.clock.now(),
    version: "0.1.0",
    capabilities: { ask_pull_delivery: true, paired_devices: true },
  }]);
});

Deno.test("a request through the tunnel is answered by the daemon's route", async () => {
  await using r = relayWorld();
  await using d = await r.daemon(1);
  const answer = await r.ask(1, "/health");
  assert.equal(answer.status, 200);
  assert.equal((await answer.json()).daemon_id, d.daemon.identity.daemon_id);
});

Deno.test("a refusal of the daemon is passed on as its response", async () => {
  await using r = relayWorld();
  await using _d = await r.daemon(1);
  const answer = await r.ask(1, "/peers/nobody");
  assert.equal(answer.status, 404);
  assert.equal((await answer.json()).error, "unknown_peer");
});

Deno.test("a daemon sends its secret in a header, not in the URL [c9.tunnel.dial]", async () => {
  await using r = relayWorld();
  await using _d = await r.daemon(1);
  assert.equal(r.dials.length, 1);
  assert.equal(r.dials[0]?.address, `${ADDRESS}/ws/daemon`);
  assert.equal(r.dials[0]?.headers.get("authorization"), `Bearer ${SECRET}`);
  assert.equal(r.dials[0]?.headers.get("x-mesh-daemon-id"), daemonId(1));
});

for (
  const [what, headers, status, error] of [
    ["no secret", {}, 401, "unauthorized"],
    ["a secret of another form", { authorization: "Bearer hunter2" }, 401, "unauthorized"],
    [
      "a secret that is too short",
      { authorization: `Bearer ${SECRET.slice(0, -1)}` },
      401,
      "unauthorized",
    ],
    [
      "a daemon id of another form",
      { authorization: `Bearer ${SECRET}`, "x-mesh-daemon-id": "laptop" },
      422,
      "invalid_request",
    ],
    ["no daemon id", { authorization: `Bearer ${SECRET}` }, 422, "invalid_request"],
    [
      "no upgrade",
      { authorization: `Bearer ${SECRET}`, "x-mesh-daemon-id": daemonId(1) },
      426,
      "upgrade_required",
    ],
  ] as const
) {
  Deno.test(`a connect with ${what} is refused with a reason`, async () => {
    await using r = relayWorld();
    const answer = await r.fetch("/ws/daemon", { headers });
    assert.equal(answer.status, status);
    assert.equal((await answer.json()).error, error);
    if (status === 401) assert.equal(answer.headers.get("www-authenticate"), "Bearer");
  });
}

Deno.test("every well-formed secret has its own namespace [c9.no-list]", async () => {
  await using r = relayWorld();
  await using _a = await r.daemon(1);
  await using _b = await r.daemon(2, { secret: OTHER_SECRET });
  const listed = async (secret: string) => {
    const headers = { authorization: `Bearer ${secret}` };
    const { daemons } = await (await r.fetch("/api/v1/daemons", { headers })).json();
    return daemons.map((machine: { daemon_id: string }) => machine.daemon_id);
  };
  assert.deepEqual(await listed(SECRET), [daemonId(1)]);
  assert.deepEqual(await listed(OTHER_SECRET), [daemonId(2)]);
  assert.deepEqual(await listed(`mesh_sk_${"n".repeat(43)}`), []);
});

Deno.test("a machine of another secret is unknown [c9.tunnel.namespace]", async () => {
  await using r = relayWorld();
  await using _b = await r.daemon(2, { secret: OTHER_SECRET });
  assert.deepEqual(await refusal(r.ask(2, "/health")), {
    code: "unknown_machine",
    delivered: false,
  });
});

Deno.test("a machine that another secret had connected is unknown [c9.tunnel.namespace]", async () => {
  await using r = relayWorld();
  await using other = await r.daemon(2, { secret: OTHER_SECRET });
  await other.daemon.shutDown();
  await r.clock.settle();
  assert.deepEqual(await refusal(r.ask(2, "/health")), {
    code: "unknown_machine",
    delivered: false,
  });
});

Deno.test("a request never falls back to another machine of the same secret [c9.tunnel.exact]", async () => {
  await using r = relayWorld();
  await using first = await r.daemon(1);
  await using _second = await r.daemon(2);
  await first.daemon.shutDown();
  await r.clock.settle();
  const offline = { code: "machine_offline", delivered: false };
  assert.deepEqual(await refusal(r.ask(1, "/health")), offline);
  assert.equal((await (await r.ask(2, "/health")).json()).daemon_id, daemonId(2));
});

Deno.test("an unsupported protocol version is refused with its number [c9.tunnel.version]", async () => {
  await using r = relayWorld();
  const hello = { type: "hello", protocol: 7, machine: "new", version: "9", capabilities: {} };
  const daemon = await scriptedDaemon(r, 1, { hello });
  const [refused] = daemon.of("refused");
  assert.equal(refused?.["error"], "unknown_protocol");
  assert.match(String(refused?.["detail"]), /version: 7 \(supported: 1\)/);
  assert.equal(daemon.closed?.code, 4005);
  assert.deepEqual(r.relay.machines.list(NAMESPACE), []);
});

Deno.test("a first frame other than hello closes the connection", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r, 1, { hello: { type: "ping", ping_id: 1 } });
  assert.equal(daemon.closed?.code, 4000);
});

Deno.test("a connection without a hello is closed after its time", async () => {
  await using r = relayWorld();
  let closed: number | undefined;
  const close = (code: number) => closed = code;
  r.relay.machines.connect({ namespace: NAMESPACE, daemon_id: daemonId(3) }, () => ({
    response: new Response(null),
    connection: { open: true, buffered: 0, send: () => undefined, close },
  }));
  await r.tick(HANDSHAKE_MS_MAX / 1000);
  assert.equal(closed, 4000);
});

Deno.test("a newer connection of a daemon replaces the older one [c9.tunnel.newest]", async () => {
  await using r = relayWorld();
  const older = await scriptedDaemon(r, 1);
  const asking = refusal(r.ask(1, "/health"));
  const newer = await scriptedDaemon(r, 1);
  assert.deepEqual(older.closed, { code: 4009, reason: "superseded" });
  assert.deepEqual(await asking, { code: "machine_offline", delivered: true });
  assert.equal(r.relay.machines.list(NAMESPACE).length, 1);
  newer.on = (frame) => {
    if (frame.type !== "request") return;
    newer.sendFrame({ type: "response", id: frame.id, status: 204, headers: [], body: false });
  };
  assert.equal((await r.ask(1, "/health")).status, 204);
});

Deno.test("a refused newer connection leaves the older one open", async () => {
  await using r = relayWorld();
  const older = await scriptedDaemon(r, 1);
  await scriptedDaemon(r, 1, { hello: { type: "hello", protocol: 2 } });
  assert.equal(older.closed, undefined);
  assert.equal(r.relay.machines.list(NAMESPACE).length, 1);
});

Deno.test("a hanging request delays no other and times out [c9.tunnel.concurrent]", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r, 1);
  daemon.on = (frame) => {
    if (frame.type !== "request" || frame.path === "/hang") return;
    daemon.sendFrame({ type: "response", id: frame.id, status: 200, headers: [], body: false });
  };
  const hanging = refusal(r.ask(1, "/hang", { timeout_ms: 5000 }));
  const others = Array.from({ length: 1000 }, () => r.ask(1, "/health"));
  assert.deepEqual(
    new Set((await Promise.all(others)).map(({ status }) => status)),
    new Set([200]),
  );
  await r.tick(5);
  assert.deepEqual(await hanging, { code: "timed_out", delivered: true });
  const [hungRequest] = daemon.of("request").filter(({ path }) => path === "/hang");
  assert.deepEqual(daemon.of("cancel").map(({ id, why }) => [id, why]), [[
    hungRequest?.id,
    "timed out",
  ]]);
});

Deno.test("responses arrive in any order", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r, 1);
  const texts = ["/a", "/b", "/c"].map(async (path) =>
    await (await r.ask(1, path as `/${string}`)).text()
  );
  await r.clock.settle();
  for (const { id, path } of daemon.of("request").toReversed()) {
    daemon.sendFrame({ type: "response", id, status: 200, headers: [], body: true });
    daemon.sendChunk(id, new TextEncoder().encode(`of ${path}`));
    daemon.sendFrame({ type: "end", id });
  }
  assert.deepEqual(await Promise.all(texts), ["of /a", "of /b", "of /c"]);
});

Deno.test("at the limit of open requests the next one is refused and not sent", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r, 1);
  const hanging = Array.from({ length: STREAMS_MAX }, () => refusal(r.ask(1, "/hang")));
  assert.deepEqual(await refusal(r.ask(1, "/one-more")), {
    code: "machine_offline",
    delivered: false,
  });
  daemon.close();
  await Promise.all(hanging);
});

Deno.test("an end without a response rejects the request", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r, 1);
  daemon.on = (frame) => {
    if (frame.type === "request") daemon.sendFrame({ type: "end", id: frame.id });
  };
  assert.deepEqual(await refusal(r.ask(1, "/health")), {
    code: "machine_offline",
    delivered: true,
  });
});

Deno.test("a request that the daemon did not take counts as not delivered", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r, 1);
  daemon.on = (frame) => {
    if (frame.type !== "request") return;
    daemon.sendFrame({ type: "cancel", id: frame.id, why: "full", taken: false });
  };
  assert.deepEqual(await refusal(r.ask(1, "/ask", { method: "POST", body: "{}" })), {
    code: "machine_offline",
    delivered: false,
  });
});

Deno.test("aborting a request rejects it at once and cancels it at the daemon [c9.tunnel.cancel]", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r, 1);
  const abort = new AbortController();
  const asking = r.ask(1, "/hang", { signal: abort.signal });
  await r.clock.settle();
  abort.abort(new Error("gone"));
  await assert.rejects(asking, /gone/);
  await r.clock.settle();
  assert.equal(daemon.of("cancel").length, 1);
  assert.equal(r.relay.machines.requests, 0);
});

Deno.test("two unanswered pings close the connection [c9.tunnel.heartbeat]", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r, 1);
  await r.tick(3 * PING_EVERY_MS / 1000);
  assert.equal(daemon.of("ping").length, 2);
  assert.deepEqual(daemon.closed, { code: 4010, reason: "no_pong" });
  assert.deepEqual(await refusal(r.ask(1, "/health")), {
    code: "machine_offline",
    delivered: false,
  });
});

Deno.test("a daemon that answers pings stays connected", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r, 1);
  daemon.on = (frame) => {
    if (frame.type === "ping") daemon.sendFrame({ type: "pong", ping_id: frame.ping_id });
  };
  await r.tick(4 * PING_EVERY_MS / 1000);
  assert.equal(daemon.closed, undefined);
});

Deno.test("a daemon that exceeds its window is disconnected", async () => {
  await using r = relayWorld();
  const daemon = await scriptedDaemon(r, 1);
  const asking = r.ask(1, "/big");
  await r.clock.settle();
  const [{ id } = { id: 0 }] = daemon.of("request");
  daemon.sendFrame({ type: "response", id, status: 200, headers: [], body: true });
  const response = await asking;
  const piece = new Uint8Array(65_536);
  for (let sent = 0; sent <= STREAM_WINDOW_BYTES; sent += 65_536) daemon.sendChunk(id, piece);
  await r.clock.settle();
  assert.equal(daemon.closed?.code, 4002);
  await assert.rejects(response.text());
});
