/** How a tool is told to a model: its words, its schemas, and what it promises not to change. */

import type { Tool as Listing } from "@modelcontextprotocol/server";
import * as z from "zod";

/** MCP's annotations. The world of these tools is closed: the peers of one mesh. */
export interface Hints {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** Looks only. */
export const READ_HINTS: Hints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
/** Says something: each call says it anew. */
export const SEND_HINTS: Hints = { ...READ_HINTS, readOnlyHint: false, idempotentHint: false };
/** Changes something to what it was told, however often it is told. */
export const UPDATE_HINTS: Hints = { ...SEND_HINTS, idempotentHint: true };

/** A tool as a model reads it. */
export interface ToolDefinition<I extends z.ZodObject, O extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** Tells a model when to use the tool, and when not to. */
  readonly description: string;
  readonly hints: Hints;
  readonly input: I;
  readonly output: O;
}

type Schema = Listing["inputSchema"];

/** What an answer holds where a tool refuses, and what of it is always there. */
export interface RefusalSchema {
  readonly properties: Readonly<Record<string, { type: string; description: string }>>;
  readonly required: string[];
}

/** A tool's place in the list. */
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

/** As it goes over the wire: plain JSON. */
function schemaOf(shape: z.ZodObject, io: "input" | "output"): Schema {
  return JSON.parse(JSON.stringify(z.toJSONSchema(shape, { io })));
}

/** Some clients check a refusal against the schema of what is answered: it fits both. */
function withRefusal(
  { properties, required = [], additionalProperties: _, ...rest }: Schema,
  refusal: RefusalSchema,
): Schema {
  const anyOf = [{ required }, { required: refusal.required }];
  return { ...rest, properties: { ...properties, ...refusal.properties }, anyOf };
}
