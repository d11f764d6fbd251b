import assert from "node:assert/strict";
import { describedPath } from "kit/http/openapi.ts";
import { toPublicCode } from "protocol/problems.ts";
import { BASE, LOOPBACK, type World, world } from "../../support/world.ts";

const TOKEN = "a token of 16 letters";

/** A request to every route, with its parameters filled in. */
function everyRoute(w: World) {
  return w.daemon.routes.flatMap(({ contract }) => {
    const { path, described_path = path, method } = contract;
    return [...new Set([path, described_path])].map((served) => ({
      contract,
      path: served.replaceAll(/:\w+/g, "x"),
      method,
    }));
  });
}

function request(path: string, method: string, headers: Record<string, string>) {
  return new Request(`${BASE}${path}`, {
    method,
    headers: { host: "127.0.0.1:8377", ...headers },
    ...(method === "GET" ? {} : { body: "{}" }),
  });
}

async function refusal(response: Response) {
  const { error, detail } = await response.json();
  assert.equal(typeof detail, "string");
  return [response.status, error];
}

const FOREIGN = [
  [{ origin: "http://evil.example" }, "forbidden_origin"],
  [{ origin: "null" }, "forbidden_origin"],
  [{ origin: "http://127.0.0.1:9999" }, "forbidden_origin"],
  [{ origin: "https://127.0.0.1:8377" }, "forbidden_origin"],
  [{ host: "evil.example:8377" }, "forbidden_host"],
  [{ host: "127.0.0.1.evil.example:8377" }, "forbidden_host"],
  [{ host: "localhost.evil.example" }, "forbidden_host"],
  [{ "sec-fetch-site": "cross-site" }, "forbidden_origin"],
  [{ "sec-fetch-site": "same-site" }, "forbidden_origin"],
] as const;

Deno.test("every route refuses a foreign origin, a rebinding host and a cross-site request", async () => {
  await using w = world();
  const routes = everyRoute(w);
  assert.ok(routes.some(({ path }) => path === "/ws"));
  assert.ok(routes.some(({ path }) => path === "/events/stream"));
  for (const { path, method } of [...routes, { path: "/nowhere", method: "GET" }]) {
    for (const [headers, code] of FOREIGN) {
      const answer = await w.daemon.fetch(request(path, method, headers), LOOPBACK);
      const requestLine = `${method} ${path} ${JSON.stringify(headers)}`;
      assert.deepEqual(await refusal(answer), [403, code], requestLine);
      assert.equal(answer.headers.get("access-control-allow-origin"), null);
    }
  }
  assert.equal(w.events.length, 0);
});

Deno.test("a foreign preflight is refused, and no response ever allows another origin", async () => {
  await using w = world();
  const preflight = new Request(`${BASE}/ask`, {
    method: "OPTIONS",
    headers: { origin: "http://evil.example", "access-control-request-method": "POST" },
  });
  const answer = await w.daemon.fetch(preflight, LOOPBACK);
  assert.equal(answer.status, 403);
  const fine = await w.fetch("/health", { headers: { origin: BASE } });
  assert.equal(fine.status, 200);
  for (const { headers } of [answer, fine]) {
    const allowing = [...headers.keys()].filter((name) => name.startsWith("access-control-"));
    assert.deepEqual(allowing, []);
  }
});

Deno.test("a link of another site leads to the dashboard and the reference, and to nothing else", async () => {
  await using w = world();
  const link = {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
  };
  const open: string[] = [];
  for (const { path, method } of everyRoute(w)) {
    const answer = await w.daemon.fetch(request(path, method, link), LOOPBACK);
    await answer.body?.cancel();
    if (answer.status !== 403) open.push(path);
  }
  assert.deepEqual([...new Set(open)].sort(), ["/dashboard", "/docs"]);
  for (
    const other of [
      { ...link, "sec-fetch-mode": "no-cors" },
      { ...link, "sec-fetch-dest": "iframe" },
      { ...link, origin: "null" },
      { ...link, host: "evil.example:8377" },
    ]
  ) {
    const answer = await w.daemon.fetch(request("/dashboard", "GET", other), LOOPBACK);
    assert.equal(answer.status, 403, JSON.stringify(other));
  }
});

