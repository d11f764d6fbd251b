/**
 * Which bucket of the rate limits a request falls into: a pure function of socket and headers. No
 * address authenticates anyone (specification 5).
 */

import { type Address, addressOf, isSame, isWithin, type Range } from "./address.ts";
import { CDN, LOAD_BALANCER } from "./ranges.ts";

/** What stands between the relay and its visitors. */
export type Proxy =
  | { readonly mode: "direct" }
  | { readonly mode: "cloudlb"; readonly forwarding: Address }
  | { readonly mode: "trusted"; readonly proxies: readonly Range[] };

/** The bucket of a caller without an address: a socket of another kind. */
export const NOWHERE = "nowhere";

/** `192.0.2.7`, or the /64 of an IPv6 address. */
export function bucketOf(socket: string | undefined, headers: Headers, proxy: Proxy): string {
  const peer = socket === undefined ? undefined : addressOf(withoutZone(socket));
  return peer ? nameOf(visitorOf(peer, headers, proxy)) : NOWHERE;
}

/** The last address that is verified: each step needs the one before it. */
function visitorOf(peer: Address, headers: Headers, proxy: Proxy): Address {
  if (proxy.mode === "trusted") return visitorBehind(peer, headers, proxy.proxies);
  if (proxy.mode === "direct" || !isIn(peer, LOAD_BALANCER)) return peer;
  const source = sourceOf(headers, proxy.forwarding);
  if (!source) return peer;
  const visitor = addressOf(headers.get("cf-connecting-ip")?.trim() ?? "");
  return visitor && isIn(source, CDN) ? visitor : source;
}

/**
 * Each proxy appends who connected to it. Read from the right, an entry is true while a trusted
 * proxy wrote it; the first that is no such proxy is the visitor. A malformed or empty entry ends
 * the reading: whatever is left of it may be the visitor's own invention.
 */
function visitorBehind(peer: Address, headers: Headers, proxies: readonly Range[]): Address {
  let verified = peer;
  for (const entry of (headers.get("x-forwarded-for") ?? "").split(",").reverse()) {
    if (!isIn(verified, proxies)) return verified;
    const address = addressOf(withoutPort(entry.trim()));
    if (!address) return verified;
    verified = address;
  }
  return verified;
}

const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([0-9a-f:.]+)\])(?::\d{1,5})?$/i;

/** `192.0.2.7:443`, `[2001:db8::7]:443` and `[2001:db8::7]`; anything else is left as it is. */
function withoutPort(entry: string): string {
  const [, ipv4, ipv6] = WITH_PORT.exec(entry) ?? [];
  return ipv4 ?? ipv6 ?? entry;
}

/** The load balancer appends two entries, who connected and itself; what is before is hearsay. */
function sourceOf(headers: Headers, forwarding: Address): Address | undefined {
  const entries = (headers.get("x-forwarded-for") ?? "").split(",").slice(-2);
  const [source, last] = entries.map((entry) => addressOf(entry.trim()));
  return source && last && isSame(last, forwarding) ? source : undefined;
}

function isIn(address: Address, ranges: readonly Range[]): boolean {
  return ranges.some((range) => isWithin(address, range));
}

function nameOf({ bits, value }: Address): string {
  if (bits === 128) return `${(value >> 64n).toString(16).padStart(16, "0")}/64`;
  return [24n, 16n, 8n, 0n].map((shift) => value >> shift & 0xffn).join(".");
}

/** A socket's own link-local address names its interface: `fe80::1%eth0`. */
function withoutZone(socket: string): string {
  return socket.split("%", 1)[0] ?? "";
}
