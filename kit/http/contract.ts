/** Contracts: what a route takes, gives and refuses. Data only; safe in a browser. */

import * as z from "zod";
import type { ProblemCode } from "kit/core/problem.ts";

/** The version of the product, and so of its contracts. */
export const VERSION = "0.1.0";

/**
 * Who may call a route of the daemon (contract 10), which its guard enforces:
 * - `public`: everybody;
 * - `user`: a program of the daemon's own user, without the token;
 * - `caller`: who holds the token, or needs none: an own program where none is configured, a page;
 * - `token`: as `caller`, but no page is exempt from the token;
 * - `checked`: everybody, and the route itself checks a token of another kind.
 */
export type Access = "public" | "user" | "caller" | "token" | "checked";

/** Whether a route is reached through the relay: always, with `relay.allow_admin`, or not at all. */
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
  /** Refuses what the text of a JSON body shows, and its value does not: a key that comes twice. */
  readonly inspect?: (text: string) => void;
  /** The media type of a body that is not JSON. */
  readonly bodyType?: string;
  readonly returns: z.ZodType;
  /** What this route may refuse, beyond what every route may (the door, form, storage). */
  readonly fails?: readonly ProblemCode[];
  /** Takes an `Idempotency-Key`: a repeat is answered, and not done again (contract 1). */
  readonly idempotent?: true;
  /** The media type of an answer that is not JSON. */
  readonly responseType?: string;
}

export type RequestPart = "params" | "query" | "body";

/** States a contract, and keeps its exact type. */
export function contract<const C extends Contract>(spec: C): C {
  return spec;
}

/** What has nothing to say answers this (contract 1). */
export const Ok = z.object({ ok: z.literal(true) });
export const OK: { ok: true } = { ok: true };
