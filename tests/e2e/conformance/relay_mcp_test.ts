/** The official conformance suite of MCP against the relay's `/mcp`, by a proxy with a token. */

import assert from "node:assert/strict";
import { Server } from "@modelcontextprotocol/server";
import { McpEndpoint } from "kit/http/mcp_endpoint.ts";
import { relayFixture } from "../../support/relay/composed_relay.ts";
import { grantToken } from "../../support/relay/mcp_apps.ts";
import { conform } from "./conformance_suite.ts";
import { EXPECTED } from "./relay_mcp_expected.ts";

/** The relay itself, which offers tools alone; and the forms of a tool's answer, on a fixture. */
// deno-fmt-ignore
const SCENARIOS: readonly [server: "relay" | "fixture", revision: string, scenario: string][] = [
  ["relay",   "2025-11-25", "server-initialize"],
  ["relay",   "2025-11-25", "ping"],
  ["relay",   "2025-11-25", "tools-list"],
  ["relay",   "2025-11-25", "dns-rebinding-protection"],
  ["relay",   "2025-11-25", "server-sse-polling"],
  ["relay",   "2025-11-25", "server-sse-multiple-streams"],
  ["relay",   "2026-07-28", "server-stateless"],
  ["relay",   "2026-07-28", "tools-list"],
  ["relay",   "2026-07-28", "http-header-validation"],
  ["relay",   "2026-07-28", "caching"],
  ["relay",   "2026-07-28", "dns-rebinding-protection"],
  ["relay",   "2026-07-28", "sep-2164-resource-not-found"],
  ["relay",   "2026-07-28", "server-sse-multiple-streams"],
  ["fixture", "2025-11-25", "tools-call-simple-text"],
  ["fixture", "2025-11-25", "tools-call-error"],
];

type Answer = (request: Request) => Promise<Response>;

/** A server on a port whose own address is its issuer, as behind a proxy. */
function listen(answer: (issuer: string) => Answer) {
  const barrier = Promise.withResolvers<Answer>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    async (request) => await (await barrier.promise)(request),
  );
  const issuer = `http://127.0.0.1:${server.addr.port}`;
  barrier.resolve(answer(issuer));
  return { url: `${issuer}/mcp`, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** The proxy: it adds a token to each request, and keeps Host and Origin. */
function relayWithToken(issuer: string): Answer {
  const at = relayFixture({ issuer });
  const { authorization = "" } = grantToken(at, "t1");
  return (request) => {
    const headers = new Headers(request.headers);
    headers.set("authorization", authorization);
    return at.fetch(new Request(request, { headers }));
  };
}

/** The same transport, with the two tools that the suite calls by name. */
function fixture(): Answer {
  const endpoint = new McpEndpoint(() => {
    const options = { capabilities: { tools: {} } };
    const server = new Server({ name: "fixture", version: "1" }, options);
    const inputSchema = { type: "object" as const };
    const names = ["test_simple_text", "test_error_handling"];
    const tools = names.map((name) => ({ name, description: name, inputSchema }));
    server.setRequestHandler("tools/list", () => ({ tools }));
    server.setRequestHandler("tools/call", ({ params: { name } }) => {
      const isError = name === "test_error_handling";
      const text = isError
        ? "This tool intentionally returns an error for testing"
        : "This is a simple text response for testing.";
      return { isError, content: [{ type: "text" as const, text }] };
    });
    return server;
  });
  return (request) => endpoint.answer(request);
}

Deno.test("the conformance suite finds no unexpected failure in the relay", async (t) => {
  await using relay = listen(relayWithToken);
  await using other = listen(fixture);
  for (const [server, revision, scenario] of SCENARIOS) {
    await t.step(`${server}: ${scenario}, ${revision}`, async () => {
      const url = server === "relay" ? relay.url : other.url;
      const { failed, passed, output } = await conform(url, { scenario, revision });
      const expected = EXPECTED.filter((row) =>
        row.scenario === scenario && row.revision === revision
      );
      assert.deepEqual(failed, expected.map(({ check }) => check).sort(), output);
      assert.ok(passed > 0 || expected.length > 0, output);
    });
  }
});
