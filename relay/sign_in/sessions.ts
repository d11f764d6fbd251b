/** Browser sessions of one day, kept by the digests of their cookies, and owners of requests. */

import { equalSecrets } from "kit/host/node_library.ts";
import { type Clock, type Ids, TimeLimit } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { Problem } from "protocol/problems.ts";
import { cookieOf, type OriginPolicy } from "../web/origin_policy.ts";
import { bearerNamespace, digestOf } from "../web/secrets.ts";

/** Lifetime of a session, counted from signing in. Requests do not extend it. */
export const SESSION_MS = DAY_MS;
export const SESSIONS_MAX = 10_000;
/** Limit of the sessions of one namespace. A person uses fewer browsers. */
export const SESSIONS_EACH_MAX = 50;
const COOKIE_BYTES = 32;

export interface Session {
  readonly namespace: string;
  /** A token that the relay's forms contain. Other pages do not know it. */
  readonly form_token: string;
}

interface StoredSession extends Session {
  readonly limit: TimeLimit;
}

interface SessionsDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly originPolicy: OriginPolicy;
  /** True if a machine of this namespace is connected. If so, its sessions are evicted last. */
  hasConnectedMachine(namespace: string): boolean;
}

export class Sessions {
  readonly #deps: SessionsDeps;
  /** Sessions by the digest of their cookie. The oldest session is first. */
  readonly #sessions = new Map<string, StoredSession>();
  /** The digests of each namespace's cookies. The oldest is first. */
  readonly #digestsByNamespace = new Map<string, Set<string>>();

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  /** The namespace of a signed-in browser. Undefined if the browser is not signed in. */
  namespaceOf(request: Request): string | undefined {
    return this.get(request)?.namespace;
  }

  get(request: Request): Session | undefined {
    const cookie = this.#cookieOf(request);
    const session = cookie === undefined ? undefined : this.#sessions.get(digestOf(cookie));
    return session && !session.limit.isOver ? session : undefined;
  }

  /**
   * Throws unless a page of this session sent the request. The form must contain the session's
   * token; without a token, the browser's headers must prove the page. Call this for every request
   * that writes.
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
   * Throws if the request has the form token of another session. This happens if the browser has
   * signed in with another secret since the page was opened.
   */
  refuseOtherSession(request: Request): void {
    const formToken = request.headers.get("x-mesh-form-token");
    const session = this.get(request);
    if (formToken === null || !session || equalSecrets(formToken, session.form_token)) return;
    throw new Problem("wrong_form_token", {});
  }

  /** Opens a session and returns its `Set-Cookie`. Ends the session that the browser had before. */
  open(namespace: string, request: Request): string {
    const { clock, ids } = this.#deps;
    this.close(request);
    this.#evictIfFull(namespace);
    const cookie = ids.secret(COOKIE_BYTES);
    const digest = digestOf(cookie);
    this.#sessions.set(digest, {
      namespace,
      form_token: ids.secret(COOKIE_BYTES),
      limit: new TimeLimit(clock, SESSION_MS),
    });
    this.#digestsByNamespace.getOrInsertComputed(namespace, () => new Set()).add(digest);
    return this.#toCookie(request, cookie, SESSION_MS / 1000);
  }

  /** Ends the session of this browser only. Returns the `Set-Cookie` that clears the cookie. */
  close(request: Request): string {
    const cookie = this.#cookieOf(request);
    if (cookie !== undefined) this.#drop(digestOf(cookie));
    return this.#toCookie(request, "", 0);
  }

  tick(): void {
    for (const [digest, { limit }] of this.#sessions) {
      // All sessions last equally long, so the remaining ones expire later.
      if (!limit.isOver) return;
      this.#drop(digest);
    }
  }

  /**
   * Evicts the oldest session of a full namespace. In a full relay, evicts the oldest session,
   * preferably of a namespace without a connected machine.
   */
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
    return cookieOf(request, this.#nameOf(request)) || undefined;
  }

  /** Browsers accept a `__Host-` cookie only over HTTPS, from this host, and for all paths. */
  #nameOf(request: Request): string {
    return this.#deps.originPolicy.isSecure(request) ? "__Host-mesh" : "mesh";
  }

  #toCookie(request: Request, value: string, seconds: number): string {
    const secure = this.#deps.originPolicy.isSecure(request) ? "; Secure" : "";
    const name = this.#nameOf(request);
    return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
  }
}

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
