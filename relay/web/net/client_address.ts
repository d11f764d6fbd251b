/**
 * Which bucket of the rate limits a request falls into: a pure function of socket and headers. No
 * address authenticates anyone (specification 5).
 */

import {
  type IpAddress,
  type IpRange,
  isSameAddress,
  isWithin,
  mustParseRange,
  parseIpAddress,
  parseRange,
} from "./ip_address.ts";
import { CDN, LOAD_BALANCER } from "./provider_ranges.ts";

/** What stands between the relay and its visitors. */
export type Proxy =
  | { readonly mode: "direct" }
  | { readonly mode: "cloudlb"; readonly forwarding: IpAddress }
  | { readonly mode: "trusted"; readonly proxies: readonly IpRange[] };

/** The bucket of a caller without an address: a socket of another kind. */
export const UNKNOWN_ADDRESS = "nowhere";

/** `192.0.2.7`, or the /64 of an IPv6 address. */
export function bucketOf(socket: string | undefined, headers: Headers, proxy: Proxy): string {
  const peer = socket === undefined ? undefined : parseIpAddress(withoutZone(socket));
  return peer ? toBucketName(visitorOf(peer, headers, proxy)) : UNKNOWN_ADDRESS;
}

/** The last address that is verified: each step needs the one before it. */
function visitorOf(peer: IpAddress, headers: Headers, proxy: Proxy): IpAddress {
  if (proxy.mode === "trusted") return visitorBehind(peer, headers, proxy.proxies);
  if (proxy.mode === "direct" || !isInAny(peer, LOAD_BALANCER)) return peer;
  const source = sourceOf(headers, proxy.forwarding);
  if (!source) return peer;
  const visitor = parseIpAddress(headers.get("cf-connecting-ip")?.trim() ?? "");
  return visitor && isInAny(source, CDN) ? visitor : source;
}

/**
 * Each proxy appends who connected to it. Read from the right, an entry is true while a trusted
 * proxy wrote it; the first that is no such proxy is the visitor. A malformed or empty entry ends
 * the reading: whatever is left of it may be the visitor's own invention.
 */
function visitorBehind(peer: IpAddress, headers: Headers, proxies: readonly IpRange[]): IpAddress {
  let verified = peer;
  for (const entry of (headers.get("x-forwarded-for") ?? "").split(",").reverse()) {
    if (!isInAny(verified, proxies)) return verified;
    const address = parseIpAddress(withoutPort(entry.trim()));
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
function sourceOf(headers: Headers, forwarding: IpAddress): IpAddress | undefined {
  const entries = (headers.get("x-forwarded-for") ?? "").split(",").slice(-2);
  const [source, last] = entries.map((entry) => parseIpAddress(entry.trim()));
  return source && last && isSameAddress(last, forwarding) ? source : undefined;
}

function isInAny(address: IpAddress, ranges: readonly IpRange[]): boolean {
  return ranges.some((range) => isWithin(address, range));
}

function toBucketName({ bits, value }: IpAddress): string {
  if (bits === 128) return `${(value >> 64n).toString(16).padStart(16, "0")}/64`;
  return [24n, 16n, 8n, 0n].map((shift) => value >> shift & 0xffn).join(".");
}

/** A socket's own link-local address names its interface: `fe80::1%eth0`. */
function withoutZone(socket: string): string {
  return socket.split("%", 1)[0] ?? "";
}

/** A range that a single network of one operator fits into. */
const LENGTH_MIN = { 32: 8, 128: 32 } as const;
/** Addresses of nobody's but a site's own, of which all may be trusted (RFC 4193). */
const UNIQUE_LOCAL = mustParseRange("fc00::/7");

/**
 * The ranges of a list with commas, or what is wrong with it. Whoever is in one of them may say who
 * the visitor is, so that a range of strangers lets each of them pick a fresh rate limit.
 */
export function trustedProxiesOf(text: string): readonly IpRange[] | string {
  const entries = text.split(",").map((entry) => entry.trim()).filter(Boolean);
  const ranges: IpRange[] = [];
  for (const entry of entries) {
    const range = parseRange(entry);
    if (!range) return `"${entry}" is not one`;
    if (isTooBroad(range)) return `"${entry}" is too broad`;
    ranges.push(range);
  }
  return ranges.length > 0 ? ranges : "none is named";
}

function isTooBroad(range: IpRange): boolean {
  const { base, length } = range;
  const isUniqueLocal = length >= UNIQUE_LOCAL.length && isWithin(base, UNIQUE_LOCAL);
  return !isUniqueLocal && length < LENGTH_MIN[base.bits];
}

const LOOPBACK = mustParseRange("127.0.0.0/8");
const LOOPBACK_6 = mustParseRange("::1/128").base;

/** What proxies add. */
const FORWARDING_HEADERS = ["x-forwarded-for", "x-real-ip", "forwarded", "via"];

/**
 * A loopback socket alone proves little, as a proxy on this machine has one for every visitor. A
 * proxy that adds none of these headers is not seen.
 */
export function isLocal(socket: string, headers: Headers): boolean {
  const address = parseIpAddress(socket);
  const isLoopbackSocket = address &&
    (isWithin(address, LOOPBACK) || isSameAddress(address, LOOPBACK_6));
  return isLoopbackSocket === true && !FORWARDING_HEADERS.some((name) => headers.has(name));
}
