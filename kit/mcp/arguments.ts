/** Reads the arguments of a tool call, in the forms that models and foreign clients send. */

import * as z from "zod";
import { invalidRequest } from "kit/core/problem.ts";

/**
 * Parses arguments by the schema of a tool. Null counts as a missing argument, text that spells a
 * number or a boolean as that value, and a time over the maximum as the maximum (contract 1). Any
 * other invalid value is refused.
 */
export function readArguments<I extends z.ZodObject>(input: I, given: unknown): z.output<I> {
  const args = given ?? {};
  const first: z.ZodSafeParseResult<z.output<I>> = input.safeParse(args);
  if (first.success) return first.data;
  const { issues } = first.error;
  let corrected: unknown = args;
  // Two passes, because text may spell a number that is too large.
  let again: z.ZodSafeParseResult<z.output<I>> = first;
  for (let pass = 0; pass < 2 && !again.success; pass++) {
    corrected = again.error.issues.reduce(correct, corrected);
    again = input.safeParse(corrected);
  }
  if (again.success) return again.data;
  // The error names the sent value, not the corrected value.
  const wrong = new Set(again.error.issues.map(({ path }) => path.join(".")));
  const remaining = issues.filter(({ path }) => wrong.has(path.join(".")));
  throw invalidRequest(remaining.length > 0 ? new z.ZodError(remaining) : again.error);
}

/** A copy of the arguments with the argument of an issue corrected, if possible. */
function correct(args: unknown, issue: z.core.$ZodIssue): unknown {
  const [key, ...inner] = issue.path;
  if (typeof args !== "object" || args === null || typeof key !== "string") return args;
  if (inner.length > 0 || !Object.hasOwn(args, key)) return args;
  const { [key]: value, ...rest } = args as Readonly<Record<string, unknown>>;
  if (value === null) return rest;
  return { ...rest, [key]: toExpected(value, key, issue) };
}

function toExpected(value: unknown, key: string, issue: z.core.$ZodIssue): unknown {
  if (issue.code === "too_big" && key.endsWith("_seconds")) return Number(issue.maximum);
  if (issue.code !== "invalid_type" || typeof value !== "string") return value;
  if (issue.expected === "boolean" && /^(?:true|false)$/i.test(value)) return /^t/i.test(value);
  const isNumber = issue.expected === "number" && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value);
  return isNumber ? Number(value) : value;
}
