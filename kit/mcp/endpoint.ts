/** MCP over Streamable HTTP: both generations of the protocol, stateless, in JSON. */

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

/** There is nothing to subscribe to: the list of tools never changes while a server runs. */
const SUBSCRIPTIONS_MAX = 0;

/** As HTTP servers log it: the caller left before the answer. */
const CLIENT_CLOSED_REQUEST = 499;

/** A server for one request: who asks is in the request, and in what was found of its token. */
export type ServerFactory = (request: Request | undefined) => Server;

/** What is known of a request before it is answered. */
export interface AnswerOptions {
  /** Handed to the verbs as `ctx.http.authInfo`. */
  readonly authInfo?: AuthInfo;
  /** Refuses what the message wants and may not have. */
  refuse?(message: unknown): Response | undefined;
}

export class McpEndpoint implements AsyncDisposable {
  readonly #createServer: ServerFactory;
  #modern: McpHttpHandler | undefined;

  constructor(createServer: ServerFactory) {
    this.#createServer = createServer;
  }

  /** Answers one POST: the body is read once, and says which generation speaks. */
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

  /** Protocol revision 2026-07-28. Opened late: the SDK warns on stderr when it is made. */
  #openModern(): McpHttpHandler {
    return this.#modern ??= createMcpHandler(({ requestInfo }) => this.#createServer(requestInfo), {
      legacy: "reject",
      responseMode: "json",
      maxRequestBodySize: BODY_BYTES_MAX,
      maxSubscriptions: SUBSCRIPTIONS_MAX,
    });
  }

  /** Revisions up to 2025-11-25: a server and a transport for this one request. */
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

/** We answer JSON only, so that a client which accepts no stream is as good as one that does. */
function withAcceptHeader(request: Request): Request {
  const headers = new Headers(request.headers);
  headers.set("accept", "application/json, text/event-stream");
  return new Request(request.url, { method: request.method, headers, signal: request.signal });
}

/** JSON-RPC 2.0, section 5: without an id, as none could be read. */
function notJson(): Response {
  const error = { code: ProtocolErrorCode.ParseError, message: "The body is not JSON" };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 400 });
}
