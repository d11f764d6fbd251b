/** Definitions of MCP tools: description, schemas and annotations. */

import type { Tool as Listing } from "@modelcontextprotocol/server";
import * as z from "zod";

/** MCP's tool annotations. `openWorldHint` is false: the tools reach only peers of the mesh. */
export interface Hints {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** A tool that only reads. */
export const READ_HINTS: Hints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
/** A tool that sends: each call sends once more. */
export const SEND_HINTS: Hints = { ...READ_HINTS, readOnlyHint: false, idempotentHint: false };
/** A tool that sets a state: repeated calls have no further effect. */
export const UPDATE_HINTS: Hints = { ...SEND_HINTS, idempotentHint: true };

/** What a model learns about a tool. */
export interface ToolDefinition<I extends z.ZodObject, O extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** Says when to use the tool, and when not to. */
  readonly description: string;
  readonly hints: Hints;
  readonly input: I;
  readonly output: O;
}

type Schema = Listing["inputSchema"];

/** The fields of a tool's refusal, and which of them are always present. */
export interface RefusalSchema {
  readonly properties: Readonly<Record<string, { type: string; description: string }>>;
  readonly required: string[];
}

/** The entry of a tool in `tools/list`. */
export function toListing(
  { name, title, description, hints, input, output }: ToolDefinition<z.ZodObject, z.ZodObject>,
  refusal: RefusalSchema,
): Listing {
  return {
    name,
    title,
    description,
    annotations: { title, ...hints },
    inputSchema: schemaOf(input, "input"),
    outputSchema: withRefusal(schemaOf(output, "output"), refusal),
  };
}

/** The JSON schema as plain JSON. */
function schemaOf(shape: z.ZodObject, io: "input" | "output"): Schema {
  return JSON.parse(JSON.stringify(z.toJSONSchema(shape, { io })));
}

/** Some clients validate refusals against the output schema, so the schema allows both. */
function withRefusal(
  { properties, required = [], additionalProperties: _, ...rest }: Schema,
  refusal: RefusalSchema,
): Schema {
  const anyOf = [{ required }, { required: refusal.required }];
  return { ...rest, properties: { ...properties, ...refusal.properties }, anyOf };
}
