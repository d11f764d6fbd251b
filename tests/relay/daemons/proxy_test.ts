import assert from "node:assert/strict";
import { addPeer, connectPeer, eventData } from "../../support/daemon/peer_clients.ts";
import { world } from "../../support/world.ts";
import {
  daemonId,
  NAMESPACE,
  OTHER_SECRET,
  type RelayWorld,
  relayWorld,
} from "../../support/relay/relay_world.ts";

const COOKIE = "mesh=a-random-id";
const SIGNED_IN = { cookie: COOKIE, "sec-fetch-site": "same-origin" };

/** A signed-in browser on a page of the relay. */
function browse(r: RelayWorld, path: string, init: RequestInit = {}) {
  r.sessions.set(COOKIE, NAMESPACE);
  return r.fetch(`/m/${daemonId(1)}${path}`, { headers: SIGNED_IN, ...init });
}

async function post(r: RelayWorld, path: string, body: unknown, headers = {}) {
  const init = {
    method: "POST",
    body: JSON.stringify(body),
    headers: { ...SIGNED_IN, ...headers },
  };
  const answer = await browse(r, path, init);
  return { status: answer.status, ...await answer.json() };
}

Deno.test("a signed-in browser reads and writes under the machine's own path [c9.routes.machine]", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1);
  await addPeer(w, "api");
  const { peers } = await (await browse(r, "/peers?circle=default")).json();
  assert.equal(peers.length, 1);
  const spelt = await r.fetch(`/m/${daemonId(1).replace("-", "%2D")}/peers`, {
    headers: SIGNED_IN,
  });
  assert.deepEqual(await spelt.json(), { peers });
  const sent = await post(r, "/notify", { from_peer: "cli", to_peer: "api", text: "Hello" });
  assert.deepEqual([sent.status, sent.queued], [200, true]);
});

for (
  const [what, headers, status, error] of [
    ["from another page", { cookie: COOKIE, "sec-fetch-site": "cross-site" }, 403, "foreign_page"],
    ["from another origin", { cookie: COOKIE, origin: "https://evil.test" }, 403, "foreign_page"],
    ["from a sibling", { cookie: COOKIE, "sec-fetch-site": "same-site" }, 403, "foreign_page"],
    ["that was typed in", { cookie: COOKIE, "sec-fetch-site": "none" }, 403, "foreign_page"],
    ["of a program", { cookie: COOKIE }, 403, "foreign_page"],
    ["of nobody", { "sec-fetch-site": "same-origin" }, 401, "not_signed_in"],
    [
      "of another cookie",
      { cookie: "mesh=x", "sec-fetch-site": "same-origin" },
      401,
      "not_signed_in",
    ],
  ] as const
) {
  Deno.test(`a request to a machine ${what} is refused, also for GET [c9.tunnel.same-origin]`, async () => {
    await using r = relayWorld();
    await using _w = await r.daemon(1);
    for (const path of ["/peers", "/health", "/events/stream"]) {
      const answer = await browse(r, path, { headers });
      assert.equal(answer.status, status);
      assert.equal((await answer.json()).error, error);
    }
  });
}

Deno.test("the relay's own Origin header is accepted without Sec-Fetch-Site", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1);
  const headers = { cookie: COOKIE, origin: "https://relay.test" };
  assert.equal((await browse(r, "/peers", { headers })).status, 200);
});

Deno.test("a session of another secret cannot reach the machine", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1, { secret: OTHER_SECRET });
  const answer = await browse(r, "/peers");
  assert.equal((await answer.json()).error, "unknown_machine");
});

for (
  const path of [
    "/mcp",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/deliveries/pending?peer_id=x",
    "/deliveries",
    "/ws",
  ]
) {
  Deno.test(`${path} is never available through the tunnel [c9.tunnel.never]`, async () => {
    await using r = relayWorld();
    await using _w = await r.daemon(1);
    const answer = await browse(r, path);
    assert.equal(answer.status, 403);
    assert.equal((await answer.json()).error, "not_through_relay");
  });
}

for (
  const path of [
    "/mcp",
    "/deliveries/receipts",
    "/peers/identity/validate",
    "/peers/identity/renew",
    "/events/chat",
    "/peers/api/turn",
    "/hooks/claude-code",
    "/peers",
    "/peers/api/offline",
    "/peers/api/provenance",
  ]
) {
  Deno.test(`POST ${path} is never available through the tunnel [c9.tunnel.never]`, async () => {
    await using r = relayWorld();
    await using w = await r.daemon(1, { settings: { "relay.allow_admin": "true" } });
    await addPeer(w, "api");
    assert.equal((await post(r, path, {})).error, "not_through_relay");
  });
}

