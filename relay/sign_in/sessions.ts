/** Who is signed in: random cookies, of which only digests are held, in memory, for a day. */

import { equalSecrets } from "kit/core/equal_secrets.ts";
import type { Clock, Ids } from "kit/core/clock.ts";
import { Problem } from "kit/core/problem.ts";
import type { Address } from "../web/issuer.ts";
import { digestOf } from "../web/secrets.ts";

const HOUR_MS = 3_600_000;
/** From signing in, however busy it is. */
export const SESSION_MS = 24 * HOUR_MS;
export const SESSIONS_MAX = 10_000;
/** Of one namespace: a person has some browsers, not a hundred. */
export const SESSIONS_EACH_MAX = 50;
const COOKIE_BYTES = 32;

export interface Session {
  readonly namespace: string;
  /** Goes into our forms, and comes back from no other page. */
  readonly form_token: string;
}

interface Held extends Session {
  readonly expires_at: number;
}

export interface SessionsNeeds {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly address: Address;
  /** Whether a machine of this namespace is here: such a session is the last to be given up. */
  hasMachine(namespace: string): boolean;
}

export class Sessions {
  readonly #needs: SessionsNeeds;
  /** By the cookie's digest; the oldest first. */
  readonly #held = new Map<string, Held>();
  /** The digests of each namespace; the oldest first. */
  readonly #own = new Map<string, Set<string>>();

  constructor(needs: SessionsNeeds) {
    this.#needs = needs;
  }

  /** The namespace of the browser that is signed in; undefined for any other. */
  namespaceOf(request: Request): string | undefined {
    return this.of(request)?.namespace;
  }

  of(request: Request): Session | undefined {
    const cookie = this.#cookieOf(request);
    const held = cookie === undefined ? undefined : this.#held.get(digestOf(cookie));
    return held && held.expires_at > this.#needs.clock.now() ? held : undefined;
  }

  /**
   * Refuses what changes something, and is no request of our own page's: either the browser vouches
   * for that, or the form bears the session's token; one that bears another's is never taken.
   */
  refuseForged(request: Request, form_token?: string | null): void {
    const { address } = this.#needs;
    address.refuseForeign(request);
    const session = this.of(request);
    if (!session) return;
    const given = form_token ?? request.headers.get("x-mesh-form-token");
    if (given === null ? address.isFromOurPage(request) : equalSecrets(given, session.form_token)) {
      return;
    }
    throw new Problem("wrong_form_token", {});
  }

  /**
   * Refuses what a page of another session sends, where the request says whose page it is: the
   * browser may have signed in with another secret since that page was opened.
   */
  refuseOtherSession(request: Request): void {
    const given = request.headers.get("x-mesh-form-token");
    const session = this.of(request);
    if (given === null || !session || equalSecrets(given, session.form_token)) return;
    throw new Problem("wrong_form_token", {});
  }

  /** Signs in; the `Set-Cookie` of it. A browser that was signed in before is so no longer. */
  open(namespace: string, request: Request): string {
    const { clock, ids } = this.#needs;
    this.close(request);
    this.#makeRoom(namespace);
    const cookie = ids.secret(COOKIE_BYTES);
    const digest = digestOf(cookie);
    this.#held.set(digest, {
      namespace,
      form_token: ids.secret(COOKIE_BYTES),
      expires_at: clock.now() + SESSION_MS,
    });
    this.#own.getOrInsertComputed(namespace, () => new Set()).add(digest);
    return this.#toCookie(request, cookie, SESSION_MS / 1000);
  }

  /** Signs out, here and nowhere else; the `Set-Cookie` that clears it. */
  close(request: Request): string {
    const cookie = this.#cookieOf(request);
    if (cookie !== undefined) this.#drop(digestOf(cookie));
    return this.#toCookie(request, "", 0);
  }

  beat(now: number): void {
    for (const [digest, { expires_at }] of this.#held) {
      if (expires_at > now) return; // All live equally long, so that the rest is younger.
      this.#drop(digest);
    }
  }

  /** The oldest goes: of this namespace, if it has too many; else of one without a machine. */
  #makeRoom(namespace: string): void {
    const own = this.#own.get(namespace) ?? new Set();
    const [oldest] = own;
    if (oldest !== undefined && own.size >= SESSIONS_EACH_MAX) this.#drop(oldest);
    if (this.#held.size >= SESSIONS_MAX) this.#drop(this.#leastMissed());
  }

  #leastMissed(): string {
    for (const [digest, { namespace }] of this.#held) {
      if (!this.#needs.hasMachine(namespace)) return digest;
    }
    const [oldest = ""] = this.#held.keys();
    return oldest;
  }

  #drop(digest: string): void {
    const namespace = this.#held.get(digest)?.namespace ?? "";
    this.#held.delete(digest);
    const own = this.#own.get(namespace);
    own?.delete(digest);
    if (own?.size === 0) this.#own.delete(namespace);
  }

  #cookieOf(request: Request): string | undefined {
    const name = this.#nameOf(request);
    const pairs = (request.headers.get("cookie") ?? "").split(/; */);
    const found = pairs.find((pair) => pair.startsWith(`${name}=`));
    return found?.slice(name.length + 1) || undefined;
  }

  /** `__Host-`: browsers take it over HTTPS alone, from this host alone, for all of its paths. */
  #nameOf(request: Request): string {
    return this.#needs.address.isSecure(request) ? "__Host-mesh" : "mesh";
  }

  #toCookie(request: Request, value: string, seconds: number): string {
    const secure = this.#needs.address.isSecure(request) ? "; Secure" : "";
    const name = this.#nameOf(request);
    return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
  }
}
