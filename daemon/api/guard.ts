/**
 * Decides who may call the daemon: by Host, Origin, the socket's owner, a token (contract 10),
 * through the relay's tunnel (contract 9), and from a machine that may administer this one.
 */

import type { Contract } from "kit/http/contract.ts";
import { equalSecrets } from "kit/host/node_library.ts";
import { Problem } from "protocol/problems.ts";
import type { Caller } from "kit/http/route.ts";
import { isLoopback } from "../host/paths.ts";
import type { RequestHead } from "kit/net/tunnel/frames.ts";
import { EVENT_STREAM } from "kit/core/problem.ts";

/** A page of the daemon in a browser, identified by its cookie. */
export interface Page {
  /** True if the cookie was issued for a ticket, which proves that a person opened the page. */
  readonly human: boolean;
}

/** A paired device, identified by its cookie. */
export interface PairedCaller {
  readonly device_id: string;
}

interface GuardOptions {
  readonly host: string;
  readonly allowed_hosts: readonly string[];
  readonly auth_token: string | undefined;
  /** The port that the daemon listens on; undefined before it is known, and in tests. */
  readonly port: () => number | undefined;
  /** True if the other end of a socket is proved to belong to the daemon's user or to root. */
  isOwnUser(remote: Deno.NetAddr): boolean;
  /** The page of a request's cookie; undefined without a valid cookie. */
  pageOf(request: Request): Page | undefined;
  /** The paired device of a request's cookie; undefined without a valid cookie. */
  deviceOf(request: Request): PairedCaller | undefined;
  /** True while a one-time code waits for a device, which may be on another machine. */
  hasCode(): boolean;
  /** True if a paired device may use the routes of administration (`relay.allow_admin`). */
  readonly allow_admin: boolean;
}

/** Pages to which links on other sites may lead. */
const PAGES = /^\/(dashboard|docs)$/;

export class Guard {
  readonly #options: GuardOptions;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /** Refuses requests of other sites and requests for other host names (DNS rebinding, CSRF). */
  admit(request: Request): void {
    const host = hostOf(request);
    if (!this.#isOwnHost(host)) throw new Problem("forbidden_host", { host });
    const origin = request.headers.get("origin");
    if (origin !== null && !this.#isOwnOrigin(origin, host)) {
      throw new Problem("forbidden_origin", { origin });
    }
    const site = request.headers.get("sec-fetch-site");
    if (site === null || site === "same-origin" || site === "none") return;
    if (isNavigation(request) && PAGES.test(new URL(request.url).pathname)) return;
    throw new Problem("forbidden_origin", { origin: origin ?? site });
  }

  /**
   * Identifies the caller. The token allows everything. A caller without the token must be a
   * program of the daemon's user. If a token is configured, that caller must also be one of our
   * pages.
   */
  authorize(request: Request, contract: Contract, remote: Deno.NetAddr | undefined): Caller {
    const { auth_token, isOwnUser } = this.#options;
    const bearer = /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    const holds_token = this.isToken(bearer);
    const device = holds_token ? undefined : this.#deviceOf(request, contract);
    if (device) {
      mayUse(contract, this.#options.allow_admin);
      return { remote, human: true, authorized: true, holds_token, via: "page", ...device };
    }
    const page = this.#pageOf(request, remote);
    const human = page?.human === true;
    const via = isFromBrowser(request) ? { via: "page" as const } : undefined;
    if (holds_token) return { remote, human, authorized: true, holds_token, ...via };
    const { access } = contract;
    const own = remote === undefined || access === "public" || isOwnUser(remote);
    const by_page = page !== undefined && access !== "token";
    const authorized = own && (auth_token === undefined || by_page);
    const admitted = authorized || access === "public" || access === "checked" ||
      (access === "user" && own) || (access === "code" && this.#options.hasCode());
    if (!admitted) throw new Problem("unauthorized", {});
    return { remote, human: human && own, authorized, holds_token, ...via };
  }

  /** True if a token is configured. If not, only the caller's user is checked. */
  get has_token(): boolean {
    return this.#options.auth_token !== undefined;
  }

  /** True if this is the configured token; compares in constant time. */
  isToken(token: string | undefined): boolean {
    const { auth_token } = this.#options;
    if (auth_token === undefined || token === undefined) return false;
    return equalSecrets(token, auth_token);
  }

  /** The page of ours that sends the request from a browser on this machine. */
  #pageOf(request: Request, remote: Deno.NetAddr | undefined): Page | undefined {
    if (!request.headers.has("cookie") || !remote || !isLoopback(remote.hostname)) return undefined;
    const host = hostOf(request);
    if (!isLoopback(nameOf(host))) return undefined;
    const same = request.headers.get("sec-fetch-site") === "same-origin" ||
      request.headers.get("origin") === `http://${host}`;
    return same ? this.#options.pageOf(request) : undefined;
  }

  /**
   * A device may be on another machine, and its page is perhaps not served over TLS, where browsers
   * send no `Sec-Fetch-Site`. Its cookie is strict: no other site's page sends it.
   */
  #deviceOf(request: Request, { access }: Contract): PairedCaller | undefined {
    const isClosed = access === "token" || access === "checked" || access === "code";
    if (isClosed || !request.headers.has("cookie")) return undefined;
    return this.#options.deviceOf(request);
  }

  #isOwnHost(host: string): boolean {
    const { allowed_hosts, port, host: own_host } = this.#options;
    const name = nameOf(host);
    if (allowed_hosts.some((allowed) => allowed === host || allowed === name)) return true;
    // An IPv6 address has brackets in a URL, but none in the configuration.
    const own = [own_host, `[${own_host}]`].includes(name) || isLoopback(name);
    const expected = port();
    return own && (expected === undefined || portOf(host) === expected);
  }

