/** Apps at the relay's tools: the official client, with a grant, in either generation. */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as z from "zod";
import { type House, ISSUER, NAMESPACE } from "./composed_relay.ts";

export const GENERATIONS = ["2025-11-25", "2026-07-28"] as const;
export const BOTH = "agents:read agents:write";

const Data = z.record(z.string(), z.unknown()).default({});

export interface Grant {
  readonly grant_id?: string;
  readonly asker?: string;
  readonly scope?: string;
  readonly namespace?: string;
}

/** A token of a grant; the same grant's tokens share its asker. */
export function grant(at: House, token: string, given: Grant = {}): Record<string, string> {
  const { grant_id = "mg_1", asker = "mcp-0123456789ab", scope = BOTH } = given;
  at.tokens.set(token, { grant_id, asker, scope, namespace: given.namespace ?? NAMESPACE });
  return { authorization: `Bearer ${token}` };
}

/** The SDK's client, which checks what it gets against the tools' schemas. */
export async function app(
  at: House,
  headers: Record<string, string>,
  generation: typeof GENERATIONS[number] = "2025-11-25",
) {
  const mode = generation === "2026-07-28" ? { pin: generation } : "legacy" as const;
  const client = new Client({ name: "app", version: "1" }, { versionNegotiation: { mode } });
  const types = new Set<string | null>();
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${ISSUER}/mcp`), {
      requestInit: { headers },
      fetch: async (url, init) => {
        const response = await at.fetch(new Request(url, init));
        if (response.body && response.ok) types.add(response.headers.get("content-type"));
        return response;
      },
    }),
  );
  const { tools } = await client.listTools();
  return {
    client,
    tools,
    types,
    async call(name: string, given: Record<string, unknown> = {}) {
      const result = await client.callTool({ name, arguments: given });
      const [first] = result.content;
      const text = first?.type === "text" ? first.text : "";
      return { text, data: Data.parse(result.structuredContent), refused: result.isError ?? false };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** A bare call of a tool, as older revisions send it. */
export function rawCall(name: string, given: Record<string, unknown> = {}): RequestInit {
  return rawPost({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: given },
  });
}

export function rawPost(message: unknown): RequestInit {
  const headers = { "content-type": "application/json", accept: "application/json" };
  return { method: "POST", headers, body: JSON.stringify(message) };
}

/** The same with more headers. */
export function withHeaders(init: RequestInit, headers: Record<string, string>): RequestInit {
  return { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), ...headers } };
}
