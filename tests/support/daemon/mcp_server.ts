/** A fake daemon with fixed responses per route behind `/mcp`, and the SDK's client for it. */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as z from "zod";
import { client } from "kit/http/client.ts";
import { Problem } from "protocol/problems.ts";
import type { RouteGuard } from "kit/http/route.ts";
import { serve } from "kit/http/serve.ts";
import { identifyByHeaders } from "../../../daemon/api/mcp/identify.ts";
import { Mcp } from "../../../daemon/api/mcp/mcp.ts";
import { mcpRoutes } from "../../../daemon/api/mcp/routes.ts";

export interface ReceivedRequest {
  readonly route: string;
  readonly body: Record<string, unknown>;
  readonly signal: AbortSignal;
}
export type Answers = Record<string, (received: ReceivedRequest) => unknown>;

/** Identifies the agent in process 41 as @api, and the certificate `good` as @web's. */
const identify = identifyByHeaders({
  peerOfProcess: (pid) => pid === 41 ? peerId("api") : undefined,
  peerOfCertificate: (peer_id, certificate) =>
    Promise.resolve(
      peer_id === "peer-web" && certificate === "good" ? peerId("web") : undefined,
    ),
});

function peerId(name: string) {
  return { peer_id: `peer-${name}`, name };
}

/** Responses by route, e.g. `POST /ask`; a `Response` is sent unchanged. */
export function mcpFixture(answers: Answers = {}, token?: string) {
  const received: ReceivedRequest[] = [];
  const faults: unknown[] = [];
  const requests: Request[] = [];
  const call = client("http://daemon", async (request) => {
    const route = `${request.method} ${new URL(request.url).pathname}`;
    const text = await request.text();
    const incoming = { route, body: text ? JSON.parse(text) : {}, signal: request.signal };
    received.push(incoming);
    const answer = await answers[route]?.(incoming);
    return answer instanceof Response ? answer : Response.json(answer ?? {});
  });
  const mcp = new Mcp({ call, identify, onError: (error) => void faults.push(error) });
  const guard: RouteGuard = {
    admit: (request) => void requests.push(request),
    authorize: (request, _, remote) => {
      const bearer = request.headers.get("authorization");
      if (token && bearer !== `Bearer ${token}`) throw new Problem("unauthorized", {});
      return { remote, human: false, authorized: true, holds_token: false };
    },
    whenDurable: () => undefined,
    error: (error) => void faults.push(error),
  };
  const routes = mcpRoutes({ get: () => Promise.resolve(mcp) }, {
    isPeerProcess: () => true,
    senderOf: () => undefined,
    hasTools: () => true,
    gotTools: () => {},
  });
  return {
    mcp,
    received,
    faults,
    requests,
    fetch: serve(routes, guard),
  };
}

/** The same on a port; dispose of it with `await using`. */
export function serveMcp(answers: Answers = {}, token?: string, port = 0) {
  const inner = mcpFixture(answers, token);
  const options = { port, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(options, (request, { remoteAddr }) => {
    return inner.fetch(request, remoteAddr);
  });
  return {
    ...inner,
    url: `http://127.0.0.1:${server.addr.port}`,
    async [Symbol.asyncDispose]() {
      await inner.mcp[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}

export function problemResponse(status: number, problem: Record<string, unknown>): Response {
  return Response.json(problem, { status });
}

/** Polls until the condition holds; fails after five seconds. */
export async function waitUntil(holds: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`Never came about: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const PROTOCOL_VERSIONS = ["2025-11-25", "2026-07-28"] as const;
type ProtocolVersion = typeof PROTOCOL_VERSIONS[number];
/** The headers of @api's MCP proxy. */
export const API_HEADERS = { "x-mesh-pid": "41" };

export const WEB_PEER = {
  peer_id: "peer-web",
  name: "web",
  circle: "main",
  role: "agent",
  backend: "codex",
  status: "online",
  turn_state: "idle",
  waits_for: null,
  inbound_status: "ok",
  description: "The login page",
  tags: [],
  reminders: null,
  queue_max: null,
  pair_per_minute: null,
  hook_messages: true,
  wake_policy: null,
  wake: null,
  path: "/srv/web",
  pending_ask_count: 0,
  last_seen: null,
};

const Data = z.record(z.string(), z.unknown()).default({});

/** The SDK's client; it records the content type of each response. */
export async function connect(
  fetch: (request: Request) => Promise<Response>,
  { protocolVersion = "2025-11-25", headers = API_HEADERS }: {
    protocolVersion?: ProtocolVersion;
    headers?: Record<string, string>;
  } = {},
) {
  const types: (string | null)[] = [];
  const mode = protocolVersion === "2026-07-28" ? { pin: protocolVersion } : "legacy" as const;
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL("http://127.0.0.1:8377/mcp"), {
      requestInit: { headers },
      fetch: async (url, init) => {
        const response = await fetch(new Request(url, init));
        if (response.body && response.ok) types.push(response.headers.get("content-type"));
        return response;
      },
    }),
  );
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const result = await client.callTool({ name, arguments: args });
    const [first] = result.content;
    const text = first?.type === "text" ? first.text : "";
    return {
      text,
      data: Data.parse(result.structuredContent),
      problemResponse: result.isError ?? false,
    };
  };
  return { client, types, call, [Symbol.asyncDispose]: () => client.close() };
}