  #isOwnOrigin(origin: string, host: string): boolean {
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

/**
 * True if a browser sends the request. Some programs name an Origin when they open a `/ws` socket,
 * but only a browser sends our cookie with it.
 */
function isFromBrowser({ headers }: Request): boolean {
  if (headers.has("sec-fetch-site")) return true;
  return headers.has("origin") && (!headers.has("upgrade") || headers.has("cookie"));
}

/** True if the request is a top-level navigation, such as by a link, and not of a page's script. */
function isNavigation(request: Request): boolean {
  const { headers, method } = request;
  return method === "GET" && headers.get("sec-fetch-mode") === "navigate" &&
    headers.get("sec-fetch-dest") === "document" && headers.get("origin") === null;
}

/** Throws if a paired device may not use a route: it may do what it could through a relay. */
function mayUse({ id, method, path, tunnel }: Contract, allow_admin: boolean): void {
  if (id.startsWith("pages.") || tunnel === "open") return;
  if (tunnel === "admin" && allow_admin) return;
  throw new Problem("not_for_devices", { method, path });
}

interface TunnelPolicy {
  /** The paired device whose session sends the request. */
  readonly device?: PairedCaller | undefined;
  readonly origin: RequestHead["door"];
  /** True if callers may reach the routes of administration (`relay.allow_admin`). */
  readonly allow_admin: boolean;
}

/**
 * The caller of a tunnelled request. No token is needed, because the daemon itself connects to the
 * relay, and the relay admits only holders of the relay secret and those whom a holder has let in
 * (apps with a grant, guests of a share). A signed-in browser on a page of the relay speaks as the
 * human. Apps, guests and programs do not.
 */
export function authorizeTunnel(
  { method, path, tunnel }: Contract,
  { origin, allow_admin, device }: TunnelPolicy,
): Caller {
  if (tunnel === "never") throw new Problem("not_through_relay", { method, path });
  if (tunnel === "admin" && !allow_admin) throw new Problem("relay_admin_off", { method, path });
  const human = origin === "browser" || device !== undefined;
  const caller = { ...remoteCaller("relay", human), ...device };
  return allow_admin ? caller : { ...caller, admin_refused: true };
}

/** A caller on another machine, whom its connection has authenticated. */
function remoteCaller(via: "relay" | "machine", human: boolean): Caller {
  return { remote: undefined, human, authorized: true, holds_token: false, via };
}

/**
 * The caller of a request from another machine. Routes that no tunnel may reach are closed here as
 * well. Routes that need `relay.allow_admin` are open, because only machines in
 * `mesh.bus.allow_admin` get here. A call has one answer, so streams are refused.
 */
export function authorizeMachine(
  { method, path, responseType, tunnel }: Contract,
  human: boolean,
): Caller {
  if (tunnel === "never" || responseType === EVENT_STREAM) {
    throw new Problem("not_from_elsewhere", { method, path });
  }
  return remoteCaller("machine", human);
}
