/** Whether a request comes from the relay's own machine: a pure function of socket and headers. */

import { addressOf, isSame, isWithin, rangeOf } from "./address.ts";

const LOOPBACK = rangeOf("127.0.0.0/8");
const LOOPBACK_6 = rangeOf("::1/128").base;

/** What proxies add. */
const RELAYED = ["x-forwarded-for", "x-real-ip", "forwarded", "via"];

/**
 * A loopback socket alone proves little, as a proxy on this machine has one for every visitor. A
 * proxy that adds none of these headers is not seen.
 */
export function isLocal(socket: string, headers: Headers): boolean {
  const address = addressOf(socket);
  const is_here = address && (isWithin(address, LOOPBACK) || isSame(address, LOOPBACK_6));
  return is_here === true && !RELAYED.some((name) => headers.has(name));
}
