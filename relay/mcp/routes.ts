/** The route `/mcp`: checks Host, then the token, then the scope of the tool. */

import type { Contract } from "kit/http/contract.ts";
import { UNCACHED_HEADERS } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { rawRoute, type Route } from "kit/http/route.ts";
import type { OriginPolicy } from "../web/origin_policy.ts";
import { bearerToken } from "../web/secrets.ts";
import { type Bearer, deleteMcp, getMcp, postMcp, READ, WRITE } from "protocol/relay/mcp.ts";
import type { Mcp } from "./mcp.ts";

/** Maximum number of calls of one grant that run at once. Each may wait for 20 s. */
export const IN_FLIGHT_MAX = 256;
const RETRY_SECONDS = 1;
/** The second is for addresses that were typed with a slash at the end, which clients keep. */
const PATHS = ["/mcp", "/mcp/"] as const;

/** Checks access tokens. If the database fails, throws, so that no caller is admitted. */
export interface Tokens {
  /** The bearer of a token. Undefined if the token is unknown, expired or revoked. */
  check(token: string): Bearer | undefined;
}

interface McpRoutesDeps {
  readonly originPolicy: OriginPolicy;
  /** The origin from the configuration, never from a request. */
  readonly issuer: string;
  readonly tokens: Tokens;
  mcp(): Promise<Mcp>;
}

export function mcpRoutes(deps: McpRoutesDeps): Route[] {
  const inFlight = new Map<string, number>();
  const answerPost = async (request: Request, bearer: Bearer) => {
    using calls = callCounter(inFlight, bearer.grant_id);
    calls.begin(1);
    const mcp = await deps.mcp();
    return await mcp.answer(request, bearer, (message) => {
      const missingScopes = mcp.missingScopes(message, bearer.scope.split(" "));
      if (missingScopes.length > 0) return insufficientScope(deps.issuer, missingScopes);
      if (Array.isArray(message)) calls.begin(Math.max(0, message.length - 1));
    });
  };
  return PATHS.flatMap((path) => [
    authorizedRoute({ ...postMcp, path }, deps, answerPost),
    authorizedRoute({ ...getMcp, path }, deps, refuseMethod),
    authorizedRoute({ ...deleteMcp, path }, deps, refuseMethod),
  ]);
}

function authorizedRoute(
  contract: Contract,
  { originPolicy, issuer, tokens }: McpRoutesDeps,
  answer: (request: Request, bearer: Bearer) => Response | Promise<Response>,
): Route {
  return rawRoute(contract, async (request) => {
    originPolicy.refuseRebound(request);
    const token = bearerToken(request);
    const bearer = token === undefined ? undefined : tokens.check(token);
    if (!bearer) return unauthorized(issuer, token !== undefined);
    const response = await answer(request, bearer);
    for (const [name, value] of Object.entries(UNCACHED_HEADERS)) response.headers.set(name, value);
    return response;
  });
}

/** Counts the calls of a request towards the limit of its grant, until the counter is disposed. */
function callCounter(inFlight: Map<string, number>, grant_id: string) {
  let own = 0;
  const others = () => (inFlight.get(grant_id) ?? 0) - own;
  return {
    /** Adds calls to the count. A batch counts as many calls as it contains messages. */
    begin(calls: number): void {
      const count = others() + own + calls;
      if (count > IN_FLIGHT_MAX) {
        throw new Problem("too_many_requests", { retry_after_seconds: RETRY_SECONDS });
      }
      inFlight.set(grant_id, count);
      own += calls;
    },
    [Symbol.dispose](): void {
      const remaining = others();
      if (remaining > 0) inFlight.set(grant_id, remaining);
      else inFlight.delete(grant_id);
    },
  };
}

function refuseMethod({ method }: Request): never {
  const { path, method: allow } = postMcp;
  throw new Problem("method_not_allowed", { method, path, allow });
}

/** Asks for a token. Names both scopes: a person can allow less than an app requests, not more. */
function unauthorized(issuer: string, refused: boolean): Response {
  const error = refused ? "invalid_token" : undefined;
  const detail = refused
    ? "The access token is unknown, expired or revoked"
    : "This endpoint needs an access token of this relay";
  return challenge(401, { issuer, error, scope: `${READ} ${WRITE}`, detail });
}

/** Names `agents:read`, too, because every authorization must request it. */
function insufficientScope(issuer: string, missingScopes: readonly string[]): Response {
  const scope = [READ, ...missingScopes.filter((name) => name !== READ)].join(" ");
  const missing = missingScopes.join(" ");
  const detail = `This tool needs the scope ${missing}; reconnect the app to allow it`;
  return challenge(403, { issuer, error: "insufficient_scope", scope, detail });
}

/** A challenge (RFC 6750) that names the address of the resource metadata (RFC 9728). */
function challenge(
  status: number,
  { issuer, error, scope, detail }: {
    issuer: string;
    error: string | undefined;
    scope: string;
    detail: string;
  },
): Response {
  const fields = {
    ...(error !== undefined && { error, error_description: detail }),
    scope,
    resource_metadata: `${issuer}/.well-known/oauth-protected-resource/mcp`,
  };
  const parameters = Object.entries(fields).map(([name, value]) => `${name}="${value}"`).join(", ");
  const body = { error: error ?? "unauthorized", detail, ...(error && { scope }) };
  return Response.json(body, {
    status,
    headers: { ...UNCACHED_HEADERS, "www-authenticate": `Bearer ${parameters}` },
  });
}
