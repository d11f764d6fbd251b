/** MCP over Streamable HTTP: both generations of the protocol, stateless, with JSON responses. */

import {
  type AuthInfo,
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  ProtocolErrorCode,
  readRequestBody,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { Problem } from "kit/core/problem.ts";
import { BODY_BYTES_MAX, refuseOnAbort } from "kit/http/route.ts";
import { tryJson } from "kit/core/text.ts";

/** Subscriptions are not supported: the list of tools never changes while a server runs. */
const SUBSCRIPTIONS_MAX = 0;

/** nginx's status for a client that closed the connection before the response. */
const CLIENT_CLOSED_REQUEST = 499;

/** Creates the server for one request. The caller is known from the request and its token. */
export type ServerFactory = (request: Request | undefined) => Server;

/** Options of `answer`. */
export interface AnswerOptions {
  /** Passed to the request handlers as `ctx.http.authInfo`. */
  readonly authInfo?: AuthInfo;
  /** The response that refuses the parsed message; undefined where it is allowed. */
  refuse?(message: unknown): Response | undefined;
}

export class McpEndpoint implements AsyncDisposable {
  readonly #createServer: ServerFactory;
  #modern: McpHttpHandler | undefined;

  constructor(createServer: ServerFactory) {
    this.#createServer = createServer;
  }

  /** Answers one POST. The body is read once and determines the generation of the protocol. */
  async answer(request: Request, { authInfo, refuse }: AnswerOptions = {}): Promise<Response> {
    const body = await refuseOnAbort(() => readRequestBody(request, BODY_BYTES_MAX));
    if (body.tooLarge) throw new Problem("body_too_large", { bytes_max: BODY_BYTES_MAX });
    const parsedBody = tryJson(body.text);
    if (parsedBody === undefined) return notJson();
    const refused = refuse?.(parsedBody);
    if (refused) return refused;
    const normalized = withAcceptHeader(request);
    const options = { parsedBody, ...(authInfo && { authInfo }) };
    const legacy = await isLegacyRequest(normalized, parsedBody);
    if (legacy) return await this.#answerLegacy(normalized, options);
    return await this.#openModern().fetch(normalized, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#modern?.close();
  }

  /** Protocol revision 2026-07-28. Created on first use, because the SDK then warns on stderr. */
  #openModern(): McpHttpHandler {
    return this.#modern ??= createMcpHandler(({ requestInfo }) => this.#createServer(requestInfo), {
      legacy: "reject",
      responseMode: "json",
      maxRequestBodySize: BODY_BYTES_MAX,
      maxSubscriptions: SUBSCRIPTIONS_MAX,
    });
  }

  /** Protocol revisions up to 2025-11-25: a server and a transport for this request only. */
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

/** The SDK requires that a client accepts event streams. We send JSON only, so any client may. */
function withAcceptHeader(request: Request): Request {
  const headers = new Headers(request.headers);
  headers.set("accept", "application/json, text/event-stream");
  return new Request(request.url, { method: request.method, headers, signal: request.signal });
}

/** The error without an id, as no id could be read (JSON-RPC 2.0, section 5). */
function notJson(): Response {
  const error = { code: ProtocolErrorCode.ParseError, message: "The body is not JSON" };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 400 });
}
