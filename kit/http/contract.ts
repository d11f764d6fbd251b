/** Contracts: what a route takes, returns and refuses. They are data, and safe in a browser. */

import * as z from "zod";
import type { ProblemCode } from "kit/core/problem.ts";

/** The version of the product and of its contracts. */
export const VERSION = "0.1.0";

/**
 * Who may call a route of the daemon (contract 10). The guard enforces it:
 * - `public`: everyone;
 * - `user`: programs of the daemon's own user, without the token;
 * - `caller`: callers with the token, and those that need none: the dashboard's pages, and programs
 *   of the daemon's own user where no token is configured;
 * - `token`: as `caller`, but pages need the token, too;
 * - `checked`: everyone; the route itself checks a token of another kind.
 */
export type Access = "public" | "user" | "caller" | "token" | "checked";

/** Whether a route is available through the relay: always, with `relay.allow_admin`, or never. */
export type Tunnel = "open" | "admin" | "never";

export interface Contract {
  readonly id: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: `/${string}`;
  readonly summary: string;
  readonly access: Access;
  readonly tunnel: Tunnel;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Checks the text of a JSON body for mistakes that its value does not show: repeated keys. */
  readonly inspect?: (text: string) => void;
  /** The media type of a body that is not JSON. */
  readonly bodyType?: string;
  readonly returns: z.ZodType;
  /** The refusals of this route, beside those of every route (guard, request format, storage). */
  readonly fails?: readonly ProblemCode[];
  /** Takes an `Idempotency-Key`: a repeated request is answered but not executed (contract 1). */
  readonly idempotent?: true;
  /** The media type of a response that is not JSON. */
  readonly responseType?: string;
}

export type RequestPart = "params" | "query" | "body";

/** Defines a contract and keeps its exact type. */
export function contract<const C extends Contract>(spec: C): C {
  return spec;
}

/** The response of a route that has no data to return (contract 1). */
export const Ok = z.object({ ok: z.literal(true) });
export const OK: { ok: true } = { ok: true };
