/** Who is signed in: random cookies, of which only digests are held, in memory, for a day. */

import { equalSecrets } from "kit/core/settings.ts";
import type { Clock, Ids } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { Problem } from "kit/core/problem.ts";
import type { OriginPolicy } from "../web/origin_policy.ts";
import { digestOf } from "../web/secrets.ts";

/** From signing in, however busy it is. */
export const SESSION_MS = DAY_MS;
export const SESSIONS_MAX = 10_000;
/** Of one namespace: a person has some browsers, not a hundred. */
export const SESSIONS_EACH_MAX = 50;
const COOKIE_BYTES = 32;

export interface Session {
  readonly namespace: string;
  /** Goes into our forms, and comes back from no other page. */
  readonly form_token: string;
}

interface StoredSession extends Session {
  readonly expires_at: number;
}

export interface SessionsDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly originPolicy: OriginPolicy;
  /** Whether a machine of this namespace is here: such a session is the last to be given up. */
  hasConnectedMachine(namespace: string): boolean;
}

export class Sessions {
  readonly #deps: SessionsDeps;
  /** By the cookie's digest; the oldest first. */
  readonly #sessions = new Map<string, StoredSession>();
  /** The digests of each namespace; the oldest first. */
  readonly #digestsByNamespace = new Map<string, Set<string>>();

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  /** The namespace of the browser that is signed in; undefined for any other. */
  namespaceOf(request: Request): string | undefined {
    return this.get(request)?.namespace;
  }

  get(request: Request): Session | undefined {
    const cookie = this.#cookieOf(request);
    const session = cookie === undefined ? undefined : this.#sessions.get(digestOf(cookie));
    return session && session.expires_at > this.#deps.clock.now() ? session : undefined;
  }

  /**
   * Refuses what changes something, and is no request of our own page's: either the browser vouches
   * for that, or the form bears the session's token; one that bears another's is never taken.
   */
  refuseForged(request: Request, form_token?: string | null): void {
    const { originPolicy } = this.#deps;
    originPolicy.refuseForeign(request);
    const session = this.get(request);
    if (!session) return;
    const formToken = form_token ?? request.headers.get("x-mesh-form-token");
    if (
      formToken === null
        ? originPolicy.isFromOurPage(request)
        : equalSecrets(formToken, session.form_token)
    ) {
      return;
    }
    throw new Problem("wrong_form_token", {});
  }

  /**
   * Refuses what a page of another session sends, where the request says whose page it is: the
   * browser may have signed in with another secret since that page was opened.
   */
  refuseOtherSession(request: Request): void {
    const formToken = request.headers.get("x-mesh-form-token");
    const session = this.get(request);
    if (formToken === null || !session || equalSecrets(formToken, session.form_token)) return;
    throw new Problem("wrong_form_token", {});
  }

  /** Signs in; the `Set-Cookie` of it. A browser that was signed in before is so no longer. */
  open(namespace: string, request: Request): string {
    const { clock, ids } = this.#deps;
    this.close(request);
    this.#evictIfFull(namespace);
    const cookie = ids.secret(COOKIE_BYTES);
    const digest = digestOf(cookie);
    this.#sessions.set(digest, {
      namespace,
      form_token: ids.secret(COOKIE_BYTES),
      expires_at: clock.now() + SESSION_MS,
    });
    this.#digestsByNamespace.getOrInsertComputed(namespace, () => new Set()).add(digest);
    return this.#toCookie(request, cookie, SESSION_MS / 1000);
  }

  /** Signs out, here and nowhere else; the `Set-Cookie` that clears it. */
  close(request: Request): string {
    const cookie = this.#cookieOf(request);
    if (cookie !== undefined) this.#drop(digestOf(cookie));
    return this.#toCookie(request, "", 0);
  }

  tick(now: number): void {
    for (const [digest, { expires_at }] of this.#sessions) {
      if (expires_at > now) return; // All live equally long, so that the rest is younger.
      this.#drop(digest);
    }
  }

  /** The oldest goes: of this namespace, if it has too many; else of one without a machine. */
  #evictIfFull(namespace: string): void {
    const digests = this.#digestsByNamespace.get(namespace) ?? new Set();
    const [oldest] = digests;
    if (oldest !== undefined && digests.size >= SESSIONS_EACH_MAX) this.#drop(oldest);
    if (this.#sessions.size >= SESSIONS_MAX) this.#drop(this.#firstToEvict());
  }

  #firstToEvict(): string {
    for (const [digest, { namespace }] of this.#sessions) {
      if (!this.#deps.hasConnectedMachine(namespace)) return digest;
    }
    const [oldest = ""] = this.#sessions.keys();
    return oldest;
  }

  #drop(digest: string): void {
    const namespace = this.#sessions.get(digest)?.namespace ?? "";
    this.#sessions.delete(digest);
    const digests = this.#digestsByNamespace.get(namespace);
    digests?.delete(digest);
    if (digests?.size === 0) this.#digestsByNamespace.delete(namespace);
  }

  #cookieOf(request: Request): string | undefined {
    const name = this.#nameOf(request);
    const pairs = (request.headers.get("cookie") ?? "").split(/; */);
    const found = pairs.find((pair) => pair.startsWith(`${name}=`));
    return found?.slice(name.length + 1) || undefined;
  }

  /** `__Host-`: browsers take it over HTTPS alone, from this host alone, for all of its paths. */
  #nameOf(request: Request): string {
    return this.#deps.originPolicy.isSecure(request) ? "__Host-mesh" : "mesh";
  }

  #toCookie(request: Request, value: string, seconds: number): string {
    const secure = this.#deps.originPolicy.isSecure(request) ? "; Secure" : "";
    const name = this.#nameOf(request);
    return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
  }
}
