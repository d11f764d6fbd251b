/** Contracts: what a route takes, returns and refuses. They are data, safe to load in a browser. */

import * as z from "zod";

/**
 * Callers that may use a route of the daemon (contract 10). The guard enforces this:
 * - `public`: everyone;
 * - `user`: programs of the daemon's own user, without the token;
 * - `caller`: callers with the token, and callers that do not need it: the dashboard's pages, and
 *   programs of the daemon's own user if no token is configured;
 * - `token`: as `caller`, but the dashboard's pages need the token too;
 * - `checked`: everyone; the route itself checks a token of another kind;
 * - `code`: as `caller`, and everyone while a one-time code waits for a device.
 */
type Access = "public" | "user" | "caller" | "token" | "checked" | "code";

/** Access to a route through the relay; `admin` only with `relay.allow_admin`. */
export type Tunnel = "open" | "admin" | "never";

export type RequestPart = "params" | "query" | "body";

/**
 * The peer in whose name a request acts, which must be its caller (contract 11). A test fails for a
 * route that has such a field and no actor.
 */
export interface Actor {
  /** The field that names the peer by its id or name. */
  readonly field?: `${RequestPart}.${string}`;
  /**
   * The actor if the field is absent: the recipient of the ask that the request names, the peer of
   * its pane, the recipients of the deliveries that it resolves, or the peer that made the record.
   */
  readonly otherwise?: "recipient" | "pane" | "drained" | "maker";
  /** True if it takes messages out of the peer's queue, which a caller without proof may not do. */
  readonly drains?: true;
}

/** A field that names a peer only for look-ups, or as a filter. */
export const NO_ACTOR = "none";

export interface Contract {
  readonly id: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: `/${string}`;
  /**
   * Another path of the route, under which the API description has it: `path` could be mistaken for
   * that of another route, and a description must be unambiguous.
   */
  readonly described_path?: `/${string}`;
  readonly summary: string;
  readonly access: Access;
  readonly tunnel: Tunnel;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Checks the text of a JSON body for mistakes that parsing hides, such as repeated keys. */
  readonly inspect?: (text: string) => void;
  /** The media type of the request body if the body is not JSON. */
  readonly bodyType?: string;
  /** Describes a JSON body that the handler reads and checks itself. */
  readonly rawBody?: z.ZodType;
  readonly returns: z.ZodType;
  readonly actor?: Actor | typeof NO_ACTOR;
  /** The act that a policy may deny to work of some origin; the check of the actor enforces it. */
  readonly verb?: string;
  /** The refusals of this route beside those that any route may give (guard, format, storage). */
  readonly fails?: readonly string[];
  /** Takes an `Idempotency-Key`: a repeated request is answered but not executed (contract 1). */
  readonly idempotent?: true;
  /**
   * The JSON response may be compressed. Never set for a response with a secret: where a stranger's
   * text is compressed with a secret, the length reveals the secret (decision 048).
   */
  readonly compressed?: true;
  /** The media type of the response if the response is not JSON. */
  readonly responseType?: string;
  /** Responses by their status, besides those of `returns` and `fails`. */
  readonly otherResponses?: Readonly<Record<number, OtherResponse>>;
  /** The page that the response leads to, with status 303 instead of 200. */
  readonly redirects_to?: `/${string}`;
}

interface OtherResponse {
  readonly description: string;
  /** Absent if the response has no body. */
  readonly returns?: z.ZodType;
}

/** True for a route that only explains why its method is refused. */
export function refusesItsMethod({ fails = [] }: Contract): boolean {
  return fails.includes("method_not_allowed");
}

/** The response of a route that returns no data (contract 1). */
export const Ok = z.object({ ok: z.literal(true) });
export const OK: { ok: true } = { ok: true };
