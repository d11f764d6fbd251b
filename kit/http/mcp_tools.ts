/** Definitions of MCP tools, and arguments of calls in the forms that models and clients send. */

import type { Tool as Listing, ToolAnnotations } from "@modelcontextprotocol/server";
import * as z from "zod";
import { nearest } from "kit/core/near_words.ts";
import { CommonProblem } from "kit/core/problem.ts";
import { stillInvalid } from "kit/http/route.ts";

/** `openWorldHint` is false: the tools reach only peers of the mesh. */
type Hints = Required<Omit<ToolAnnotations, "title">>;

/** For a tool that only reads. */
export const READ_HINTS: Hints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
/** For a tool that sends a message. A repeated call sends another message. */
export const SEND_HINTS: Hints = { ...READ_HINTS, readOnlyHint: false, idempotentHint: false };
/** For a tool that sets a state. A repeated call has no further effect. */
export const UPDATE_HINTS: Hints = { ...SEND_HINTS, idempotentHint: true };

/** Description of a tool, as a model sees it. */
export interface ToolDefinition<I extends z.ZodObject, O extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** Says when to use the tool and when not to use it. */
  readonly description: string;
  readonly hints: Hints;
  readonly input: I;
  readonly output: O;
}

/** The result of a tool: a text for the model, and the same content as data. */
export interface ToolResult<D> {
  readonly text: string;
  readonly data: D;
}

type Schema = Listing["inputSchema"];

/** The fields of a tool's refusal, and the names of those that are always present. */
interface RefusalSchema {
  readonly properties: Readonly<Record<string, { type: string; description: string }>>;
  readonly required: string[];
}

/** The tool's entry in `tools/list`. */
export function toListing(
  { name, title, description, hints, input, output }: ToolDefinition<z.ZodObject, z.ZodObject>,
  refusal: RefusalSchema,
): Listing {
  return {
    name,
    title,
    description,
    annotations: { title, ...hints },
    inputSchema: { ...schemaOf(input, "input"), additionalProperties: false },
    outputSchema: withRefusal(schemaOf(output, "output"), refusal),
  };
}

/** Converts to plain JSON, which has no undefined values. */
function schemaOf(shape: z.ZodObject, io: "input" | "output"): Schema {
  return JSON.parse(JSON.stringify(z.toJSONSchema(shape, { io })));
}

/** Adds the refusal's fields, because some clients validate refusals against the output schema. */
function withRefusal(
  { properties, required = [], additionalProperties: _, ...rest }: Schema,
  refusal: RefusalSchema,
): Schema {
  const anyOf = [{ required }, { required: refusal.required }];
  return { ...rest, properties: { ...properties, ...refusal.properties }, anyOf };
}

/** Arguments that agents' programs add to every call: Gemini CLI sends the second. */
const FOREIGN_ARGUMENTS: readonly string[] = ["_meta", "wait_for_previous"];

/**
 * The arguments without those of the agent's program. Throws if the tool has no argument of a name,
 * because a misspelled argument that was left out would change the meaning of the call.
 */
function withKnownNames({ shape }: z.ZodObject, given: unknown): unknown {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return given;
  const allowed = Object.keys(shape);
  const named = Object.entries(given).filter(([name]) =>
    allowed.includes(name) || !FOREIGN_ARGUMENTS.includes(name)
  );
  const issues = named.flatMap(([path]) => {
    if (allowed.includes(path)) return [];
    const meant = nearest(path, allowed);
    const question = meant === undefined ? "" : ` Did you mean "${meant}"?`;
    const list = allowed.length === 0 ? "The tool takes none" : `Allowed: ${allowed.join(", ")}`;
    return [{ path, message: `Unknown argument.${question} ${list}` }];
  });
  if (issues.length === 0) return Object.fromEntries(named);
  const summary = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new CommonProblem("invalid_request", { summary, issues });
}

/**
 * Parses arguments by the schema of a tool. Null counts as a missing argument, text that spells a
 * number or a boolean as that value, and a time over the maximum as the maximum (contract 1). Any
 * other invalid value, and any unknown argument, is refused.
 */
export function readArguments<I extends z.ZodObject>(input: I, given: unknown): z.output<I> {
  const args = withKnownNames(input, given ?? {});
  const first: z.ZodSafeParseResult<z.output<I>> = input.safeParse(args);
  if (first.success) return first.data;
  let corrected: unknown = args;
  // Two passes, because text may spell a number that is too large.
  let again: z.ZodSafeParseResult<z.output<I>> = first;
  for (let pass = 0; pass < 2 && !again.success; pass++) {
    corrected = again.error.issues.reduce(correct, corrected);
    again = input.safeParse(corrected);
  }
  if (again.success) return again.data;
  throw stillInvalid(first.error, again.error);
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
