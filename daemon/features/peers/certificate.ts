/** Birth certificates: signed by this daemon, 24 h, bound to one session of one agent. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { Problem } from "kit/core/problem.ts";

const LIFETIME_MS = 24 * 3_600_000;
const TYPE = "mesh-birth";

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

export class Registry {
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
    const expires = Math.floor((now + LIFETIME_MS) / 1000);
    const { SignJWT } = await jose();
    const birth_certificate = await new SignJWT(Claims.parse(claims))
      .setProtectedHeader({ alg: "HS256", typ: TYPE })
      .setIssuedAt(Math.floor(now / 1000))
      .setExpirationTime(expires)
      .sign(this.#key);
    return { birth_certificate, expires_at: expires * 1000 };
  }

  /** The claims of a certificate that is ours and not expired; else `certificate_mismatch`. */
  async check(certificate: string): Promise<Claims> {
    const { errors, jwtVerify } = await jose();
    try {
      const { payload } = await jwtVerify(certificate, this.#key, {
        algorithms: ["HS256"],
        typ: TYPE,
        currentDate: new Date(this.#clock.now()),
      });
      return Claims.parse(payload);
    } catch (fault) {
      const expired = fault instanceof errors.JWTExpired;
      const reason = expired ? "it has expired" : "it is not one of ours";
      throw new Problem("certificate_mismatch", { reason }, fault);
    }
  }

  /** The claims of a certificate that is ours, whether it has expired or not. */
  async read(certificate: string): Promise<Claims> {
    const { compactVerify } = await jose();
    try {
      const options = { algorithms: ["HS256"] };
      const { payload, protectedHeader } = await compactVerify(certificate, this.#key, options);
      if (protectedHeader.typ !== TYPE) throw new Error(`Not a "${TYPE}"`);
      return Claims.parse(JSON.parse(new TextDecoder().decode(payload)));
    } catch (fault) {
      throw new Problem("certificate_mismatch", { reason: "it is not one of ours" }, fault);
    }
  }
}

/** What a peer's own certificate says. */
export function claimsOf(peer: Claims): Claims {
  return Claims.parse(peer);
}

/** What a bearer says of itself; where it says nothing, nothing is compared. */
export type Shown = Partial<{ readonly [F in keyof Claims]: Claims[F] | undefined }>;

const SAID = ["peer_id", "backend", "path", "pane_id", "agent_pid", "runtime_session_id"] as const;

/** What the bearer says of itself must be what the certificate says. */
export function refuseOther(claims: Claims, shown: Shown): void {
  const differs = SAID.find((fact) =>
    claims[fact] !== null && shown[fact] !== undefined && claims[fact] !== shown[fact]
  );
  if (differs) throw new Problem("certificate_mismatch", { reason: `it names another ${differs}` });
}

/** All that a certificate is bound to. */
const BOUND = [
  ...["backend", "path", "runtime_session_id", "pane_id", "agent_pid", "agent_started"] as const,
];

/** What it says must still be what is on the record. */
export function refuseMoved(claims: Claims, peer: Claims): void {
  const moved = BOUND.find((fact) => claims[fact] !== null && claims[fact] !== peer[fact]);
  if (moved) {
    throw new Problem("certificate_mismatch", { reason: `the peer's ${moved} is another` });
  }
}
