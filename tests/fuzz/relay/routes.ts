/** Every route of the relay's features with hostile input: pages, shares, proxy and remote MCP. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { PROBLEMS } from "protocol/problems.ts";
import { openapi } from "kit/http/openapi.ts";
import {
  connectDaemon,
  NAMESPACE,
  registerAgent,
  relayFixture,
  SECRET,
} from "../../support/relay/composed_relay.ts";
import { grantToken } from "../../support/relay/mcp_apps.ts";
import { describedRequestsOf } from "../daemon/described.ts";
import { type FuzzRequest, operationsOf, requestsOf } from "../daemon/operations.ts";
import { fragment, hostileJson } from "../hostile.ts";
import type { Count, OpenTarget, Target } from "../target.ts";

const INPUTS = 400;
const DAEMON = "dm-000000000001";
const TOOLS = [
  "list_machines",
  "list_agents",
  "ask_agent",
  "send_message",
  "get_reply",
  "list_requests",
];
const FORMS = ["application/json", "application/x-www-form-urlencoded", "text/plain"];
/** Refusals that the contracts name, when a machine cannot be reached. */
const UNAVAILABLE = new Set([502, 503, 504]);
/** Statuses of a request that is refused for its form. */
const MALFORMED = new Set([400, 413, 415, 422]);
const STEP_MS = 20_000;

export const RELAY_ROUTES: Target = {
  name: "relay routes",
  inputs: INPUTS,
  open: (count) => openRelay(count, false),
};
export const RELAY_DESCRIBED_REQUESTS: Target = {
  name: "requests that a description of the relay's API allows",
  inputs: INPUTS,
  open: (count) => openRelay(count, true),
};

/** `isDescribed`: the requests are those that the contracts allow, and the relay takes them. */
async function openRelay(count: Count, isDescribed: boolean): Promise<OpenTarget> {
  const at = relayFixture();
  const w = connectDaemon(at, DAEMON, NAMESPACE);
  const peer_id = await registerAgent(w, "api");
  const bearer = grantToken(at, "good").authorization ?? "";
  const info = { ...DESCRIPTION, tagOf: () => "relay", problems: PROBLEMS };
  const description = openapi(info, at.features.routes.map(({ contract }) => contract));
  const operations = operationsOf(description);
  const words = [DAEMON, peer_id, "sh_1", SECRET, "good", ...TOOLS];
  const tokens = [bearer, `Bearer ${SECRET}`];
  const requests = isDescribed
    ? describedCalls(describedRequestsOf(description, operations, words), tokens)
    : hostileCalls(requestsOf(operations, words), tokens, words);
  const property = fc.asyncProperty(requests, async ({ request, token, type, call }) => {
    const { method, path } = request.operation;
    const isMcp = path === "/mcp" && method === "POST";
    const headers = new Headers(isMcp ? { accept: "application/json, text/event-stream" } : {});
    for (const [name, value] of request.headers) headers.set(name, value);
    if (token) headers.set("authorization", token);
    if (isMcp || type) headers.set("content-type", isMcp ? "application/json" : type ?? "");
    const body = isMcp && call ? JSON.stringify(call) : request.body;
    const init = { method, headers, ...(body !== undefined && { body }) };
    const status = await answer(() => at.send(request.path.slice(0, 8000), init));
    count(`relay ${method} ${path} ${Math.floor(status / 100)}xx`);
    const shown = `${method} ${request.path} ${request.body}: ${status}`;
    assert.ok(status < 500 || UNAVAILABLE.has(status), shown);
    if (isDescribed && request.body !== undefined) assert.ok(!MALFORMED.has(status), shown);
    assert.deepEqual(at.logged.filter((line) => line.includes('"level":"error"')), []);
    assert.ok(!at.logged.some((line) => line.includes(SECRET)), "The log holds the secret");
  });
  /** Lets time pass until the request is answered; a stream is not read. */
  async function answer(send: () => Promise<Response>): Promise<number> {
    let done = false;
    const pending = send().finally(() => done = true);
    await Promise.race([pending, at.clock.settle()]);
    while (!done) {
      await Promise.race([pending, at.clock.advance(STEP_MS)]);
      await w.clock.advance(STEP_MS);
    }
    const response = await pending;
    await response.body?.cancel();
    return response.status;
  }
  return {
    property,
    async verify() {
      assert.ok((await answer(() => at.send("/api/v1/daemons"))) < 500);
      assert.deepEqual((await w.clock.during(w.daemon.deliveryAudit.audit())).unaccounted, []);
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      await at[Symbol.asyncDispose]();
    },
  };
}

function describedCalls(request: fc.Arbitrary<FuzzRequest>, tokens: readonly string[]) {
  const type = fc.constant("application/json");
  return fc.record({ request, token: fc.constantFrom(...tokens), type, call: fc.constant(null) });
}

function hostileCalls(
  request: fc.Arbitrary<FuzzRequest>,
  tokens: readonly string[],
  words: readonly string[],
) {
  return fc.record({
    request,
    token: fc.constantFrom(...tokens, "Bearer x", "Basic eDp5", undefined),
    type: fc.constantFrom(...FORMS, undefined),
    call: fc.option(toolCalls(words), { freq: 4 }),
  });
}

function toolCalls(words: readonly string[]) {
  const word = fc.oneof(fc.constantFrom(...words), fragment, hostileJson);
  const fields = ["daemon_id", "peer_id", "message", "request_id", "wait_seconds", "circle"];
  const given = fc.dictionary(fc.constantFrom(...fields), word);
  return fc.record({ name: fc.constantFrom(...TOOLS, "spawn"), arguments: given })
    .map((params) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
}

const DESCRIPTION = {
  title: "Relay",
  version: "1",
  description: "For the fuzzer",
  server: { url: "http://127.0.0.1:{port}", port: "1" },
  tags: [],
  samples: {},
  bodies: {},
};
