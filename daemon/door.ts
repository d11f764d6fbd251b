/** Who may call the daemon (contract 10): Host, Origin, then the token. */

import type { Contract } from "kit/contract.ts";
import { equalSecrets } from "kit/core/equal_secrets.ts";
import { Problem } from "kit/problem.ts";
import type { Caller } from "kit/route.ts";
import { isLoopback } from "./places.ts";

export interface DoorOptions {
  readonly host: string;
  readonly allowed_hosts: readonly string[];
  readonly auth_token: string | undefined;
  /** The port that is listened on; undefined before it is known, and in tests. */
  readonly port: () => number | undefined;
}

/** The dashboard's own address: the one page that a link elsewhere may lead to. */
const DASHBOARD = /^\/dashboard(\/|$)/;

export class Gate {
  readonly #options: DoorOptions;

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /** Refuses what comes from another page, or by another name than ours (DNS rebinding, CSRF). */
  admit(request: Request): void {
    const host = hostOf(request);
    if (!this.#isOurs(host)) throw new Problem("forbidden_host", { host });
    const origin = request.headers.get("origin");
    if (origin !== null && !this.#isOurOrigin(origin, host)) {
      throw new Problem("forbidden_origin", { origin });
    }
    const site = request.headers.get("sec-fetch-site");
    if (site === null || site === "same-origin" || site === "none") return;
    if (isNavigation(request) && DASHBOARD.test(new URL(request.url).pathname)) return;
    throw new Problem("forbidden_origin", { origin: origin ?? site });
  }

  authorize(request: Request, contract: Contract, remote: Deno.NetAddr | undefined): Caller {
    const dashboard = this.#isDashboard(request, remote);
    const bearer = /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    const exempt = dashboard && contract.token !== "always";
    const authorized = exempt || this.holds(bearer);
    if (!authorized && contract.token !== "open") throw new Problem("unauthorized", {});
    return { remote, dashboard, authorized };
  }

  /** Whether this is the token; true without one configured. Takes the same time either way. */
  holds(token: string | undefined): boolean {
    const { auth_token } = this.#options;
    if (auth_token === undefined) return true;
    if (token === undefined) return false;
    return equalSecrets(token, auth_token);
  }

  /** A browser on this machine, on a page of this daemon. */
  #isDashboard(request: Request, remote: Deno.NetAddr | undefined): boolean {
    if (!remote || !isLoopback(remote.hostname)) return false;
    const host = hostOf(request);
    if (!isLoopback(nameOf(host))) return false;
    return request.headers.get("sec-fetch-site") === "same-origin" ||
      request.headers.get("origin") === `http://${host}`;
  }

  #isOurs(host: string): boolean {
    const { allowed_hosts, port, host: own_host } = this.#options;
    const name = nameOf(host);
    if (allowed_hosts.some((allowed) => allowed === host || allowed === name)) return true;
    // In a URL the brackets of an IPv6 address belong to the name; in the settings they do not.
    const own = [own_host, `[${own_host}]`].includes(name) || isLoopback(name);
    const expected = port();
    return own && (expected === undefined || portOf(host) === expected);
  }

  #isOurOrigin(origin: string, host: string): boolean {
    const allowed = this.#options.allowed_hosts.includes(nameOf(host));
    return origin === `http://${host}` || (allowed && origin === `https://${host}`);
  }
}

function hostOf(request: Request): string {
  return request.headers.get("host") ?? new URL(request.url).host;
}

function nameOf(host: string): string {
  return host.replace(/:\d+$/, "");
}

function portOf(host: string): number {
  return Number(/:(\d+)$/.exec(host)?.[1] ?? 80);
}

/** A person followed a link: a top-level navigation, not a request of a page. */
function isNavigation(request: Request): boolean {
  const { headers, method } = request;
  return method === "GET" && headers.get("sec-fetch-mode") === "navigate" &&
    headers.get("sec-fetch-dest") === "document" && headers.get("origin") === null;
}
