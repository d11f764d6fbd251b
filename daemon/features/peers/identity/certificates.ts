/** Birth certificates: signed by this daemon, valid for 24 h, bound to one session of an agent. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { Problem } from "protocol/problems.ts";

const CERTIFICATE_LIFETIME_MS = 24 * 3_600_000;
const TOKEN_TYPE = "mesh-birth";

/** Loaded with the first certificate, because the daemon's start needs no certificates. */
const jose = () => import("jose");

/** The claims of a certificate. */
export const Claims = z.object({
  peer_id: z.string(),
  backend: z.string().nullable(),
  path: z.string().nullable(),
  pane_id: z.string().nullable(),
  agent_pid: z.number().nullable(),
  /** The start time of the process, as pids are reused. */
  agent_started: z.string().nullable().default(null),
  runtime_session_id: z.string().nullable(),
});
export type Claims = z.output<typeof Claims>;

export class Certificates {
  readonly #key: Uint8Array;
  readonly #clock: Clock;

  constructor(secret: string, clock: Clock) {
    this.#key = new TextEncoder().encode(secret);
    this.#clock = clock;
  }

  /** A compact JWS (RFC 7515) over the claims of a peer, with the instant when it expires. */
  async issue(claims: Claims): Promise<{ birth_certificate: string; expires_at: number }> {
    const now = this.#clock.now();
    const expires = Math.floor((now + CERTIFICATE_LIFETIME_MS) / 1000);
    const { SignJWT } = await jose();
    const birth_certificate = await new SignJWT(Claims.parse(claims))
      .setProtectedHeader({ alg: "HS256", typ: TOKEN_TYPE })
      .setIssuedAt(Math.floor(now / 1000))
      .setExpirationTime(expires)
      .sign(this.#key);
    return { birth_certificate, expires_at: expires * 1000 };
  }

  /** A certificate's claims, also expired with `acceptExpired`. Throws `certificate_mismatch`. */
  async verify(certificate: string, { acceptExpired = false } = {}): Promise<Claims> {
    const { errors, jwtVerify } = await jose();
    try {
      const { payload } = await jwtVerify(certificate, this.#key, {
        algorithms: ["HS256"],
        typ: TOKEN_TYPE,
        currentDate: new Date(this.#clock.now()),
        clockTolerance: acceptExpired ? Number.MAX_SAFE_INTEGER : 0,
      });
      return Claims.parse(payload);
    } catch (error) {
      const expired = error instanceof errors.JWTExpired;
      const reason = expired ? "it has expired" : "this daemon did not issue it";
      throw new Problem("certificate_mismatch", { reason }, error);
    }
  }
}

/** The claims of a bearer; absent fields are not compared. */
type PresentedClaims = Partial<{ readonly [F in keyof Claims]: Claims[F] | undefined }>;

const CLAIMED_FIELDS = [
  "peer_id",
  "backend",
  "path",
  "pane_id",
  "agent_pid",
  "runtime_session_id",
] as const;

/** Refuses a bearer whose presented fields differ from the claims. */
export function mustMatchPresented(claims: Claims, presented: PresentedClaims): void {
  const mismatch = CLAIMED_FIELDS.find((field) =>
    claims[field] !== null && presented[field] !== undefined && claims[field] !== presented[field]
  );
  if (mismatch) {
    throw new Problem("certificate_mismatch", { reason: `it names a different ${mismatch}` });
  }
}

/** The fields that a certificate is bound to. */
const BOUND_FIELDS = [...CLAIMED_FIELDS, "agent_started"] as const;

/** Refuses claims that differ from the peer's record. */
export function mustMatchPeer(claims: Claims, peer: Claims): void {
  const mismatch = BOUND_FIELDS.find((field) =>
    claims[field] !== null && claims[field] !== peer[field]
  );
  if (mismatch) {
    throw new Problem("certificate_mismatch", { reason: `the peer's ${mismatch} has changed` });
  }
}
