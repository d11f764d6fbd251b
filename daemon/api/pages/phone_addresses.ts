/** The addresses at which a phone can reach this daemon, to enter a code. */

import { messageOf } from "kit/core/text.ts";
import { Refusal } from "kit/core/problem.ts";
import { isLoopback } from "../../host/paths.ts";
import type { RelayApi } from "../../features/relay/relay_api.ts";

interface PhoneAddressesDeps {
  readonly host: string;
  readonly port: () => number | undefined;
  readonly allowed_hosts: readonly string[];
  readonly relay: Pick<RelayApi, "announceCode">;
}

/** A relay of an earlier version knows no such route. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Refusal)) return messageOf(error);
  const { detail, hint } = error.toBody();
  return hint ? `${detail}; ${hint}` : detail;
}

interface PhoneAddress {
  readonly url: string;
  readonly via: "relay" | "network";
}

const EVERYWHERE: ReadonlySet<string> = new Set(["0.0.0.0", "::", "[::]"]);

export class PhoneAddresses {
  readonly #deps: PhoneAddressesDeps;

  constructor(deps: PhoneAddressesDeps) {
    this.#deps = deps;
  }

  /** The addresses with a code in their fragments, and why others are missing. */
  async of(
    { code, digest }: { readonly code: string; readonly digest: string },
  ): Promise<{ addresses: PhoneAddress[]; notes: string[] }> {
    const notes: string[] = [];
    const relay = await this.#deps.relay.announceCode(digest).catch((error) => {
      notes.push(`No address at a relay: ${reasonOf(error)}`);
    });
    const addresses = this.#networkAddresses();
    if (addresses.length === 0) notes.push(this.#missingNetwork());
    return {
      addresses: [
        ...relay ? [{ url: `${relay}#${code}`, via: "relay" as const }] : [],
        ...addresses.map((address) => ({
          url: `${address}/pair#${code}`,
          via: "network" as const,
        })),
      ],
      notes,
    };
  }

  /** Addresses whose Host the guard admits. A loopback daemon has them behind a proxy with TLS. */
  #networkAddresses(): string[] {
    const { allowed_hosts, host, port } = this.#deps;
    if (isLoopback(host)) return allowed_hosts.map((name) => `https://${name}`);
    const own = EVERYWHERE.has(host) ? [] : [host.includes(":") ? `[${host}]` : host];
    const withPort = (name: string) => /:\d+$/.test(name) ? name : `${name}:${port()}`;
    return [...new Set([...own, ...allowed_hosts])].map((name) => `http://${withPort(name)}`);
  }

  #missingNetwork(): string {
    return isLoopback(this.#deps.host)
      ? "The daemon listens on this machine only (daemon.host), so no other device reaches it directly"
      : `The daemon listens on ${this.#deps.host}, but admits no name of this machine; add the ` +
        "address that a phone uses: mesh config set daemon.allowed_hosts ADDRESS";
  }
}
