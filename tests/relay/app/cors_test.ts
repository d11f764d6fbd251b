/** CORS: the paths of the relay that a page of another site may call, and its answers. */

import assert from "node:assert/strict";
import { jsonLog } from "kit/core/log.ts";
import { Relay } from "../../../relay/app/relay.ts";
import { openDatabase } from "../../../relay/app/database.ts";
import { countingIds } from "../../support/ids.ts";
import { ISSUER } from "../../support/relay/oauth_world.ts";
import { SwiftClock } from "../../support/swift_clock.ts";

const INSPECTOR = "https://inspector.example";
const OPEN_PATHS = [
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-protected-resource/mcp",
  "/.well-known/oauth-protected-resource/mcp/",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
  "/oauth/register",
  "/oauth/token",
  "/oauth/revoke",
  "/mcp",
  "/mcp/",
];
const METHODS = ["GET", "POST", "DELETE", "PUT"];

function openRelay(hasOAuth = true) {
  const clock = new SwiftClock();
  const log = jsonLog(clock, "error", () => undefined);
  const db = openDatabase(":memory:", ISSUER, { clock, log });
  const relay = new Relay({
    clock,
    ids: countingIds(),
    log,
    proxy: { mode: "direct" },
    oauth: hasOAuth ? { issuer: ISSUER, db } : undefined,
    accept: () => assert.fail("No tunnel is opened"),
  });
  let visitors = 0;
  return {
    relay,
    send: (method: string, path: string, headers: Record<string, string> = {}) => {
      const request = new Request(`${ISSUER}${path}`, {
        method,
        headers: { origin: INSPECTOR, ...headers },
        ...(method === "POST" && { body: "{}" }),
      });
      const hostname = `10.0.0.${++visitors}`;
      return relay.fetch(request, { transport: "tcp", hostname, port: 50_000 });
    },
    async [Symbol.asyncDispose]() {
      await relay[Symbol.asyncDispose]();
      db[Symbol.dispose]();
    },
  };
}

function preflight(method: string, headers: string) {
  return {
    "access-control-request-method": method,
    "access-control-request-headers": headers,
  };
}

for (const path of OPEN_PATHS) {
  Deno.test(`a page of any site may call ${path} and read the answer, errors too [c11.oauth.cors]`, async () => {
    await using at = openRelay();
    const asked = await at.send("OPTIONS", path, preflight("POST", "authorization,content-type"));
    assert.equal(asked.status, 204);
    const allowed = asked.headers.get("access-control-allow-headers")?.toLowerCase().split(", ");
    for (const name of ["authorization", "content-type", "mcp-protocol-version", "*"]) {
      assert.ok(allowed?.includes(name), name);
    }
    for (const method of ["GET", "POST", "DELETE"]) {
      assert.ok(asked.headers.get("access-control-allow-methods")?.includes(method), method);
    }
    for (const method of METHODS) {
      const { headers, status } = await at.send(method, path);
      assert.equal(headers.get("access-control-allow-origin"), "*", `${method} ${status}`);
      assert.equal(headers.get("access-control-allow-credentials"), null);
      const exposed = headers.get("access-control-expose-headers")?.split(", ") ?? [];
      for (const name of ["WWW-Authenticate", "Mcp-Session-Id", "Mcp-Protocol-Version"]) {
        assert.ok(exposed.includes(name), name);
      }
    }
  });
}

Deno.test("no answer of another path has a CORS header [c11.oauth.cors]", async () => {
  await using at = openRelay();
  const { features, oauth } = at.relay;
  const paths = [...features.routes, ...oauth?.routes ?? []].map(({ contract }) => contract.path);
  const others = ["/", "/health", "/metrics", "/nowhere", "/oauth/tokens", "/mcp/x", "/mcp//"];
  const closed = new Set([...paths, ...others]).difference(new Set<string>(OPEN_PATHS));
  assert.ok(closed.size > 20);
  for (const path of closed) {
    const url = path.replaceAll(/:\w+|\*/g, "none-0000");
    for (const method of ["OPTIONS", ...METHODS]) {
      const { headers, status } = await at.send(method, url, preflight("POST", "authorization"));
      const found = [...headers.keys()].filter((name) => name.startsWith("access-control-"));
      assert.deepEqual(found, [], `${method} ${url}`);
      if (method === "OPTIONS") assert.ok(status === 404 || status === 405, `${url}: ${status}`);
    }
  }
});

Deno.test("a 405 of an open path allows the preflight, too", async () => {
  await using at = openRelay();
  const refused = await at.send("PUT", "/oauth/token");
  assert.deepEqual([refused.status, refused.headers.get("allow")], [405, "POST, OPTIONS"]);
});

Deno.test("a preflight opens nothing while OAuth is off", async () => {
  await using at = openRelay(false);
  assert.equal((await at.send("OPTIONS", "/mcp")).status, 404);
  assert.equal((await at.send("OPTIONS", "/mcp/")).status, 404);
});