Deno.test("our own names, programs and the address bar are admitted", async () => {
  await using w = world({ settings: { "daemon.allowed_hosts": "[mesh.test]" } });
  for (
    const headers of [
      {},
      { host: "localhost:8377" },
      { host: "[::1]:8377" },
      { host: "mesh.test" },
      { host: "mesh.test:443", origin: "https://mesh.test:443" },
      { "sec-fetch-site": "none" },
      { "sec-fetch-site": "same-origin", origin: BASE },
    ]
  ) {
    const answer = await w.daemon.fetch(request("/health", "GET", headers), LOOPBACK);
    assert.equal(answer.status, 200, JSON.stringify(headers));
  }
});

Deno.test("an IPv6 address that we listen on is ours, in the brackets of a URL", async () => {
  const settings = { "daemon.host": "'fd00::1'", "daemon.auth_token": TOKEN };
  await using w = world({ settings });
  const ownHostAnswer = await w.daemon.fetch(
    request("/health", "GET", { host: "[fd00::1]:8377" }),
    LOOPBACK,
  );
  assert.equal(ownHostAnswer.status, 200);
  const other = await w.daemon.fetch(
    request("/health", "GET", { host: "[fd00::2]:8377" }),
    LOOPBACK,
  );
  assert.deepEqual(await refusal(other), [403, "forbidden_host"]);
});

Deno.test("a host with a port other than ours is refused", async () => {
  await using w = world();
  w.daemon.address.port = 8377;
  const answer = await w.daemon.fetch(
    request("/health", "GET", { host: "127.0.0.1:80" }),
    LOOPBACK,
  );
  assert.deepEqual(await refusal(answer), [403, "forbidden_host"]);
});

Deno.test("with a token configured, every route except the open ones is 401 without it", async () => {
  await using w = world({ settings: { "daemon.auth_token": TOKEN } });
  const open: string[] = [];
  for (const { path, method, contract } of everyRoute(w)) {
    if (contract.id.startsWith("mcp.") || path.startsWith("/hooks")) continue;
    for (const authorization of ["", "Bearer wrong", `Basic ${TOKEN}`, `Bearer ${TOKEN}x`]) {
      const headers = authorization ? { authorization } : {};
      const answer = await w.daemon.fetch(request(path, method, headers), LOOPBACK);
      if (answer.status !== 401) open.push(path);
      else {
        assert.equal(answer.headers.get("www-authenticate"), "Bearer", path);
        assert.equal((await answer.json()).error, "unauthorized");
      }
    }
  }
  // The routes that a page needs before it has a cookie.
  const known = [
    "/",
    "/dashboard",
    "/dashboard/",
    "/dashboard/assets/x",
    "/dashboard/manifest.webmanifest",
    "/dashboard/session",
    "/dashboard/worker.js",
    "/docs",
    "/health",
    "/status",
  ];
  assert.deepEqual([...new Set(open)].sort(), known);
});

Deno.test("the hooks' token opens the routes of hooks, and no other", async () => {
  await using w = world({ settings: { "daemon.auth_token": TOKEN } });
  const headers = { authorization: `Bearer ${w.daemon.identity.hook_token}` };
  const [open, closed]: [string[], string[]] = [[], []];
  for (const { path, method, contract } of everyRoute(w)) {
    // These need no token from callers that may reach them. Pages redeem tickets here.
    if (contract.access === "public" || contract.access === "user") continue;
    const answer = await w.daemon.fetch(request(path, method, headers), LOOPBACK);
    await answer.body?.cancel();
    (answer.status === 401 ? closed : open).push(`${method} ${path}`);
  }
  assert.deepEqual(open.filter((route) => !route.includes("/hooks/")), []);
  assert.ok(closed.length > 50);
});

