/** Relay secrets: bearer capabilities of one form, each its own namespace (specification 5). */

import { createHash } from "node:crypto";
import type { Ids } from "kit/core/clock.ts";

const SECRET_PATTERN = /^mesh_sk_[A-Za-z0-9_-]{43}$/;
const SECRET_BYTES = 32;

/** What a person is told of the form, wherever a secret does not have it. */
export const SECRET_FORM = "mesh_sk_ and 43 letters, digits, hyphens or underscores";

/** The namespace of a secret, the SHA-256 of all of it; undefined for what is no secret. */
export function namespaceOf(secret: string): string | undefined {
  return SECRET_PATTERN.test(secret) ? digestOf(secret) : undefined;
}

/** A fresh secret, drawn from nothing that a caller says. */
export function newSecret(ids: Ids): string {
  return `mesh_sk_${ids.secret(SECRET_BYTES)}`;
}

/** The bearer token of a request; undefined without one. */
export function bearerToken({ headers }: Request): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
}

/** The namespace of a request's bearer token; undefined if it is no relay secret. */
export function bearerNamespace(request: Request): string | undefined {
  const token = bearerToken(request);
  return token === undefined ? undefined : namespaceOf(token);
}

/** What is held of a secret, and looked for. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
