/** Reads the arguments of a tool call as models and foreign clients send them. */

import * as z from "zod";
import { invalidRequest } from "kit/core/problem.ts";

/**
 * The arguments by the schema of a tool. Null stands for an argument that is left out, a text for
 * the number or the boolean that it spells, and a time that is too long for the longest one
 * (contract 1). Any other value that the schema refuses is refused.
 */
export function readArguments<I extends z.ZodObject>(input: I, given: unknown): z.output<I> {
  const args = given ?? {};
  const first: z.ZodSafeParseResult<z.output<I>> = input.safeParse(args);
  if (first.success) return first.data;
  const { issues } = first.error;
  let corrected: unknown = args;
  // A text that spells a number may spell one that is too large.
  let again: z.ZodSafeParseResult<z.output<I>> = first;
  for (let pass = 0; pass < 2 && !again.success; pass++) {
    corrected = again.error.issues.reduce(correct, corrected);
    again = input.safeParse(corrected);
  }
  if (again.success) return again.data;
  // What was given is named, and not what was made of it.
  const wrong = new Set(again.error.issues.map(({ path }) => path.join(".")));
  const remaining = issues.filter(({ path }) => wrong.has(path.join(".")));
  throw invalidRequest(remaining.length > 0 ? new z.ZodError(remaining) : again.error);
}

/** A copy of the arguments with the one corrected that an issue is about, if it can be. */
function correct(args: unknown, issue: z.core.$ZodIssue): unknown {
  const [key, ...inner] = issue.path;
  if (typeof args !== "object" || args === null || typeof key !== "string") return args;
  if (inner.length > 0 || !Object.hasOwn(args, key)) return args;
  const { [key]: value, ...others } = args as Readonly<Record<string, unknown>>;
  if (value === null) return others;
  return { ...others, [key]: toExpected(value, key, issue) };
}

function toExpected(value: unknown, key: string, issue: z.core.$ZodIssue): unknown {
  if (issue.code === "too_big" && key.endsWith("_seconds")) return Number(issue.maximum);
  if (issue.code !== "invalid_type" || typeof value !== "string") return value;
  if (issue.expected === "boolean" && /^(?:true|false)$/i.test(value)) return /^t/i.test(value);
  const isNumber = issue.expected === "number" && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value);
  return isNumber ? Number(value) : value;
}