Deno.test("the token opens every route, and its scheme is case-insensitive", async () => {
  await using w = world({ settings: { "daemon.auth_token": TOKEN } });
  for (const authorization of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`]) {
    for (const path of ["/peers", "/metrics", "/events", "/openapi.json", "/docs"]) {
      const answer = await w.daemon.fetch(request(path, "GET", { authorization }), LOOPBACK);
      assert.equal(answer.status, 200, path);
      await answer.body?.cancel();
    }
  }
});

Deno.test("requests are checked in this order: host, route, token, size, JSON, keys, schema, peers [c1.order-of-checks]", async () => {
  await using w = world({ settings: { "daemon.auth_token": TOKEN } });
  const token = { authorization: `Bearer ${TOKEN}` };
  const huge = "x".repeat(1_048_577);
  const ask = async (path: string, headers: Record<string, string>, body: string) => {
    const init = { method: "POST", headers: { host: "127.0.0.1:8377", ...headers }, body };
    return (await (await w.daemon.fetch(new Request(`${BASE}${path}`, init), LOOPBACK)).json())
      .error;
  };
  assert.equal(await ask("/nowhere", { host: "evil.example" }, huge), "forbidden_host");
  assert.equal(await ask("/nowhere", {}, huge), "not_found");
  assert.equal(await ask("/health", {}, huge), "method_not_allowed");
  assert.equal(await ask("/ask", {}, huge), "unauthorized");
  assert.equal(await ask("/ask", token, huge), "body_too_large");
  assert.equal(await ask("/ask", token, "{"), "bad_json");
  assert.equal(await ask("/ask", token, `{"toPeer": 1}`), "unknown_key");
  assert.equal(await ask("/ask", token, `{"text": 1}`), "no_target");
  assert.equal(await ask("/ask", token, `{"to_peer": "x", "text": 1}`), "invalid_request");
  const whole = `{"to_peer": "x", "from_peer": "y", "text": "Hi"}`;
  assert.equal(await ask("/ask", token, whole), "unknown_peer");
});

Deno.test("health describes the daemon, on both of its paths [4.health.status-routes] [4.health.pull-capability]", async () => {
  await using w = world();
  const { uptime_seconds, daemon_id, version, schema_version, ...health } =
    await (await w.fetch("/health")).json();
  assert.match(daemon_id, /^dm-[0-9a-f]{12}$/);
  assert.deepEqual([typeof version, uptime_seconds, typeof schema_version], [
    "string",
    0,
    "number",
  ]);
  assert.equal(health.capabilities.ask_pull_delivery, true);
  assert.deepEqual([health.status, health.pid, health.peers], ["ok", 1, 0]);
  // Every user of this machine may read this response; think before you add a field.
  assert.deepEqual(Object.keys(health).sort(), [
    ...["capabilities", "peers", "pid", "relay", "status", "storage"],
  ]);
  assert.deepEqual(Object.keys(health.relay), ["status", "url", "last_connected_at", "last_error"]);
  const status = await (await w.fetch("/status")).json();
  assert.equal(status.daemon_id, daemon_id);
});

Deno.test("the OpenAPI document has every route and every refusal [c3.openapi]", async () => {
  await using w = world();
  const document = await (await w.fetch("/openapi.json")).json();
  assert.match(document.openapi, /^3\.1\./);
  for (const { contract } of everyRoute(w)) {
    const path = describedPath(contract);
    const operation = document.paths[path]?.[contract.method.toLowerCase()];
    assert.equal(operation?.operationId, contract.id);
    const responses = JSON.stringify(operation.responses);
    for (const code of (contract.fails ?? []).map(toPublicCode)) {
      assert.ok(responses.includes(code), `${path} ${code}`);
    }
  }
  const docs = await w.fetch("/docs");
  assert.match(docs.headers.get("content-type") ?? "", /text\/html/);
  assert.match(await docs.text(), /\/asks\/\{id\}\/wait/);
});
