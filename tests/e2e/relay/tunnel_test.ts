import assert from "node:assert/strict";
import { HELD_BYTES_MAX, STREAM_WINDOW_BYTES } from "kit/net/tunnel/frames.ts";
import { isUnreachable } from "protocol/relay/daemons.ts";
import { RealDaemon, RealRelay, SECRET } from "../../support/e2e/relay_lab.ts";
import { until } from "../../support/waiting.ts";
import { meshArguments } from "../../support/programs/program.ts";

const FILE_BYTES = 25 * 1024 * 1024;

async function relayAndDaemon(env: Record<string, string> = {}) {
  const relay = new RealRelay();
  const daemon = await RealDaemon.start(relay.url, env);
  await until("the tunnel", () => relay.connected(daemon.daemon_id));
  return {
    relay,
    daemon,
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      await relay[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a browser reaches a daemon through a real relay, and its health shows a connected relay", async () => {
  await using b = await relayAndDaemon();
  const { relay, daemon } = b;
  const seen = await (await relay.browse(daemon.daemon_id, "/health")).json();
  assert.equal(seen.daemon_id, daemon.daemon_id);
  assert.deepEqual([seen.relay.status, seen.relay.url], ["connected", relay.url]);
  assert.equal((await fetch(`${relay.url}/m/${daemon.daemon_id}/health`)).status, 403);
});

Deno.test("an attachment of 25 MB goes up and down, and the relay buffers little", async () => {
  await using b = await relayAndDaemon();
  const { relay, daemon } = b;
  const bytes = new Uint8Array(FILE_BYTES);
  for (let at = 0; at < bytes.length; at += 4096) bytes[at] = at >> 12;
  const form = new FormData();
  form.append("file", new File([bytes], "big.bin"));
  let max = 0;
  const watching = setInterval(() => max = Math.max(max, relay.relay.machines.held_bytes), 1);
  const up = await relay.browse(daemon.daemon_id, "/attachments", { method: "POST", body: form });
  const record = await up.json();
  assert.equal(up.status, 200, JSON.stringify(record));
  const down = await relay.browse(daemon.daemon_id, `/attachments/${record.id}`);
  const got = await down.bytes();
  clearInterval(watching);
  assert.equal(got.length, FILE_BYTES);
  assert.ok(got.every((byte, at) => byte === bytes[at]));
  assert.ok(max <= HELD_BYTES_MAX / 32, `${max} bytes were held`);
});

Deno.test("a reader that reads nothing fills one window of the relay's memory, and delays no other", async () => {
  await using b = await relayAndDaemon();
  const { relay, daemon } = b;
  const form = new FormData();
  form.append("file", new File([new Uint8Array(FILE_BYTES)], "big.bin"));
  const up = await relay.browse(daemon.daemon_id, "/attachments", { method: "POST", body: form });
  const { id } = await up.json();
  const { port } = new URL(relay.url);
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  const head =
    `GET /m/${daemon.daemon_id}/attachments/${id} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n` +
    `cookie: ${relay.cookie}\r\nsec-fetch-site: same-origin\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  await until("its window is full", () => {
    return relay.relay.machines.held_bytes > STREAM_WINDOW_BYTES / 2 || undefined;
  });
  for (let request = 0; request < 50; request++) {
    await (await relay.ask(daemon.daemon_id, "/peers")).text();
    assert.ok(relay.relay.machines.held_bytes <= STREAM_WINDOW_BYTES);
  }
});

Deno.test("a thousand requests at once are answered while one hangs", async () => {
  await using b = await relayAndDaemon();
  const { relay, daemon } = b;
  const abort = new AbortController();
  const stream = await relay.ask(daemon.daemon_id, "/events/stream", { signal: abort.signal });
  assert.equal(stream.status, 200);
  const all = await Promise.all(Array.from({ length: 1000 }, async () => {
    const answer = await relay.ask(daemon.daemon_id, "/peers");
    await answer.body?.cancel();
    return answer.status;
  }));
  assert.ok(all.every((status) => status === 200));
  assert.equal(relay.relay.machines.requests, 1);
  abort.abort();
  await until("the stream's end", () => relay.relay.machines.requests === 0 || undefined);
});

Deno.test("the event stream arrives as it happens, and ends with its reader", async () => {
  await using b = await relayAndDaemon();
  const { relay, daemon } = b;
  const abort = new AbortController();
  const path = "/events/stream?surface=dashboard";
  const response = await relay.browse(daemon.daemon_id, path, { signal: abort.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.ok(reader);
  let text = "";
  const read = async (part: string) => {
    while (!text.includes(part)) text += (await reader.read()).value ?? "";
  };
  await read("event: ready");
  const body = JSON.stringify({ name: "api", path: "/work", backend: "sdk" });
  await fetch(`${daemon.url}/peers`, { method: "POST", body });
  await read("event: peer_registered");
  abort.abort();
  await until("the stream's end", () => relay.relay.machines.requests === 0 || undefined);
});

Deno.test("when the daemon is killed during a request, the error says that it may have arrived", async () => {
  await using b = await relayAndDaemon();
  const { relay, daemon } = b;
  const stream = await relay.ask(daemon.daemon_id, "/events/stream");
  const body = JSON.stringify({ name: "api", path: "/work", backend: "sdk" });
  const { peer_id } = await (await fetch(`${daemon.url}/peers`, { method: "POST", body })).json();
  const output = JSON.stringify({ from_peer: "cli", to_peer: peer_id, text: "Ready?" });
  const asked = await fetch(`${daemon.url}/ask`, { method: "POST", body: output });
  const { correlation_id } = await asked.json();
  const waiting = relay.ask(daemon.daemon_id, `/asks/${correlation_id}/wait`, {
    method: "POST",
    body: JSON.stringify({ peer_id: "cli" }),
  });
  const [cut, refused] = [assert.rejects(stream.text()), waiting.catch((error) => error)];
  await daemon.end("SIGKILL");
  await cut;
  const error: unknown = await refused;
  assert.ok(isUnreachable(error), String(error));
  assert.deepEqual([error.code, error.fields.may_have_been_delivered], ["machine_offline", true]);
  await until("it is gone", () => !relay.connected(daemon.daemon_id) || undefined);
  const later: unknown = await relay.ask(daemon.daemon_id, "/health").catch((error) => error);
  assert.ok(isUnreachable(later));
  assert.deepEqual([later.code, later.fields.may_have_been_delivered], ["machine_offline", false]);
});

Deno.test("a daemon that was killed and started again is back under its id [5.relay.reconnect]", async () => {
  await using b = await relayAndDaemon();
  const { relay, daemon } = b;
  await daemon.end("SIGKILL");
  await until("it is gone", () => !relay.connected(daemon.daemon_id) || undefined);
  const again = await RealDaemon.start(relay.url, {}, daemon.dir);
  assert.equal(again.daemon_id, daemon.daemon_id);
  await until("it is back", () => relay.connected(again.daemon_id));
  assert.equal(await again.end("SIGTERM"), 0);
  await until("it says goodbye", () => !relay.connected(again.daemon_id) || undefined);
});

Deno.test("a daemon dials a relay that went away until it is back, and requests fail meanwhile", async () => {
  const first = new RealRelay();
  const port = Number(new URL(first.url).port);
  await using daemon = await RealDaemon.start(first.url);
  await until("the tunnel", () => first.connected(daemon.daemon_id));
  await first[Symbol.asyncDispose]();
  const offlineMachine = await until("the daemon noticed", async () => {
    const { relay } = await daemon.health();
    return relay.status === "connected" ? undefined : relay;
  });
  assert.ok(["down", "connecting"].includes(offlineMachine.status));
  assert.ok(offlineMachine.last_connected_at);
  await using second = new RealRelay(port);
  await until("the tunnel again", () => second.connected(daemon.daemon_id));
  assert.equal((await second.ask(daemon.daemon_id, "/health")).status, 200);
});

Deno.test("the real relay accepts a real daemon, and both stop cleanly", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: meshArguments(["relay"]),
    env: { RELAY_PORT: "0" },
    stderr: "piped",
  }).spawn();
  let output = "";
  const reading = child.stderr.pipeThrough(new TextDecoderStream())
    .pipeTo(new WritableStream({ write: (text) => void (output += text) }));
  const url = await until("the relay", () => /"url":"([^"]+)"/.exec(output)?.[1]);
  await using daemon = await RealDaemon.start(url);
  await until("the tunnel", async () => {
    return (await (await fetch(`${url}/health`)).json()).daemons === 1 || undefined;
  });
  const headers = { authorization: `Bearer ${SECRET}` };
  const { daemons } = await (await fetch(`${url}/api/v1/daemons`, { headers })).json();
  assert.deepEqual(daemons.map((machine: { daemon_id: string }) => machine.daemon_id), [
    daemon.daemon_id,
  ]);
  child.kill("SIGTERM");
  assert.equal((await child.status).code, 0);
  await reading;
  await until("the daemon noticed", async () => {
    return (await daemon.health()).relay.status !== "connected" || undefined;
  });
  assert.equal(await daemon.end("SIGTERM"), 0);
  assert.ok(!output.includes(SECRET));
});

Deno.test("no log of either end holds the secret [5.relay.no-secret-in-logs]", async () => {
  await using b = await relayAndDaemon({ MESH_DAEMON__AUTH_TOKEN: "token-of-the-daemon" });
  const { relay, daemon } = b;
  assert.equal((await relay.ask(daemon.daemon_id, "/peers")).status, 200);
  await relay.browse(daemon.daemon_id, `/peers/${SECRET}`).then((answer) => answer.text());
  await fetch(`${relay.url}/api/v1/daemons`, { headers: { authorization: `Bearer ${SECRET}x` } })
    .then((answer) => answer.text());
  await daemon.end("SIGTERM");
  await until("it is gone", () => !relay.connected(daemon.daemon_id) || undefined);
  const output = [...relay.logged, await daemon.log].join("\n");
  assert.match(output, /The relay is connected/);
  assert.match(output, /A daemon has disconnected/);
  for (const part of [SECRET, SECRET.slice(8), "token-of-the-daemon"]) {
    assert.ok(!output.includes(part), part);
  }
});
