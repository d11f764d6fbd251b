/** Shares that a daemon creates by its route, a tool or the CLI, through a complete relay. */

import assert from "node:assert/strict";
import { createShare, listShares, revokeShare } from "protocol/shares.ts";
import { runCli } from "../../../../cli.ts";
import { capturedTerminal } from "../../../support/cli/captured_output.ts";
import { addPeer } from "../../../support/daemon/peer_clients.ts";
import { connect } from "../../../support/daemon/mcp_server.ts";
import { LOOPBACK, type World, world, type WorldOptions } from "../../../support/world.ts";
import {
  daemonId,
  RELAY,
  type RelayWorld,
  relayWorld,
  SECRET,
} from "../../../support/relay/relay_world.ts";

/** A daemon connected to a relay, which keeps its shares. */
function connectDaemon(r: RelayWorld, number = 1): Promise<World> {
  return r.daemon(number, { send: (request) => r.relay.fetch(request) });
}

async function withAgent(w: World, name = "web"): Promise<string> {
  return (await addPeer(w, name, { agent_pid: 41 })).peer_id;
}

Deno.test("POST /shares resolves a peer by name, and the link leads to that peer", async () => {
  await using r = relayWorld();
  await using w = await connectDaemon(r);
  const peer_id = await withAgent(w);
  const made = await w.call(createShare, { body: { peer: "web", permissions: "rw" } });
  assert.match(made.url, new RegExp(`^${RELAY}/s/sh_`));
  assert.deepEqual([made.peer_id, made.daemon_id, made.permissions], [
    peer_id,
    daemonId(1),
    "rw",
  ]);
  const page = await r.fetch(new URL(made.url).pathname);
  assert.equal(page.status, 200);
  assert.match(await page.text(), /<h1>web<\/h1>/);
  const asked = await r.fetch(`${new URL(made.url).pathname}/ask`, {
    method: "POST",
    body: JSON.stringify({ text: "How far?" }),
  });
  assert.equal((await asked.json()).status, "pending");
  assert.deepEqual((await w.call(listShares, {})).shares, [made]);
  assert.deepEqual(await w.call(revokeShare, { params: { id: made.share_id } }), { ok: true });
  assert.equal((await r.fetch(new URL(made.url).pathname)).status, 404);
  assert.deepEqual((await w.call(listShares, {})).shares, []);
});

Deno.test("a guest receives the peer's events, and is disconnected when the share ends", async () => {
  await using r = relayWorld();
  await using w = await connectDaemon(r);
  const peer_id = await withAgent(w);
  const { share_id } = await w.call(createShare, { body: { peer: peer_id } });
  const stream = await r.fetch(`/s/${share_id}/stream`);
  const chunks: string[] = [];
  const reading = (async () => {
    for await (const text of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      chunks.push(text);
    }
  })().catch((error: unknown) => error);
  await r.clock.settle();
  await w.post("/notify", { from_peer: "cli", to_peer: "web", text: "main is green" });
  await r.clock.settle();
  const news = chunks.join("");
  assert.match(news, /event: notification/);
  assert.ok(news.includes(peer_id) && !news.includes("main is green"));
  await w.call(revokeShare, { params: { id: share_id } });
  await reading;
  assert.equal(r.relay.features.shares.viewersOf(share_id), 0);
});

Deno.test("GET /shares lists only this machine's shares, even with a shared relay secret", async () => {
  await using r = relayWorld();
  await using first = await connectDaemon(r, 1);
  await using second = await connectDaemon(r, 2);
  await withAgent(first);
  await withAgent(second);
  const { share_id } = await first.call(createShare, { body: { peer: "web" } });
  await second.call(createShare, { body: { peer: "web" } });
  const { shares } = await first.call(listShares, {});
  assert.deepEqual(shares.map((share) => share.share_id), [share_id]);
});

const RELAY_SETTINGS = {
  "relay.enabled": "true",
  "relay.url": "https://relay.test",
  "relay.secret": SECRET,
};
const answering = (status: number, body: BodyInit) => () =>
  Promise.resolve(new Response(body, { status }));

