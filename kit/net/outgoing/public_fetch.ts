/** `fetch` for addresses that others have given: it reaches public servers only. */

import { isWithin, mustParseRange, parseIpAddress } from "kit/net/ip_address.ts";
import { readUpTo } from "kit/http/body.ts";
import { type Env, readAuthorities } from "./authorities.ts";
import { outgoingFetch, UnreachableError } from "./http_client.ts";
import { proxyFor } from "./proxies.ts";

/** Special-purpose addresses (IANA registries), multicast, and forms that embed an IPv4 address. */
const SPECIAL = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"],
  ...["172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"],
  ...["198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"],
].map(mustParseRange);
/** Global unicast, without its special parts. */
const GLOBAL_6 = mustParseRange("2000::/3");
const SPECIAL_6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map(mustParseRange);

/** True for an address that belongs to the public internet; false for any other text. */
export function isPublicAddress(text: string): boolean {
  const address = parseIpAddress(text.replace(/^\[|\]$/g, ""));
  if (!address) return false;
  if (address.bits === 32) return !SPECIAL.some((range) => isWithin(address, range));
  return isWithin(address, GLOBAL_6) && !SPECIAL_6.some((range) => isWithin(address, range));
}

/** True for `localhost` and the addresses of the loopback interface. */
function isLoopbackHost(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/**
 * The reason why an address must not be called; undefined if it may be. A name may still lead to an
 * address that is not public: `publicFetch` checks that for each request.
 */
export function refusalOfAddress(
  address: string,
  { allow_local }: { readonly allow_local: boolean },
): string | undefined {
  const url = URL.parse(address);
  if (!url) return "it is no URL";
  const { hostname, protocol, username, password, hash } = url;
  if (username || password || hash) return "it has a user name, a password or a fragment";
  if (allow_local && isLoopbackHost(hostname)) {
    return /^https?:$/.test(protocol) ? undefined : "it must begin with http or https";
  }
  if (protocol !== "https:") return "it must begin with https";
  const is_literal = parseIpAddress(hostname.replace(/^\[|\]$/g, "")) !== undefined;
  if (is_literal ? !isPublicAddress(hostname) : !/\.[a-z]/i.test(hostname)) {
    return "its host is not on the public internet";
  }
  return /\.(?:localhost|local|internal|home\.arpa)$/i.test(hostname)
    ? "its host is not on the public internet"
    : undefined;
}

export interface PublicFetchOptions {
  readonly env: Env;
  readonly now: () => number;
  /** The addresses of a host. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
  /** True for the addresses that may be called. */
  readonly isAllowed?: (address: string) => boolean;
}

export type PublicFetch = (
  request: Request,
  limits: { readonly allow_local: boolean; readonly bytes_max: number },
) => Promise<Response>;

/**
 * Sends a request to an address that was checked, and not to another one that the name has a moment
 * later. Through a proxy of the environment, the proxy finds the address. Follows no redirect, and
 * returns at most `bytes_max` of the answer.
 */
export function publicFetch(
  { env, now, resolve = addressesOf, isAllowed = isPublicAddress }: PublicFetchOptions,
): PublicFetch {
  const plain = outgoingFetch(env, now);
  return async (request, { allow_local, bytes_max }) => {
    const refusal = refusalOfAddress(request.url, { allow_local });
    if (refusal !== undefined) throw new UnreachableError(`The address is refused: ${refusal}`);
    const { hostname, port, protocol } = new URL(request.url);
    const server = { tls: protocol === "https:", host: hostname, port: Number(port || 443) };
    const isLocal = allow_local && isLoopbackHost(hostname);
    if (isLocal || proxyFor(env, server)) return await whole(await plain(request), bytes_max);
    const addresses = await resolve(hostname.replace(/^\[|\]$/g, ""));
    const [address] = addresses;
    if (address === undefined || !addresses.every(isAllowed)) {
      throw new UnreachableError(`${hostname} is not on the public internet`);
    }
    return await send(request, { address, env, bytes_max });
  };
}

/** Sends a request over TLS to this address, whose certificate must be that of the host's name. */
async function send(
  request: Request,
  { address, env, bytes_max }: { address: string; env: Env; bytes_max: number },
): Promise<Response> {
  const [https, tls] = await Promise.all([import("node:https"), import("node:tls")]);
  const { pems } = readAuthorities(env);
  const body = new Uint8Array(await request.arrayBuffer());
  const found = { address, family: address.includes(":") ? 6 : 4 };
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const outgoing = https.request(request.url, {
    method: request.method,
    headers: { ...Object.fromEntries(request.headers), "content-length": body.length },
    agent: false, // A connection of its own, which ends with the answer.
    signal: request.signal,
    ...(pems.length > 0 && { ca: [...tls.getCACertificates("default"), ...pems] }),
    lookup: (_host, { all }, done) =>
      all ? done(null, [found]) : done(null, found.address, found.family),
  }, (answer) => {
    const headers = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) {
      if (typeof value === "string") headers.set(name, value);
    }
    const { statusCode: status = 500 } = answer;
    readUpTo(answer, bytes_max).then((read) => resolve(toResponse(read, { status, headers })))
      .catch(reject);
  });
  outgoing.on("error", reject).end(body);
  return await promise;
}

async function addressesOf(hostname: string): Promise<string[]> {
  const { lookup } = await import("node:dns/promises");
  return (await lookup(hostname, { all: true })).map(({ address }) => address);
}

/** The answer with the body that was read; without one that is longer than the limit. */
async function whole({ body, status, headers }: Response, bytes_max: number): Promise<Response> {
  return toResponse(await readUpTo(body, bytes_max), { status, headers });
}

function toResponse(read: BodyInit | undefined, init: ResponseInit & { status: number }): Response {
  return new Response([204, 205, 304].includes(init.status) ? null : read ?? null, init);
}