/** Other spellings of forbidden paths. */
for (
  const path of ["/peers/identity%2Fvalidate", "//metrics", "/./metrics", "/%6Detrics", "/metrics/"]
) {
  Deno.test(`another spelling of a forbidden path is refused: ${path}`, async () => {
    await using r = relayWorld();
    await using _w = await r.daemon(1);
    const answer = await browse(r, path);
    assert.ok([403, 404].includes(answer.status), String(answer.status));
    assert.ok(!(await answer.text()).includes("# HELP"));
  });
}

const ADMIN = [
  ["POST", "/spawn"],
  ["POST", "/peers/api/interrupt"],
  ["POST", "/peers/api/kill"],
  ["POST", "/peers/api/restart"],
  ["DELETE", "/peers/api/restart"],
  ["POST", "/peers/api/fork-backend"],
  ["POST", "/peers/api/link"],
  ["POST", "/panes/%250/link"],
  ["POST", "/peers/api/rehook"],
  ["POST", "/jobs"],
  ["POST", "/jobs/work-1/run"],
  ["POST", "/jobs/work-1/retry"],
  ["POST", "/jobs/cal-1/resume"],
  ["PATCH", "/jobs/work-1"],
] as const;

for (const [method, path] of ADMIN) {
  Deno.test(`${method} ${path} is available through the tunnel only with relay.allow_admin [c9.tunnel.admin]`, async () => {
    await using r = relayWorld();
    await using w = await r.daemon(1);
    await using v = await r.daemon(2, { settings: { "relay.allow_admin": "true" } });
    for (const daemon of [w, v]) await addPeer(daemon, "api");
    r.sessions.set(COOKIE, NAMESPACE);
    const ask = async (number: number) => {
      const address = `/m/${daemonId(number)}${path}`;
      const body = method === "DELETE" ? {} : { body: "{}" };
      return (await (await r.fetch(address, { method, headers: SIGNED_IN, ...body })).json()).error;
    };
    assert.equal(await ask(1), "relay_admin_off");
    let isOver = false;
    const asking = ask(2).finally(() => isOver = true);
    await r.clock.advanceUntil("an answer", () => isOver);
    assert.ok(!["relay_admin_off", "not_through_relay"].includes(await asking));
  });
}

Deno.test("a request that the browser aborts is not logged as an error", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1);
  r.connections[0]?.[1].stall();
  const abort = new AbortController();
  const asking = browse(r, "/health", { signal: abort.signal });
  await r.clock.settle();
  abort.abort();
  await asking;
  assert.deepEqual(r.logged.filter((line) => line.includes(`"level":"error"`)), []);
});

Deno.test("the tunnel enforces the `tunnel` field of each contract [c9.tunnel.never]", async () => {
  await using w = world();
  const routes = w.daemon.routes.map(({ contract }) => contract);
  const never =
    /^\/(mcp|metrics|openapi\.json|deliveries\b.*|peers\/identity\/.*|events\/chat|peers\/:id\/(turn|keys|transcript))$/;
  const admin =
    /^\/(spawn|spawn\/resume|peers\/:id\/(kill|restart|link|rehook|fork|fork-backend|switch)|panes\/:pane_id\/link|jobs|jobs\/:id\/(run|retry|resume)|handoffs)$/;
  const admin_to_read = /^\/(config|peers\/:id\/(turns|pane)|spawn\/(sessions|folders))$/;
  for (const { method, path, tunnel } of routes) {
    const route = `${method} ${path}`;
    if (never.test(path)) assert.equal(tunnel, "never", route);
    const is_admin = method === "GET" ? admin_to_read.test(path) : admin.test(path);
    if (is_admin) assert.equal(tunnel, "admin", route);
  }
});

Deno.test("a request from the tunnel needs no token, and does not count as having one [c9.tunnel.authority]", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1, { settings: { "daemon.auth_token": "sixteen-letters!" } });
  assert.equal((await browse(r, "/peers")).status, 200);
  assert.equal((await r.ask(1, "/peers")).status, 200);
  assert.equal((await w.fetch("/peers")).status, 401);
});

Deno.test("cookies, tokens and terminals do not pass the tunnel", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1);
  const spied = { "authorization": "Bearer x", "x-mesh-terminal": "1", "x-mesh-peer": "peer-1" };
  await (await browse(r, "/peers", { headers: { ...SIGNED_IN, ...spied } })).text();
  const [heads] = r.connections.map(([, relay]) =>
    relay.sent.map((data) => typeof data === "string" ? data : new TextDecoder().decode(data))
  );
  assert.match(heads?.join() ?? "", /"request"/);
  for (const name of ["cookie", "authorization", "x-mesh-terminal", "x-mesh-peer", COOKIE]) {
    assert.ok(!heads?.join().includes(name), name);
  }
});

