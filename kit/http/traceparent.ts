/** Parses, creates and continues W3C trace contexts. */

import type { Ids } from "kit/core/clock.ts";

/** Version, trace, parent and flags. Later versions may add fields, which are ignored. */
const PATTERN = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s;
const ALL_ZERO = /^0+$/;
/** The only flag that keeps its meaning in later versions. */
const SAMPLED = 1;

/**
 * Converts a trace context to the format of version 00. Undefined if it is malformed; it is then
 * ignored (W3C Trace Context, 3.2 and 4.3).
 */
export function readTrace(header: string): string | undefined {
  const [, version = "", trace = "", parent = "", flags = "", more] = PATTERN.exec(header) ?? [];
  if (ALL_ZERO.test(trace) || ALL_ZERO.test(parent) || trace === "" || version === "ff") {
    return undefined;
  }
  if (version === "00") return more === undefined ? header : undefined;
  return `00-${trace}-${parent}-0${parseInt(flags, 16) & SAMPLED}`;
}

export function beginTrace(ids: Ids): string {
  return `00-${ids.hex(16)}-${ids.hex(8)}-01`;
}

/** Keeps the trace, with a new parent id, because a reply belongs to its message's trace. */
export function continueTrace(previous: string, ids: Ids): string {
  const [version, trace, , flags] = previous.split("-");
  return `${version}-${trace}-${ids.hex(8)}-${flags}`;
}