// deno-fmt-ignore
const REFUSED: [why: string, options: WorldOptions, peer: string, status: number, error: RegExp][] = [
  ["without a relay",              {},                  "web", 503, /^relay_disabled/],
  ["with an unreachable relay",    { settings: RELAY_SETTINGS }, "web", 502, /^relay_unreachable: .*connection refused/],
  ["of an unknown peer",           { settings: RELAY_SETTINGS }, "none", 404, /^unknown_peer/],
  ["that the relay refuses",       { settings: RELAY_SETTINGS, send: answering(429, '{"error":"too_many_shares","detail":"There are 100"}') }, "web", 502, /^relay_refused: .*There are 100/],
  ["at a server that is no relay", { settings: RELAY_SETTINGS, send: answering(404, "<html>") }, "web", 502, /^relay_refused: .*HTTP 404/],
  ["with a redirect",              { settings: RELAY_SETTINGS, send: answering(302, "") }, "web", 502, /^relay_refused/],
  ["with an invalid response",     { settings: RELAY_SETTINGS, send: answering(200, '{"share_id":5}') }, "web", 502, /^relay_refused: .*response is invalid/],
];
for (const [why, options, peer, status, message] of REFUSED) {
  Deno.test(`POST /shares ${why} is refused, and says why`, async () => {
    await using w = world(options);
    await withAgent(w);
    await assert.rejects(w.call(createShare, { body: { peer } }), { status, message });
    assert.ok(!w.logged.join().includes(SECRET));
  });
}

Deno.test("a call to a relay that never answers times out", async () => {
  const send = (request: Request) =>
    new Promise<Response>((_, reject) =>
      request.signal.addEventListener("abort", () => reject(request.signal.reason))
    );
  await using w = world({ settings: RELAY_SETTINGS, send });
  await withAgent(w);
  const asking = w.call(createShare, { body: { peer: "web" } });
  const refused = assert.rejects(asking, { status: 502, message: /no answer within 15 s/ });
  await w.clock.advance(15_000);
  await refused;
});

Deno.test("an agent shares itself and revokes the share by MCP tools; an unknown caller may not", async () => {
  await using r = relayWorld();
  await using w = await connectDaemon(r);
  w.processes.start(41);
  const peer_id = await withAgent(w);
  const fetch = (request: Request) => w.daemon.fetch(request, LOOPBACK);
  await using agent = await connect(fetch, { headers: { "x-mesh-pid": "41" } });
  const { data, text } = await agent.call("share_session", { ttl_seconds: 60 });
  assert.deepEqual([data["peer_id"], data["permissions"]], [peer_id, "ro"]);
  assert.ok(text.includes(String(data["url"])));
  const over = await agent.call("revoke_share", { share_id: data["share_id"] });
  assert.deepEqual(over.data, { share_id: data["share_id"], ok: true });
  const again = await agent.call("revoke_share", { share_id: data["share_id"] });
  assert.equal(again.data["error"], "unknown_share");
  await using nobody = await connect(fetch, { headers: {} });
  const refused = await nobody.call("share_session", { peer: "web" });
  assert.equal(refused.data["error"], "unknown_caller");
});

Deno.test("mesh share prints the link, lists it and ends it", async () => {
  await using r = relayWorld();
  await using w = await connectDaemon(r);
  await withAgent(w);
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  w.daemon.address.port = server.addr.port;
  const env = {
    MESH_CONFIG: "/none",
    MESH_STATE: "/none",
    MESH_DAEMON__PORT: String(server.addr.port),
  };
  const mesh = async (...args: string[]) => {
    const { terminal, lines } = capturedTerminal();
    const code = await runCli(args, env, terminal, w.clock);
    return { code, ...lines };
  };
  const made = await mesh("share", "web", "--permissions", "rw", "--ttl", "3600");
  assert.deepEqual([made.code, made.err], [0, ""]);
  const share_id = /\/s\/(sh_[\w-]+)\n/.exec(made.out)?.[1] ?? "";
  const listed = await mesh("share", "list");
  assert.match(listed.out, new RegExp(`${share_id} +web +rw +0 +2030-01-01 01:00:`));
  assert.equal((await mesh("share", "revoke", share_id)).code, 0);
  assert.equal((await mesh("share", "revoke", share_id)).code, 1);
  assert.match((await mesh("share", "list")).out, /No shares/);
  assert.equal((await mesh("share", "web", "--permissions", "all")).code, 2);
});
