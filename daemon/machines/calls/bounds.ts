/**
 * The limits of each call between machines: its methods, its size and its time. They are separate
 * from the encoding of calls, which a machine that is on no bus does not load.
 */

import * as z from "zod";
import { Problem } from "protocol/problems.ts";

/** The largest head and body of a call or of an answer, before it is sealed. */
export const CALL_BYTES_MAX = 900 * 1024;

/** A daemon answers each request within 60 s; the other 5 s are for the bus. */
export const CALL_MS_MAX = 65_000;

export const RequestMethod = z.enum(["GET", "HEAD", "POST", "PATCH", "DELETE"]);

export function tooLarge(part: "request" | "answer"): Problem<"call_too_large"> {
  return new Problem("call_too_large", { part, bytes_max: CALL_BYTES_MAX });
}