/** The text, with its sender, that an agent receives from a browser or a program. */
async function framedTextFrom(origin: "browser" | "program") {
  await using r = relayWorld();
  await using w = await r.daemon(1, { settings: { "human.name": "sam" } });
  const api = await connectPeer(w, "api", { capabilities: ["delivery_receipts", "framed_text"] });
  const body = { from_peer: "sam", to_peer: "api", text: "Stop that" };
  if (origin === "browser") await post(r, "/notify", body);
  else await r.ask(1, "/notify", { method: "POST", body: JSON.stringify(body) });
  await r.clock.settle();
  const [frame] = api.of("notify");
  return (frame as { framed?: string } | undefined)?.framed ?? "";
}

Deno.test("a signed-in browser acts for the human, and a program does not [c2.human.tunnel]", async () => {
  assert.match(await framedTextFrom("browser"), /^\[mesh\] @sam → @api: Stop that/);
  assert.match(
    await framedTextFrom("program"),
    /<peer-message .*from="@sam" .*unverified="true">/,
  );
});

Deno.test("a reply to the inbox is the human's from a signed-in browser, not from a program", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1, { settings: { "human.name": "sam" } });
  await connectPeer(w, "api");
  for (const [origin, voice] of [["program", "unverified"], ["browser", "human"]] as const) {
    const asked = { from_peer: "api", to_peer: "sam", text: "Go?" };
    const opened = await (await w.post("/ask", asked)).json();
    const path = `/inbox/${opened.inbox.item_id}/reply` as const;
    const reply = { surface: "telegram", text: "Yes" };
    if (origin === "browser") await post(r, path, reply);
    else await r.ask(1, path, { method: "POST", body: JSON.stringify(reply) });
    const closed = await (await w.fetch(`/asks/${opened.correlation_id}`)).json();
    assert.deepEqual([closed.state, closed.reply_voice], ["closed", voice]);
  }
});

Deno.test("a daemon's response runs nothing under the relay's origin", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1);
  const { headers } = await browse(r, "/peers");
  assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'; sandbox/);
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  assert.equal(headers.get("set-cookie"), null);
});

Deno.test("HEAD returns the head of a machine's response", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1);
  const answer = await browse(r, "/peers", { method: "HEAD" });
  assert.equal(answer.status, 200);
  assert.equal(await answer.text(), "");
});

Deno.test("an unsupported method is a 405 with the supported ones", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1);
  const answer = await browse(r, "/peers", { method: "PUT", body: "{}" });
  assert.equal(answer.status, 405);
});

Deno.test("a path or a head that exceeds a frame is refused, and the tunnel stays open", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1);
  assert.equal((await browse(r, `/peers?q=${"x".repeat(20_000)}`)).status, 422);
  for (const letter of ["a", "\u00e9"]) {
    const long = letter.repeat(letter === "a" ? 30_000 : 15_000);
    const more = { "accept": long, "accept-language": long, "if-none-match": long };
    assert.equal((await browse(r, "/peers", { headers: { ...SIGNED_IN, ...more } })).status, 413);
  }
  assert.equal((await browse(r, "/peers")).status, 200);
  assert.equal(eventData(w, "relay_status").length, 1);
});

Deno.test("an upload with a too large content-length is refused before it is read", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1);
  const headers = { ...SIGNED_IN, "content-length": "99999999999" };
  const answer = await browse(r, "/attachments", { method: "POST", body: "x", headers });
  assert.equal(answer.status, 413);
});

Deno.test("the relay's metrics count daemons and requests and contain no names", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1);
  await (await browse(r, "/peers")).text();
  const text = await (await r.fetch("/metrics")).text();
  assert.match(text, /mesh_relay_daemons 1/);
  assert.match(text, /mesh_relay_requests_total\{outcome="answered"\} 1/);
  assert.ok(!text.includes(daemonId(1)) && !text.includes(NAMESPACE));
  assert.equal((await (await r.fetch("/health")).json()).daemons, 1);
});

Deno.test("a relay that is shutting down refuses requests", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1);
  r.relay.shutDown();
  await r.clock.settle();
  assert.equal((await (await r.fetch("/health")).json()).error, "shutting_down");
  assert.equal(w.daemon.relayClient?.report().status, "down");
});
