/** Apps that call the relay's tools: the SDK's client in both protocol generations. */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as z from "zod";
import { ISSUER, NAMESPACE, type RelayFixture } from "./composed_relay.ts";

export const PROTOCOL_VERSIONS = ["2025-11-25", "2026-07-28"] as const;
export const ALL_SCOPES = "agents:read agents:write";

const Data = z.record(z.string(), z.unknown()).default({});

export interface Grant {
  readonly grant_id?: string;
  readonly asker?: string;
  readonly scope?: string;
  readonly namespace?: string;
}

/** Adds a token of a grant. Tokens of one grant have the same asker. */
export function grantToken(
  at: RelayFixture,
  token: string,
  fields: Grant = {},
): Record<string, string> {
  const { grant_id = "mg_1", asker = "mcp-0123456789ab", scope = ALL_SCOPES } = fields;
  at.tokens.set(token, { grant_id, asker, scope, namespace: fields.namespace ?? NAMESPACE });
  return { authorization: `Bearer ${token}` };
}

/** Connects the SDK's client, which validates results by the tools' schemas. */
export async function connectApp(
  at: RelayFixture,
  headers: Record<string, string>,
  protocolVersion: typeof PROTOCOL_VERSIONS[number] = "2025-11-25",
) {
  const mode = protocolVersion === "2026-07-28" ? { pin: protocolVersion } : "legacy" as const;
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
    async call(name: string, fields: Record<string, unknown> = {}) {
      const result = await client.callTool({ name, arguments: fields });
      const [first] = result.content;
      const text = first?.type === "text" ? first.text : "";
      return { text, data: Data.parse(result.structuredContent), refused: result.isError ?? false };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** The request of a tool call, in the format of older revisions. */
export function rawCall(name: string, fields: Record<string, unknown> = {}): RequestInit {
  return rawPost({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: fields },
  });
}

export function rawPost(message: unknown): RequestInit {
  const headers = { "content-type": "application/json", accept: "application/json" };
  return { method: "POST", headers, body: JSON.stringify(message) };
}

/** The request with more headers. */
export function withHeaders(init: RequestInit, headers: Record<string, string>): RequestInit {
  return { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), ...headers } };
}
