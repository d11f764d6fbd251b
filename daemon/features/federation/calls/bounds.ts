/**
 * What every call between machines keeps to: its method, its size and its time. A machine that is
 * on no bus loads this too, but not how a call is written.
 */

import * as z from "zod";
import { Problem } from "kit/core/problem.ts";

/** The largest head and body of a call or of an answer, before it is sealed. */
export const CALL_BYTES_MAX = 900 * 1024;

/** A daemon answers each request within 60 s, and the way takes some time, too. */
export const CALL_MS_MAX = 65_000;

export const RequestMethod = z.enum(["GET", "HEAD", "POST", "PATCH", "DELETE"]);

export function tooLarge(part: "request" | "answer"): Problem<"call_too_large"> {
  return new Problem("call_too_large", { part, bytes_max: CALL_BYTES_MAX });
}
