/** MCP over Streamable HTTP: both generations of the protocol, no sessions, JSON responses. */

import {
  type AuthInfo,
  type CallToolResult,
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  ProtocolError,
  ProtocolErrorCode,
  readRequestBody,
  Server,
  type ServerContext,
  type Tool,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { CommonProblem } from "kit/core/problem.ts";
import { VERSION } from "kit/core/version.ts";
import { BODY_BYTES_MAX, CLIENT_CLOSED_REQUEST, refuseOnAbort } from "kit/http/body.ts";
import { tryJson } from "kit/core/text.ts";

/** No subscriptions are accepted, because the list of tools never changes while a server runs. */
const SUBSCRIPTIONS_MAX = 0;

/** A message that names its protocol version itself, as all do since 2026-07-28. */
const VersionInMeta = z.object({
  params: z.object({
    _meta: z.object({ "io.modelcontextprotocol/protocolVersion": z.string() }),
  }),
});

interface ToolServerOptions<T extends { readonly listing: Tool }> {
  readonly name: string;
  readonly instructions: string;
  readonly tools: readonly T[];
  /** Runs a tool. An error of the tool is a result. */
  call(tool: T, args: unknown, context: ServerContext): Promise<CallToolResult>;
}

/** A server of tools, in the order in which a model reads them. */
export function toolServer<T extends { readonly listing: Tool }>(
  { name, instructions, tools, call }: ToolServerOptions<T>,
): Server {
  const server = new Server({ name, title: "Agent Mesh", version: VERSION }, {
    capabilities: { tools: {} },
    instructions,
  });
  const listings = tools.map(({ listing }) => listing);
  server.setRequestHandler("tools/list", () => ({ tools: listings }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const tool = tools.find(({ listing }) => listing.name === params.name);
    if (tool) return await call(tool, params.arguments, context);
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
  });
  return server;
}

interface AnswerOptions {
  /** Passed to the request handlers as `ctx.http.authInfo`. */
  readonly authInfo?: AuthInfo;
  /** Returns a response if the parsed message must be refused, or undefined if it is allowed. */
  refuse?(message: unknown): Response | undefined;
}

export class McpEndpoint implements AsyncDisposable {
  readonly #createServer: (request: Request | undefined) => Server;
  #modern: McpHttpHandler | undefined;

  /** `createServer` creates the server for one request. Its tools act for the caller of that. */
  constructor(createServer: (request: Request | undefined) => Server) {
    this.#createServer = createServer;
  }

  /** Answers one POST. Reads the body once, to learn which generation the client uses. */
  async answer(request: Request, { authInfo, refuse }: AnswerOptions = {}): Promise<Response> {
    const body = await refuseOnAbort(() => readRequestBody(request, BODY_BYTES_MAX));
    if (body.tooLarge) throw new CommonProblem("body_too_large", { bytes_max: BODY_BYTES_MAX });
    const json = tryJson(body.text);
    if (json === undefined) return notJson();
    const parsedBody = withoutNulls(json);
    const refused = refuse?.(parsedBody);
    if (refused) return refused;
    const normalized = normalize(request, parsedBody);
    const options = { parsedBody, ...(authInfo && { authInfo }) };
    const legacy = await isLegacyRequest(normalized, parsedBody);
    if (legacy) return await this.#answerLegacy(normalized, options);
    return await this.#openModern().fetch(normalized, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#modern?.close();
  }

  /** Protocol revision 2026-07-28. Opened on first use, because opening prints a warning. */
  #openModern(): McpHttpHandler {
    return this.#modern ??= createMcpHandler(({ requestInfo }) => this.#createServer(requestInfo), {
      legacy: "reject",
      responseMode: "json",
      maxRequestBodySize: BODY_BYTES_MAX,
      maxSubscriptions: SUBSCRIPTIONS_MAX,
    });
  }

  /** Protocol revisions up to 2025-11-25: creates a server and a transport for this request. */
  async #answerLegacy(
    request: Request,
    options: { parsedBody: unknown; authInfo?: AuthInfo },
  ): Promise<Response> {
    const server = this.#createServer(request);
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    const aborted = Promise.withResolvers<Response>();
    const onAbort = () => aborted.resolve(new Response(null, { status: CLIENT_CLOSED_REQUEST }));
    request.signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([transport.handleRequest(request, options), aborted.promise]);
    } finally {
      request.signal.removeEventListener("abort", onAbort);
      await server.close();
    }
  }
}

/**
 * The SDK refuses clients that do not accept event streams, although we send only JSON. It also
 * refuses an `initialize` whose header names a version that it does not know, although that request
 * negotiates the version. Since 2026-07-28, each request names its version in `_meta`, and there is
 * no `initialize` any more.
 */
function normalize(request: Request, parsedBody: unknown): Request {
  const headers = new Headers(request.headers);
  if (isLegacyInitialize(parsedBody)) headers.delete("mcp-protocol-version");
  headers.set("accept", "application/json, text/event-stream");
  return new Request(request.url, { method: request.method, headers, signal: request.signal });
}

function isLegacyInitialize(body: unknown): boolean {
  return [body].flat().some((message) =>
    methodOf(message) === "initialize" && !VersionInMeta.safeParse(message).success
  );
}

function methodOf(message: unknown): unknown {
  return typeof message === "object" && message !== null && "method" in message
    ? message.method
    : undefined;
}

/** Removes `params: null` and `arguments: null`, which some clients send for missing values. */
function withoutNulls(message: unknown): unknown {
  if (Array.isArray(message)) return message.map(withoutNulls);
  if (methodOf(message) === undefined) return message;
  const { params, ...rest } = message as {
    readonly params?: Readonly<Record<string, unknown>> | null;
  };
  if (params === null) return rest;
  if (params?.["arguments"] !== null) return message;
  const { arguments: _, ...withoutArguments } = params;
  return { ...rest, params: withoutArguments };
}

/** A parse error. Its id is null because no id could be read (JSON-RPC 2.0, section 5). */
function notJson(): Response {
  const error = { code: ProtocolErrorCode.ParseError, message: "The body is not JSON" };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 400 });
}
