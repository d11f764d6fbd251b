/** The origin of the relay, and whether a request comes from its own pages. */

import { Problem } from "kit/core/problem.ts";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

export class OriginPolicy {
  readonly #issuer: URL | undefined;

  /** A configured issuer is the origin; otherwise the Host header determines it. */
  constructor(issuer: string | undefined) {
    this.#issuer = issuer === undefined ? undefined : new URL(issuer);
  }

  /** The origin of the relay's pages and links. */
  originOf(request: Request): string {
    if (this.#issuer) return this.#issuer.origin;
    const host = hostOf(request);
    return isLoopback(host) ? `http://${host}` : `https://${host}`;
  }

  /** Whether browsers use HTTPS. Plain http is for loopback only. */
  isSecure(request: Request): boolean {
    return this.originOf(request).startsWith("https:");
  }

  /** Throws for a request of a foreign page: a form, a script, an embedding (CSRF). */
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

  /** Whether the browser's headers prove that a page of the relay sends the request. */
  isFromOurPage(request: Request): boolean {
    const { headers } = request;
    const origin = headers.get("origin");
    if (origin !== null) return this.#isOwnOrigin(origin, request);
    return headers.get("sec-fetch-site") === "same-origin";
  }

  /**
   * Throws if Host or Origin is not that of the issuer (DNS rebinding): for `/mcp`. A loopback Host
   * is allowed for proxies on this machine. A rebound page sends its own host name instead.
   */
  refuseRebound(request: Request): void {
    const host = hostOf(request);
    const isOwnHost = !this.#issuer || sameHost(host, this.#issuer) || isLoopback(host);
    if (!isOwnHost) throw new Problem("foreign_host", { host });
    this.refuseForeign(request);
  }

  #isOwnOrigin(origin: string, request: Request): boolean {
    if (!URL.canParse(origin)) return false;
    const { protocol, host } = new URL(origin);
    const own = new URL(this.originOf(request));
    return protocol === own.protocol && sameHost(host, own);
  }
}

/** All loopback names are equal, and so are an implicit and an explicit default port. */
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

/** The URL of a listener. An IPv6 address needs brackets. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export function hostOf(request: Request): string {
  return request.headers.get("host") ?? new URL(request.url).host;
}
