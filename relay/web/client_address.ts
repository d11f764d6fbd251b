/**
 * Determines the address of a client from its socket and its headers. The address is used for rate
 * limits and to recognize requests from this machine. It never authenticates a caller
 * (specification 5).
 */

import {
  type IpAddress,
  type IpRange,
  isSameAddress,
  isWithin,
  mustParseRange,
  parseIpAddress,
  parseRange,
} from "kit/net/ip_address.ts";

/** The addresses of the cloud load balancer's front ends (contract 9). */
export const LOAD_BALANCER = rangesOf(`
  35.191.0.0/16 130.211.0.0/22
  2600:2d00:1:b029::/64 2600:2d00:1:1::/64
`);

/** The addresses of the CDN that may be in front of the load balancer. */
export const CDN = rangesOf(`
  173.245.48.0/20 103.21.244.0/22 103.22.200.0/22 103.31.4.0/22 141.101.64.0/18 108.162.192.0/18
  190.93.240.0/20 188.114.96.0/20 197.234.240.0/22 198.41.128.0/17 162.158.0.0/15 104.16.0.0/13
  104.24.0.0/14 172.64.0.0/13 131.0.72.0/22
  2400:cb00::/32 2606:4700::/32 2803:f800::/32 2405:b500::/32 2405:8100::/32 2a06:98c0::/29
  2c0f:f248::/32
`);

function rangesOf(text: string): readonly IpRange[] {
  return text.trim().split(/\s+/).map(mustParseRange);
}

/** The proxies between the relay and its clients. */
export type Proxy =
  | { readonly mode: "direct" }
  | { readonly mode: "cloudlb"; readonly forwarding: IpAddress }
  | { readonly mode: "trusted"; readonly proxies: readonly IpRange[] };

/** The rate limit key of a client that has no IP address. */
export const UNKNOWN_ADDRESS = "nowhere";

/** The rate limit key of a request: an IPv4 address, or the /64 network of an IPv6 address. */
export function bucketOf(socket: string | undefined, headers: Headers, proxy: Proxy): string {
  const peer = socket === undefined ? undefined : parseIpAddress(withoutZone(socket));
  return peer ? toBucketName(visitorOf(peer, headers, proxy)) : UNKNOWN_ADDRESS;
}

/** The last verified address. A header is trusted only if the hop that sent it is verified. */
function visitorOf(peer: IpAddress, headers: Headers, proxy: Proxy): IpAddress {
  if (proxy.mode === "trusted") return visitorBehind(peer, headers, proxy.proxies);
  if (proxy.mode === "direct" || !isInAny(peer, LOAD_BALANCER)) return peer;
  const source = sourceOf(headers, proxy.forwarding);
  if (!source) return peer;
  const visitor = parseIpAddress(headers.get("cf-connecting-ip")?.trim() ?? "");
  return visitor && isInAny(source, CDN) ? visitor : source;
}

/**
 * The client behind trusted proxies. Each proxy appends the address that connected to it, so
 * entries are read from right to left. An entry is reliable if a trusted proxy wrote it. The first
 * address that does not belong to a trusted proxy is the client. A malformed entry ends the search,
 * because the client may have written the entries to its left.
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

/** Removes the port and the brackets from `192.0.2.7:443` and `[2001:db8::7]:443`. */
function withoutPort(entry: string): string {
  const [, ipv4, ipv6] = WITH_PORT.exec(entry) ?? [];
  return ipv4 ?? ipv6 ?? entry;
}

/** The load balancer appends two entries: the client and itself. Earlier ones are untrusted. */
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

/** Removes the zone from the address of a link-local socket, such as `fe80::1%eth0`. */
function withoutZone(socket: string): string {
  return socket.split("%", 1)[0] ?? "";
}

/** The shortest prefix that may be trusted, by address size: one operator's network fits. */
const LENGTH_MIN = { 32: 8, 128: 32 } as const;
/** Unique local addresses (RFC 4193). This range may be trusted although it is broad. */
const UNIQUE_LOCAL = mustParseRange("fc00::/7");

/**
 * Parses a comma-separated list of ranges. If the list is invalid, returns a text that says why. A
 * host in a trusted range decides which client a request counts for, so a range that includes
 * strangers' hosts would disable the rate limits.
 */
export function trustedProxiesOf(text: string): readonly IpRange[] | string {
  const entries = text.split(",").map((entry) => entry.trim()).filter(Boolean);
  const ranges: IpRange[] = [];
  for (const entry of entries) {
    const range = parseRange(entry);
    if (!range) return `"${entry}" is not an address or a range`;
    if (isTooBroad(range)) return `"${entry}" is too broad`;
    ranges.push(range);
  }
  return ranges.length > 0 ? ranges : "the list is empty";
}

function isTooBroad(range: IpRange): boolean {
  const { base, length } = range;
  const isUniqueLocal = length >= UNIQUE_LOCAL.length && isWithin(base, UNIQUE_LOCAL);
  return !isUniqueLocal && length < LENGTH_MIN[base.bits];
}

const LOOPBACK = mustParseRange("127.0.0.0/8");
const LOOPBACK_6 = mustParseRange("::1/128").base;

/** Headers that show that a proxy forwarded the request. */
const FORWARDING_HEADERS = ["x-forwarded-for", "x-real-ip", "forwarded", "via"];

/**
 * True if a program on this machine sent the request directly. A loopback socket does not prove
 * this, because a proxy on this machine uses a loopback socket too. A proxy that adds none of these
 * headers is not detected.
 */
export function isLocal(socket: string, headers: Headers): boolean {
  const address = parseIpAddress(socket);
  const isLoopbackSocket = address &&
    (isWithin(address, LOOPBACK) || isSameAddress(address, LOOPBACK_6));
  return isLoopbackSocket === true && !FORWARDING_HEADERS.some((name) => headers.has(name));
}
