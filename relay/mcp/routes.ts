/** `/mcp`: Host and Origin, then the token, then the scope of the tool, then the answer. */

import type { Contract } from "kit/http/contract.ts";
import { Problem, UNCACHED_HEADERS } from "kit/core/problem.ts";
import { rawRoute, type Route } from "kit/http/route.ts";
import type { OriginPolicy } from "../web/origin_policy.ts";
import { bearerToken } from "../web/secrets.ts";
import { type Bearer, deleteMcp, getMcp, postMcp, READ, WRITE } from "./contract.ts";
import type { Mcp } from "./mcp.ts";

/** Calls of one grant that are under way at once: each may wait for 20 s. */
export const IN_FLIGHT_MAX = 256;
const RETRY_SECONDS = 1;

/** The tokens: OAuth's to know. A fault of its database throws, and nobody gets in. */
export interface Tokens {
  /** What a token stands for; undefined for one that is unknown, over or revoked. */
  check(token: string): Bearer | undefined | Promise<Bearer | undefined>;
}

export interface McpRoutesDeps {
  readonly originPolicy: OriginPolicy;
  /** The canonical origin: never a request's. */
  readonly issuer: string;
  readonly tokens: Tokens;
  mcp(): Promise<Mcp>;
}

export function mcpRoutes(deps: McpRoutesDeps): Route[] {
  const inFlight = new Map<string, number>();
  return [
    authorizedRoute(postMcp, deps, async (request, bearer) => {
      using calls = new Calls(inFlight, bearer.grant_id);
      calls.begin(1);
      const mcp = await deps.mcp();
      return await mcp.answer(request, bearer, (message) => {
        const missingScopes = mcp.missingScopes(message, bearer.scope.split(" "));
        if (missingScopes.length > 0) return insufficientScope(deps.issuer, missingScopes);
        if (Array.isArray(message)) calls.begin(Math.max(0, message.length - 1));
      });
    }),
    authorizedRoute(getMcp, deps, refuseMethod),
    authorizedRoute(deleteMcp, deps, refuseMethod),
  ];
}

function authorizedRoute(
  contract: Contract,
  { originPolicy, issuer, tokens }: McpRoutesDeps,
  answer: (request: Request, bearer: Bearer) => Response | Promise<Response>,
): Route {
  return rawRoute(contract, async (request) => {
    originPolicy.refuseRebound(request);
    const token = bearerToken(request);
    const bearer = token === undefined ? undefined : await tokens.check(token);
    if (!bearer) return unauthorized(issuer, token !== undefined);
    const response = await answer(request, bearer);
    for (const [name, value] of Object.entries(UNCACHED_HEADERS)) response.headers.set(name, value);
    return response;
  });
}

/** Counts the calls of a request among those of its grant, until it is disposed of. */
class Calls implements Disposable {
  readonly #inFlight: Map<string, number>;
  readonly #grant_id: string;
  #count = 0;

  constructor(inFlight: Map<string, number>, grant_id: string) {
    this.#inFlight = inFlight;
    this.#grant_id = grant_id;
  }

  /** A batch is as many calls as it has messages. */
  begin(calls: number): void {
    const count = (this.#inFlight.get(this.#grant_id) ?? 0) + calls;
    if (count > IN_FLIGHT_MAX) {
      throw new Problem("too_many_requests", { retry_after_seconds: RETRY_SECONDS });
    }
    this.#inFlight.set(this.#grant_id, count);
    this.#count += calls;
  }

  [Symbol.dispose](): void {
    const remaining = (this.#inFlight.get(this.#grant_id) ?? 0) - this.#count;
    if (remaining > 0) this.#inFlight.set(this.#grant_id, remaining);
    else this.#inFlight.delete(this.#grant_id);
  }
}

function refuseMethod({ method }: Request): never {
  const { path, method: allow } = postMcp;
  throw new Problem("method_not_allowed", { method, path, allow });
}

/** Both scopes: an app that asks for reading alone can never be allowed more by its user. */
function unauthorized(issuer: string, refused: boolean): Response {
  const error = refused ? "invalid_token" : undefined;
  const detail = refused
    ? "The access token is unknown, expired or revoked"
    : "This endpoint needs an access token of this relay's OAuth";
  return challenge(401, { issuer, error, scope: `${READ} ${WRITE}`, detail });
}

/** `agents:read` is required in every authorization, so that it is named with what is lacking. */
function insufficientScope(issuer: string, missingScopes: readonly string[]): Response {
  const scope = [READ, ...missingScopes.filter((one) => one !== READ)].join(" ");
  const detail = `This tool needs the scope ${
    missingScopes.join(" ")
  }; reconnect the app to allow it`;
  return challenge(403, { issuer, error: "insufficient_scope", scope, detail });
}

/** RFC 6750 and RFC 9728: what is wrong, and where to get what is right. */
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
