/** Under which address the relay is met, and whether a request comes from its own pages. */

import { Problem } from "kit/core/problem.ts";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

export class OriginPolicy {
  readonly #issuer: URL | undefined;

  /** The configured issuer, where there is one, is the address: no header changes it. */
  constructor(issuer: string | undefined) {
    this.#issuer = issuer === undefined ? undefined : new URL(issuer);
  }

  /** The origin of our own pages and links. */
  originOf(request: Request): string {
    if (this.#issuer) return this.#issuer.origin;
    const host = hostOf(request);
    return isLoopback(host) ? `http://${host}` : `https://${host}`;
  }

  /** Whether browsers reach us over HTTPS; http is for loopback alone. */
  isSecure(request: Request): boolean {
    return this.originOf(request).startsWith("https:");
  }

  /** Refuses what a foreign page sends: a form, a script, an embedding (CSRF). */
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

  /** Whether a browser vouches that one of our own pages sends this. */
  isFromOurPage(request: Request): boolean {
    const { headers } = request;
    const origin = headers.get("origin");
    if (origin !== null) return this.#isOwnOrigin(origin, request);
    return headers.get("sec-fetch-site") === "same-origin";
  }

  /**
   * Refuses a Host or an Origin that is not the issuer's (DNS rebinding): for `/mcp`. A proxy on
   * this machine may name us by loopback; a page that was rebound sends its own name, never that.
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

/** The names of loopback are one name. The port is the same, said or the scheme's own. */
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

/** Where a listener is met: an IPv6 address stands in brackets. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export function hostOf(request: Request): string {
  return request.headers.get("host") ?? new URL(request.url).host;
}
