/** Finds the owner of a request: a program with the relay secret, or a signed-in browser. */

import { Problem } from "protocol/problems.ts";
import { bearerNamespace } from "../web/secrets.ts";
import type { Sessions } from "./sessions.ts";

export type OwnerSessions = Pick<Sessions, "namespaceOf" | "refuseForged" | "refuseOtherSession">;

/**
 * The owner's namespace, from a bearer secret, or from a session of a page of the relay. A request
 * that writes must come from a page of that session.
 */
export function ownerOf(sessions: OwnerSessions, request: Request): string {
  const bearer = bearerNamespace(request);
  if (bearer !== undefined) return bearer;
  const signed_in = request.headers.has("authorization")
    ? undefined
    : sessions.namespaceOf(request);
  if (signed_in === undefined) throw new Problem("no_relay_secret", {});
  if (request.method === "GET") sessions.refuseOtherSession(request);
  else sessions.refuseForged(request);
  return signed_in;
}
