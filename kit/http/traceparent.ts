/** W3C trace contexts: read where they are given, made where they are not, continued by replies. */

import type { Ids } from "kit/core/clock.ts";

/** Version, trace, parent and flags; what a later version adds is not ours to read. */
const PATTERN = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s;
const ALL_ZERO = /^0+$/;
/** Of the flags of a later version, only this one is sure to mean what we think. */
const SAMPLED = 1;

/**
 * A trace context as version 00 writes it; undefined for a malformed one, which is as good as none
 * (W3C Trace Context, 3.2 and 4.3).
 */
export function readTrace(header: string): string | undefined {
  const [, version = "", trace = "", parent = "", flags = "", more] = PATTERN.exec(header) ?? [];
  if (ALL_ZERO.test(trace) || ALL_ZERO.test(parent) || trace === "" || version === "ff") {
    return undefined;
  }
  if (version === "00") return more === undefined ? header : undefined;
  return `00-${trace}-${parent}-0${parseInt(flags, 16) & SAMPLED}`;
}

/** A trace that begins with us. */
export function beginTrace(ids: Ids): string {
  return `00-${ids.hex(16)}-${ids.hex(8)}-01`;
}

/** The same trace, one step on: what answers a message belongs to its trace. */
export function continueTrace(previous: string, ids: Ids): string {
  const [version, trace, , flags] = previous.split("-");
  return `${version}-${trace}-${ids.hex(8)}-${flags}`;
}
