/** Which proxies a relay may be told to trust, read from its configuration. */

import { type IpRange, isWithin, mustParseRange, parseRange } from "./ip_address.ts";

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
