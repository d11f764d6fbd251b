/** Whether a request comes from the relay's own machine: a pure function of socket and headers. */

import { isSameAddress, isWithin, mustParseRange, parseIpAddress } from "./ip_address.ts";

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
