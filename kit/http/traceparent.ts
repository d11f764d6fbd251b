/** W3C trace contexts: parsing, creating and continuing them. */

import type { Ids } from "kit/core/clock.ts";

/** Version, trace, parent and flags. Later versions may add fields, which are ignored. */
const PATTERN = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s;
const ALL_ZERO = /^0+$/;
/** The only flag whose meaning later versions keep. */
const SAMPLED = 1;

/**
 * A trace context in the format of version 00; undefined for a malformed one, which is ignored (W3C
 * Trace Context, 3.2 and 4.3).
 */
export function readTrace(header: string): string | undefined {
  const [, version = "", trace = "", parent = "", flags = "", more] = PATTERN.exec(header) ?? [];
  if (ALL_ZERO.test(trace) || ALL_ZERO.test(parent) || trace === "" || version === "ff") {
    return undefined;
  }
  if (version === "00") return more === undefined ? header : undefined;
  return `00-${trace}-${parent}-0${parseInt(flags, 16) & SAMPLED}`;
}

/** Starts a new trace. */
export function beginTrace(ids: Ids): string {
  return `00-${ids.hex(16)}-${ids.hex(8)}-01`;
}

/** The same trace with a new parent id: a reply belongs to the trace of its message. */
export function continueTrace(previous: string, ids: Ids): string {
  const [version, trace, , flags] = previous.split("-");
  return `${version}-${trace}-${ids.hex(8)}-${flags}`;
}
