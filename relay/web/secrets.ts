/** Relay secrets: bearer tokens. Each secret has its own namespace (specification 5). */

import type { Ids } from "kit/core/clock.ts";
import { sha256 } from "kit/host/node_library.ts";

const SECRET_PATTERN = /^mesh_sk_[A-Za-z0-9_-]{43}$/;
const SECRET_BYTES = 32;
const ACCOUNT_CHARS = 22;

/** Describes the format of a secret, for error messages. */
export const SECRET_FORM = "mesh_sk_ and 43 letters, digits, hyphens or underscores";

/** The namespace of a secret: its SHA-256 digest. Undefined if the secret is malformed. */
export function namespaceOf(secret: string): string | undefined {
  return SECRET_PATTERN.test(secret) ? digestOf(secret) : undefined;
}

/** Stands for a namespace in pages and notifications, which does not give access to it. */
export function accountOf(namespace: string): string {
  return digestOf(`account ${namespace}`).slice(0, ACCOUNT_CHARS);
}

export function newSecret(ids: Ids): string {
  return `mesh_sk_${ids.secret(SECRET_BYTES)}`;
}

/** The bearer token of a request. Undefined if the request has none. */
export function bearerToken({ headers }: Request): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
}

/** The namespace of a request's bearer token. Undefined if the token is not a relay secret. */
export function bearerNamespace(request: Request): string | undefined {
  const token = bearerToken(request);
  return token === undefined ? undefined : namespaceOf(token);
}

/** The digest that is stored in place of a secret. */
export function digestOf(text: string): string {
  return sha256(text, "hex");
}
