/**
 * Browsers that were paired with one machine: their cookies, and the codes that lead to a machine.
 * The machine keeps the sessions and checks each request, so the relay stores none (decision 018).
 */

import { type Clock, TimeLimit } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { equalSecrets } from "kit/host/node_library.ts";
import { Problem } from "protocol/problems.ts";
import { DaemonId, type PairedBrowser, type PairedBrowsers } from "protocol/relay/daemons.ts";
import { cookieOf, type OriginPolicy } from "../web/origin_policy.ts";
import { digestOf } from "../web/secrets.ts";

/** A machine gives its codes the same time. */
const CODE_MS = 300_000;
export const CODES_MAX = 10_000;
export const CODES_EACH_MAX = 20;
/** As long as the session at the machine. */
const COOKIE_MS = 90 * DAY_MS;
const NAMESPACE = /^[0-9a-f]{64}$/;
const TOKEN = /^[\w-]{20,64}$/;

interface Code {
  readonly namespace: string;
  readonly daemon_id: string;
  readonly limit: TimeLimit;
}

interface DevicesDeps {
  readonly clock: Clock;
  readonly originPolicy: OriginPolicy;
}

export class Devices implements PairedBrowsers {
  readonly #deps: DevicesDeps;
  /** Keyed by the digest of the code. The oldest is first. */
  readonly #codes = new Map<string, Code>();

  constructor(deps: DevicesDeps) {
    this.#deps = deps;
  }

  /** Leads the code of this digest to a machine for five minutes. */
  announce(namespace: string, daemon_id: string, digest: string): void {
    const own = [...this.#codes].filter(([, code]) => code.namespace === namespace);
    const [oldest] = own;
    if (oldest && own.length >= CODES_EACH_MAX) this.#codes.delete(oldest[0]);
    if (this.#codes.size >= CODES_MAX) throw new Problem("too_many_codes", {});
    // A digest that another namespace announced stays with it.
    if (this.#codes.has(digest)) throw new Problem("code_refused", {});
    const limit = new TimeLimit(this.#deps.clock, CODE_MS);
    this.#codes.set(digest, { namespace, daemon_id, limit });
  }

  /** The machine of a code, which counts once. */
  take(code: string): Code | undefined {
    const digest = digestOf(code);
    const found = this.#codes.get(digest);
    this.#codes.delete(digest);
    return found && !found.limit.isOver ? found : undefined;
  }

  /** The paired browser of a request about a machine. */
  get(request: Request, daemon_id: string): PairedBrowser | undefined {
    if (!DaemonId.safeParse(daemon_id).success) return undefined;
    const value = cookieOf(request, this.#nameOf(request, daemon_id));
    const [namespace = "", token = "", ...more] = value?.split(".") ?? [];
    if (more.length > 0 || !NAMESPACE.test(namespace) || !TOKEN.test(token)) return undefined;
    return { namespace, token, form_token: digestOf(`form ${value}`) };
  }

  isFormOf(request: Request, { form_token }: PairedBrowser): boolean {
    const given = request.headers.get("x-mesh-form-token");
    return given !== null && equalSecrets(given, form_token);
  }

  /** The `Set-Cookie` of a browser that was paired with a machine. */
  open(
    request: Request,
    { namespace, daemon_id, token }: Pick<Code, "namespace" | "daemon_id"> & { token: string },
  ): string {
    if (!TOKEN.test(token)) throw new Problem("bad_daemon_answer", { daemon_id });
    return this.#toCookie(request, daemon_id, `${namespace}.${token}`, COOKIE_MS / 1000);
  }

  /** The `Set-Cookie` that removes the cookie of a machine. */
  close(request: Request, daemon_id: string): string {
    return this.#toCookie(request, daemon_id, "", 0);
  }

  tick(): void {
    for (const [digest, { limit }] of this.#codes) {
      if (!limit.isOver) return;
      this.#codes.delete(digest);
    }
  }

  /** One cookie for each machine. `__Host-`: no other host can set it, such as a subdomain. */
  #nameOf(request: Request, daemon_id: string): string {
    return `${this.#deps.originPolicy.isSecure(request) ? "__Host-" : ""}mesh-${daemon_id}`;
  }

  #toCookie(request: Request, daemon_id: string, value: string, seconds: number): string {
    const secure = this.#deps.originPolicy.isSecure(request) ? "; Secure" : "";
    const name = this.#nameOf(request, daemon_id);
    return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
  }
}
