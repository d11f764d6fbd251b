/** Birth certificates: signed by this daemon, 24 h, bound to one session of one agent. */

import { errors, jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import type { Clock } from "kit/clock.ts";
import { Problem } from "kit/problem.ts";

const LIFETIME_MS = 24 * 3_600_000;

/** What a certificate says of its bearer. */
export const Claims = z.object({
  peer_id: z.string(),
  backend: z.string().nullable(),
  path: z.string().nullable(),
  pane_id: z.string().nullable(),
  agent_pid: z.number().nullable(),
  runtime_session_id: z.string().nullable(),
});
export type Claims = z.output<typeof Claims>;

export class Registry {
  readonly #key: Uint8Array;
  readonly #clock: Clock;

  constructor(secret: string, clock: Clock) {
    this.#key = new TextEncoder().encode(secret);
    this.#clock = clock;
  }

  /** A compact JWS (RFC 7515) over the claims. */
  certify(claims: Claims): Promise<string> {
    const now = this.#clock.now();
    return new SignJWT(Claims.parse(claims)).setProtectedHeader({ alg: "HS256", typ: "mesh-birth" })
      .setIssuedAt(Math.floor(now / 1000))
      .setExpirationTime(Math.floor((now + LIFETIME_MS) / 1000))
      .sign(this.#key);
  }

  /** The claims of a certificate that is ours and not expired; else `certificate_mismatch`. */
  async check(certificate: string): Promise<Claims> {
    try {
      const { payload } = await jwtVerify(certificate, this.#key, {
        algorithms: ["HS256"],
        typ: "mesh-birth",
        currentDate: new Date(this.#clock.now()),
      });
      return Claims.parse(payload);
    } catch (fault) {
      const expired = fault instanceof errors.JWTExpired;
      const reason = expired ? "it has expired" : "it is not one of ours";
      throw new Problem("certificate_mismatch", { reason }, fault);
    }
  }
}

/** What a peer's own certificate says. */
export function claimsOf(peer: Claims): Claims {
  return Claims.parse(peer);
}
