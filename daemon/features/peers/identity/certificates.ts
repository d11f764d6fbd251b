/** Birth certificates: signed by this daemon, 24 h, bound to one session of one agent. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { Problem } from "kit/core/problem.ts";

const CERTIFICATE_LIFETIME_MS = 24 * 3_600_000;
const TOKEN_TYPE = "mesh-birth";

/** Loaded by the first certificate: a start has none. */
const jose = () => import("jose");

/** What a certificate says of its bearer. */
export const Claims = z.object({
  peer_id: z.string(),
  backend: z.string().nullable(),
  path: z.string().nullable(),
  pane_id: z.string().nullable(),
  agent_pid: z.number().nullable(),
  /** A process is its pid and its start time. */
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

  /** A compact JWS (RFC 7515) over the claims. */
  async certify(claims: Claims): Promise<string> {
    return (await this.issue(claims)).birth_certificate;
  }

  /** The same, with the instant from which it proves nothing any more. */
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

  /** The claims of a certificate that is ours and not expired; else `certificate_mismatch`. */
  async verify(certificate: string): Promise<Claims> {
    const { errors, jwtVerify } = await jose();
    try {
      const { payload } = await jwtVerify(certificate, this.#key, {
        algorithms: ["HS256"],
        typ: TOKEN_TYPE,
        currentDate: new Date(this.#clock.now()),
      });
      return Claims.parse(payload);
    } catch (error) {
      const expired = error instanceof errors.JWTExpired;
      const reason = expired ? "it has expired" : "it is not one of ours";
      throw new Problem("certificate_mismatch", { reason }, error);
    }
  }

  /** The claims of a certificate that is ours, whether it has expired or not. */
  async readIgnoringExpiry(certificate: string): Promise<Claims> {
    const { compactVerify } = await jose();
    try {
      const options = { algorithms: ["HS256"] };
      const { payload, protectedHeader } = await compactVerify(certificate, this.#key, options);
      if (protectedHeader.typ !== TOKEN_TYPE) throw new Error(`Not a "${TOKEN_TYPE}"`);
      return Claims.parse(JSON.parse(new TextDecoder().decode(payload)));
    } catch (error) {
      throw new Problem("certificate_mismatch", { reason: "it is not one of ours" }, error);
    }
  }
}

/** What a peer's own certificate says. */
export function claimsOf(peer: Claims): Claims {
  return Claims.parse(peer);
}

/** What a bearer says of itself; where it says nothing, nothing is compared. */
export type PresentedClaims = Partial<{ readonly [F in keyof Claims]: Claims[F] | undefined }>;

const CLAIMED_FIELDS = [
  "peer_id",
  "backend",
  "path",
  "pane_id",
  "agent_pid",
  "runtime_session_id",
] as const;

/** What the bearer says of itself must be what the certificate says. */
export function mustMatchPresented(claims: Claims, presented: PresentedClaims): void {
  const mismatch = CLAIMED_FIELDS.find((field) =>
    claims[field] !== null && presented[field] !== undefined && claims[field] !== presented[field]
  );
  if (mismatch) {
    throw new Problem("certificate_mismatch", { reason: `it names another ${mismatch}` });
  }
}

/** All that a certificate is bound to. */
const BOUND_FIELDS = [
  ...["backend", "path", "runtime_session_id", "pane_id", "agent_pid", "agent_started"] as const,
];

/** What it says must still be what is on the record. */
export function mustMatchPeer(claims: Claims, peer: Claims): void {
  const mismatch = BOUND_FIELDS.find((field) =>
    claims[field] !== null && claims[field] !== peer[field]
  );
  if (mismatch) {
    throw new Problem("certificate_mismatch", { reason: `the peer's ${mismatch} is another` });
  }
}
