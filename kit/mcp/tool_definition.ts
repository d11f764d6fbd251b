/** Definitions of MCP tools: their descriptions, schemas and annotations. */

import type { Tool as Listing, ToolAnnotations } from "@modelcontextprotocol/server";
import * as z from "zod";

/** `openWorldHint` is false: the tools reach only peers of the mesh. */
export type Hints = Required<Omit<ToolAnnotations, "title">>;

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
    inputSchema: schemaOf(input, "input"),
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
