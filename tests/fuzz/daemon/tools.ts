/** The daemon's MCP server: bare JSON-RPC messages, and every tool with hostile arguments. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { agents } from "../../support/daemon/mcp_agents.ts";
import { API_HEADERS } from "../../support/daemon/mcp_server.ts";
import { world } from "../../support/world.ts";
import { damagedRecord, hostileJson, hostileText } from "../hostile.ts";
import type { Count, OpenTarget, Target } from "../target.ts";

const VERSIONS = ["2025-03-26", "2025-11-25", "2026-07-28"];
const METHODS = [
  "initialize",
  "tools/list",
  "tools/call",
  "ping",
  "resources/list",
  "nobody/knows",
];
const ID = /\b[a-z]+-[0-9a-f]{12}\b/g;
const IDS_MAX = 200;
const STEP_MS = 30_000;

export const TOOLS: Target = { name: "mcp tools", inputs: 250, open: openTools };

const Tool = z.object({
  name: z.string(),
  inputSchema: z.looseObject({ properties: z.record(z.string(), z.unknown()).default({}) }),
});
type Tool = z.output<typeof Tool>;

async function openTools(count: Count): Promise<OpenTarget> {
  const w = world({ settings: { "human.name": "sam", "daemon.mcp.allow_admin_tools": "true" } });
  const connected = await agents(w, "2025-11-25");
  const tools = z.array(Tool).parse((await connected.api.client.listTools()).tools);
  const ids = ["web", "api", "sam", "main", connected.ids.web];
  const property = fc.asyncProperty(messagesOf(tools, ids), async ({ message, version, known }) => {
    const response = await post(message, version, known);
    const text = await response.text();
    count(`${nameOf(message)} ${response.status}`);
    assert.ok(response.status < 500, `${response.status} ${text}`);
    assert.doesNotMatch(text, /"error":"internal"/);
    // The SDK itself answers so to an `initialize` that lacks fields.
    if (nameOf(message) !== "initialize") assert.doesNotMatch(text, /-32603/);
    assert.deepEqual(w.logged.filter((line) => line.includes('"level":"error"')), []);
    for (const [id] of text.slice(0, 10_000).matchAll(ID)) if (ids.length < IDS_MAX) ids.push(id);
  });
  /** Sends a message, and lets time pass until it is answered. */
  async function post(message: unknown, version: string, known: boolean): Promise<Response> {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
      ...(known ? API_HEADERS : {}),
    };
    const body = typeof message === "string" ? message : JSON.stringify(message);
    let done = false;
    const pending = w.fetch("/mcp", { method: "POST", headers, body }).finally(() => done = true);
    await Promise.race([pending, w.clock.settle()]);
    while (!done) await Promise.race([pending, w.clock.advance(STEP_MS)]);
    return await pending;
  }
  return {
    property,
    verify: async () => assert.equal((await w.fetch("/health")).status, 200),
    async [Symbol.asyncDispose]() {
      await connected[Symbol.asyncDispose]();
      await w[Symbol.asyncDispose]();
    },
  };
}

function messagesOf(tools: readonly Tool[], ids: readonly string[]) {
  const id = fc.nat().map((at) => ids[at % ids.length] ?? "web");
  const call = fc.constantFrom(...tools).chain(({ name, inputSchema }) => {
    const fields = Object.keys(inputSchema.properties);
    const sample = Object.fromEntries(fields.map((field) => [field, "web"]));
    return damagedRecord(sample, fields, fc.oneof(id, hostileJson))
      .map((given) => ({ name, arguments: given }));
  });
  const rpc = fc.oneof(
    { weight: 8, arbitrary: call.map((params) => ({ method: "tools/call", params })) },
    {
      weight: 1,
      arbitrary: fc.record({ method: fc.constantFrom(...METHODS), params: hostileJson }),
    },
  ).map((message) => ({ jsonrpc: "2.0", id: 1, ...message }));
  const message = fc.oneof(
    { weight: 8, arbitrary: rpc },
    { weight: 1, arbitrary: hostileJson },
    { weight: 1, arbitrary: hostileText },
  );
  return fc.record({ message, version: fc.constantFrom(...VERSIONS), known: fc.boolean() });
}

/** The tool or method of a message, for the counts. */
function nameOf(message: unknown): string {
  const { data } = z.object({
    method: z.enum(METHODS).catch("another method"),
    params: z.object({ name: z.string() }).optional().catch(undefined),
  }).safeParse(message);
  return data?.params?.name ?? data?.method ?? "no message";
}
