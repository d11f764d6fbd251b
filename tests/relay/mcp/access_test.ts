/** Access to the relay's `/mcp`: Host, tokens, scopes, bodies and limits. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { IN_FLIGHT_MAX } from "../../../relay/mcp/routes.ts";
import { ISSUER, NAMESPACE, relayFixture, SECRET } from "../../support/relay/composed_relay.ts";
import {
  ALL_SCOPES,
  grantToken,
  rawCall,
  rawPost,
  withHeaders,
} from "../../support/relay/mcp_apps.ts";

const MACHINE_ID = "dm-000000000001";
const METADATA = `${ISSUER}/.well-known/oauth-protected-resource/mcp`;
const LIST = rawPost({ jsonrpc: "2.0", id: 1, method: "tools/list" });

Deno.test("without OAuth there is no remote MCP [5.relay.mcp-needs-oauth]", async () => {
  await using at = relayFixture({ issuer: null });
  const response = await at.send("/mcp", LIST);
  assert.equal(response.status, 404);
});

// deno-fmt-ignore
const UNAUTHENTICATED: [why: string, headers: Record<string, string>, error: string][] = [
  ["no token",                {},                                          "unauthorized"],
  ["an unknown token",        { authorization: "Bearer nothing" },         "invalid_token"],
  ["the relay secret",        { authorization: `Bearer ${SECRET}` },       "invalid_token"],
  ["another kind of proof",   { authorization: "Basic dDE6" },             "unauthorized"],
  ["a cookie",                { cookie: "__Host-mesh=1" },                 "unauthorized"],
];
for (const [why, headers, error] of UNAUTHENTICATED) {
  Deno.test(`${why} gets 401 with the address of the resource metadata [4.relay.challenge]`, async () => {
    await using at = relayFixture();
    grantToken(at, "t1");
    for (const method of ["POST", "GET", "DELETE"]) {
      const init = withHeaders(
        { ...LIST, method, ...(method !== "POST" && { body: null }) },
        headers,
      );
      const response = await at.send("/mcp", init);
      assert.equal(response.status, 401, method);
      const authenticate = response.headers.get("www-authenticate") ?? "";
      assert.match(authenticate, /^Bearer /);
      assert.ok(authenticate.includes(`resource_metadata="${METADATA}"`));
      assert.ok(authenticate.includes('scope="agents:read agents:write"'));
      assert.equal(authenticate.includes('error="invalid_token"'), error === "invalid_token");
      assert.equal((await response.json()).error, error);
      assert.equal(response.headers.get("cache-control"), "no-store");
    }
  });
}

Deno.test("a token in the URL is not accepted [5.relay.no-token-in-url]", async () => {
  await using at = relayFixture();
  grantToken(at, "t1");
  assert.equal((await at.send("/mcp?access_token=t1", LIST)).status, 401);
});

Deno.test("a revoked token is refused at the next request [5.relay.revoked]", async () => {
  await using at = relayFixture();
  const held = grantToken(at, "t1");
  assert.equal((await at.send("/mcp", withHeaders(LIST, held))).status, 200);
  at.tokens.delete("t1");
  assert.equal((await at.send("/mcp", withHeaders(LIST, held))).status, 401);
});

Deno.test("if tokens cannot be checked, every request is refused [7.relay.database]", async () => {
  await using at = relayFixture();
  const held = grantToken(at, "t1");
  at.tokens.get = () => {
    throw new Error("The disk is gone");
  };
  const response = await at.send("/mcp", withHeaders(LIST, held));
  assert.equal(response.status, 500);
  assert.equal((await response.json()).error, "internal");
});

// deno-fmt-ignore
const NEEDS: [tool: string, scope: "agents:read" | "agents:write"][] = [
  ["list_machines", "agents:read"],
  ["list_agents",   "agents:read"],
  ["ask_agent",     "agents:write"],
  ["send_message",  "agents:write"],
  ["get_reply",     "agents:read"],
  ["list_requests", "agents:read"],
];
for (const [tool, deps] of NEEDS) {
  Deno.test(`${tool} needs ${deps}, and is a 403 without it [4.relay.scopes]`, async () => {
    await using at = relayFixture();
    const reader = grantToken(at, "reader", { scope: "agents:read" });
    const allowed = await at.send("/mcp", withHeaders(rawCall(tool), reader));
    if (deps === "agents:read") return assert.equal(allowed.status, 200);
    assert.equal(allowed.status, 403);
    const authenticate = allowed.headers.get("www-authenticate") ?? "";
    assert.ok(authenticate.startsWith('Bearer error="insufficient_scope"'));
    assert.ok(authenticate.includes('scope="agents:read agents:write"'));
    assert.ok(authenticate.includes(`resource_metadata="${METADATA}"`));
    assert.equal((await allowed.json()).error, "insufficient_scope");
    assert.deepEqual(at.machines.forwarded, []);
    const writer = grantToken(at, "writer", { scope: ALL_SCOPES });
    assert.equal((await at.send("/mcp", withHeaders(rawCall(tool), writer))).status, 200);
  });
}

Deno.test("a batch is refused entirely if one of its tools is not allowed", async () => {
  await using at = relayFixture();
  const reader = grantToken(at, "reader", { scope: "agents:read" });
  const call = (id: number, name: string) => {
    const params = { name, arguments: {} };
    return { jsonrpc: "2.0", id, method: "tools/call", params };
  };
  const batch = [call(1, "list_machines"), call(2, "send_message")];
  assert.equal((await at.send("/mcp", withHeaders(rawPost(batch), reader))).status, 403);
});

// deno-fmt-ignore
const HOSTS: [why: string, issuer: string, headers: Record<string, string>, status: number][] = [
  ["our name",                ISSUER,                  { host: "relay.example" },                                        200],
  ["our name, with its port", ISSUER,                  { host: "relay.example:443" },                                    200],
  ["another scheme's port",   ISSUER,                  { host: "relay.example:80" },                                     403],
  ["our name and origin",     ISSUER,                  { host: "relay.example", origin: ISSUER },                        200],
  ["another name",            ISSUER,                  { host: "evil.example" },                                         403],
  ["another port",            ISSUER,                  { host: "relay.example:8443" },                                   403],
  ["loopback, from a proxy beside us", ISSUER,         { host: "127.0.0.1:8378" },                                       200],
  ["a name that begins like loopback", ISSUER,         { host: "127.0.0.1.evil.example" },                               403],
  ["another origin",          ISSUER,                  { host: "relay.example", origin: "https://inspector.example" },   200],
  ["no origin to be told",    ISSUER,                  { host: "relay.example", origin: "null" },                        200],
  ["another site's page",     ISSUER,                  { host: "relay.example", "sec-fetch-site": "cross-site" },        200],
  ["another name and our origin", ISSUER,              { host: "evil.example", origin: ISSUER },                         403],
  ["loopback by its name",    "http://127.0.0.1:8378", { host: "localhost:8378", origin: "http://localhost:8378" },      200],
  ["loopback in IPv6",        "http://127.0.0.1:8378", { host: "[::1]:8378" },                                           200],
  ["a name that resolves to us", "http://127.0.0.1:8378", { host: "evil.example:8378", origin: "http://evil.example:8378" }, 403],
  ["an inspector on loopback", "http://127.0.0.1:8378", { host: "127.0.0.1:8378", origin: "http://127.0.0.1:6274" },     200],
];
for (const [why, issuer, headers, status] of HOSTS) {
  Deno.test(`Host must be the issuer's, and Origin may be any: ${why} is ${status} [4.relay.rebinding]`, async () => {
    await using at = relayFixture({ issuer });
    const response = await at.send(
      "/mcp",
      withHeaders(LIST, { ...headers, ...grantToken(at, "t1") }),
    );
    assert.equal(response.status, status);
  });
}

Deno.test("GET and DELETE answer 405 to a valid token", async () => {
  await using at = relayFixture();
  for (const path of ["/mcp", "/mcp/"]) {
    for (const method of ["GET", "DELETE"]) {
      const response = await at.send(path, { method, headers: grantToken(at, "t1") });
      assert.deepEqual([response.status, response.headers.get("allow")], [405, "POST"]);
    }
  }
});

Deno.test("/mcp/ is /mcp: its challenge, its tools and its scopes [c11.oauth.mcp-slash]", async () => {
  await using at = relayFixture();
  const refused = await at.send("/mcp/", LIST);
  assert.equal(refused.status, 401);
  assert.ok(refused.headers.get("www-authenticate")?.includes(`resource_metadata="${METADATA}"`));
  const reader = grantToken(at, "reader", { scope: "agents:read" });
  assert.equal((await at.send("/mcp/", withHeaders(LIST, reader))).status, 200);
  const asked = await at.send("/mcp/?x=1", withHeaders(rawCall("ask_agent"), reader));
  assert.equal(asked.status, 403);
  assert.equal((await at.send("/mcp//", withHeaders(LIST, reader))).status, 404);
});

// deno-fmt-ignore
const BODIES: [why: string, body: string, type: string, status: number][] = [
  ["more than 1 MiB",      "x".repeat(1_048_577), "application/json", 413],
  ["no JSON",              "{",                   "application/json", 400],
  ["nothing",              "",                    "application/json", 400],
  ["another content type", "{}",                  "text/plain",       415],
];
for (const [why, body, type, status] of BODIES) {
  Deno.test(`a body is refused: ${why}`, async () => {
    await using at = relayFixture();
    const headers = { "content-type": type, ...grantToken(at, "t1") };
    assert.equal((await at.send("/mcp", { method: "POST", body, headers })).status, status);
  });
}

Deno.test("concurrent calls are limited per grant", async () => {
  await using at = relayFixture();
  const pendingResponse = Promise.withResolvers<Response>();
  at.machines.connect(NAMESPACE, MACHINE_ID, () => pendingResponse.promise);
  const held = grantToken(at, "t1"), other = grantToken(at, "t2", { grant_id: "mg_2" });
  const call = rawCall("list_agents", { daemon_id: MACHINE_ID });
  const waiting = Array.from({ length: IN_FLIGHT_MAX }, () => {
    return at.send("/mcp", withHeaders(call, held));
  });
  while (at.machines.forwarded.length < IN_FLIGHT_MAX) await at.clock.settle();
  const more = await at.send("/mcp", withHeaders(LIST, held));
  assert.deepEqual([more.status, more.headers.get("retry-after")], [429, "1"]);
  assert.equal((await at.send("/mcp", withHeaders(LIST, other))).status, 200);
  pendingResponse.resolve(Response.json({ peers: [] }));
  for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 200);
  assert.equal((await at.send("/mcp", withHeaders(LIST, held))).status, 200);
});

Deno.test("an aborted request body is a 400, not a 500", async () => {
  await using at = relayFixture();
  const broken = new ReadableStream({
    start: (controller) => controller.error(new Error("The caller left")),
  });
  const call = { ...withHeaders(LIST, grantToken(at, "t1")), body: broken };
  assert.equal((await at.send("/mcp", call)).status, 400);
  assert.deepEqual(at.logged, []);
});

Deno.test("a batch counts as as many calls as it has messages", async () => {
  await using at = relayFixture();
  const held = grantToken(at, "t1");
  const pendingResponse = Promise.withResolvers<Response>();
  at.machines.connect(NAMESPACE, MACHINE_ID, () => pendingResponse.promise);
  const params = { name: "list_agents", arguments: { daemon_id: MACHINE_ID } };
  const batchOf = (size: number) => {
    const calls = Array.from({ length: size }, (_, id) => {
      return { jsonrpc: "2.0", id, method: "tools/call", params };
    });
    return at.send("/mcp", withHeaders(rawPost(calls), held));
  };
  const waiting = [batchOf(100), batchOf(100), batchOf(IN_FLIGHT_MAX - 200)];
  while (at.machines.forwarded.length < IN_FLIGHT_MAX) await at.clock.settle();
  assert.equal((await at.send("/mcp", withHeaders(LIST, held))).status, 429);
  pendingResponse.resolve(Response.json({ peers: [] }));
  for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 200);
  assert.equal((await at.send("/mcp", withHeaders(LIST, held))).status, 200);
});

Deno.test("aborting a call cancels the request to the machine", async () => {
  await using at = relayFixture();
  at.machines.connect(
    NAMESPACE,
    MACHINE_ID,
    (request) =>
      new Promise((_, reject) =>
        request.signal.addEventListener("abort", () => reject(request.signal.reason))
      ),
  );
  const abort = new AbortController();
  const call = withHeaders(rawCall("list_agents", { daemon_id: MACHINE_ID }), grantToken(at, "t1"));
  const asking = at.send("/mcp", { ...call, signal: abort.signal });
  while (at.machines.forwarded.length === 0) await at.clock.settle();
  abort.abort();
  assert.equal((await asking).status, 499);
  assert.equal(at.machines.forwarded[0]?.request.signal?.aborted, true);
  assert.deepEqual(at.logged, []);
});

Deno.test("no posted body causes a 500, and the log contains no token", async () => {
  await using at = relayFixture();
  const token = "mt_0123456789abcdefghij";
  const held = grantToken(at, token);
  const word = fc.oneof(
    fc.constantFrom(
      "tools/call",
      "tools/list",
      "initialize",
      "ask_agent",
      "list_agents",
      MACHINE_ID,
      token,
    ),
    fc.string(),
  );
  const message = fc.record({
    jsonrpc: fc.constantFrom("2.0", "1.0", null),
    id: fc.oneof(fc.integer(), fc.string(), fc.constant(null)),
    method: word,
    params: fc.oneof(
      fc.record({ name: word, arguments: fc.dictionary(word, fc.jsonValue()) }),
      fc.jsonValue(),
    ),
  }, { requiredKeys: [] });
  const headers = fc.dictionary(
    fc.constantFrom("mcp-protocol-version", "mcp-method", "mcp-name", "accept", "traceparent"),
    fc.constantFrom("2026-07-28", "2025-11-25", "tools/call", "x", ""),
  );
  const body = fc.oneof(message, fc.array(message), fc.jsonValue(), fc.string());
  await fc.assert(
    fc.asyncProperty(body, headers, async (posted, more) => {
      const text = typeof posted === "string" ? posted : JSON.stringify(posted);
      const init = withHeaders({ ...LIST, body: text }, { ...more, ...held });
      const response = await at.send("/mcp", init);
      assert.ok(response.status < 500, `${response.status}: ${text}`);
      await response.body?.cancel();
    }),
    { numRuns: 400 },
  );
  assert.deepEqual(at.logged.filter((line) => line.includes(token)), []);
});
