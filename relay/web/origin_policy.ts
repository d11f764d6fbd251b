/** Determines the relay's origin, and whether a request comes from the relay's own pages. */

import { Problem } from "protocol/problems.ts";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

export class OriginPolicy {
  readonly #issuer: URL | undefined;

  /** The origin is the configured issuer. Without an issuer, the Host header determines it. */
  constructor(issuer: string | undefined) {
    this.#issuer = issuer === undefined ? undefined : new URL(issuer);
  }

  /** The origin of the relay's pages and links. */
  originOf(request: Request): string {
    if (this.#issuer) return this.#issuer.origin;
    const host = hostOf(request);
    return isLoopback(host) ? `http://${host}` : `https://${host}`;
  }

  /** True if browsers reach the relay over HTTPS. Plain http is used for loopback only. */
  isSecure(request: Request): boolean {
    return this.originOf(request).startsWith("https:");
  }

  /** Throws if another site's page sent the request: a form, a script or an embedding (CSRF). */
  refuseForeign(request: Request): void {
    const { headers } = request;
    const origin = headers.get("origin");
    const site = headers.get("sec-fetch-site");
    if (origin !== null && !this.#isOwnOrigin(origin, request)) {
      throw new Problem("foreign_page", { origin });
    }
    if (site !== null && site !== "same-origin" && site !== "none") {
      throw new Problem("foreign_page", { origin: origin ?? site });
    }
  }

  /** True if the browser's headers prove that a page of the relay sent the request. */
  isFromOurPage(request: Request): boolean {
    const { headers } = request;
    const origin = headers.get("origin");
    if (origin !== null) return this.#isOwnOrigin(origin, request);
    return headers.get("sec-fetch-site") === "same-origin";
  }

  /** Throws unless the browser's headers prove that a page of the relay sent the request. */
  mustBeFromOurPage(request: Request): void {
    if (this.isFromOurPage(request)) return;
    const { headers } = request;
    const origin = headers.get("origin") ?? headers.get("sec-fetch-site") ?? "none";
    throw new Problem("foreign_page", { origin });
  }

  /**
   * Throws if Host is not the issuer's, which prevents DNS rebinding. Used for `/mcp`, which pages
   * of any origin may call. A loopback Host is also accepted, because proxies on this machine send
   * one; a page that uses DNS rebinding sends its own host name.
   */
  refuseRebound(request: Request): void {
    const host = hostOf(request);
    const isOwnHost = !this.#issuer || sameHost(host, this.#issuer) || isLoopback(host);
    if (!isOwnHost) throw new Problem("foreign_host", { host });
  }

  #isOwnOrigin(origin: string, request: Request): boolean {
    if (!URL.canParse(origin)) return false;
    const { protocol, host } = new URL(origin);
    const own = new URL(this.originOf(request));
    return protocol === own.protocol && sameHost(host, own);
  }
}

/** All loopback names are equal. A default port may be given or left out. */
function sameHost(given: string, own: URL): boolean {
  const host = given.replace(own.protocol === "https:" ? /:443$/ : /:80$/, "");
  if (host.toLowerCase() === own.host) return true;
  return isLoopback(host) && isLoopback(own.host) && portOf(host) === own.port;
}

function isLoopback(host: string): boolean {
  return LOOPBACK.test(host.replace(/:\d+$/, ""));
}

function portOf(host: string): string {
  return /:(\d+)$/.exec(host)?.[1] ?? "";
}

export function hostOf(request: Request): string {
  return request.headers.get("host") ?? new URL(request.url).host;
}

/** The value of a cookie. Undefined if the request has no such cookie. */
export function cookieOf(request: Request, name: string): string | undefined {
  const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
