/** Remote tools. A tool has a definition, the scope that it needs, and a handler. */

import type { CallToolResult, Tool as Listing } from "@modelcontextprotocol/server";
import * as z from "zod";
import { toListing, type ToolDefinition } from "kit/mcp/tool_definition.ts";
import { readArguments } from "kit/mcp/arguments.ts";
import type { Machine } from "protocol/relay/daemons.ts";
import type { READ, WRITE } from "protocol/relay/mcp.ts";
import type { DaemonClient } from "../daemons/daemon_client.ts";

/** The machines and daemons that a tool call can reach. */
export interface ToolContext {
  /** The connected machines of the grant's namespace. */
  machines(): readonly Machine[];
  /** A client of the daemon with exactly this id. */
  daemon(daemon_id: string): DaemonClient;
}

/** The result of a tool: a text for the model, and the same content as data. */
export interface ToolResult<D> {
  readonly text: string;
  readonly data: D;
}

interface Spec<I extends z.ZodObject, O extends z.ZodObject> extends ToolDefinition<I, O> {
  readonly scope: typeof READ | typeof WRITE;
  run(args: z.output<I>, toolContext: ToolContext): Promise<ToolResult<z.input<O>>>;
}

export interface Tool {
  readonly listing: Listing;
  readonly scope: typeof READ | typeof WRITE;
  run(args: unknown, toolContext: ToolContext): Promise<CallToolResult>;
}

const REFUSAL = {
  properties: {
    error: { type: "string", description: "Only where the tool refuses: the code" },
    detail: { type: "string", description: "Only where the tool refuses: why, in a sentence" },
    may_have_been_delivered: {
      type: "boolean",
      description: "Only where the tool refuses: the message may have arrived all the same",
    },
  },
  required: ["error", "detail", "may_have_been_delivered"],
};

/** Defines a tool whose input and output are validated. */
export function tool<I extends z.ZodObject, O extends z.ZodObject>(spec: Spec<I, O>): Tool {
  const { input, output, scope } = spec;
  return {
    listing: toListing(spec, REFUSAL),
    scope,
    async run(args, toolContext) {
      const { text, data } = await spec.run(readArguments(input, args), toolContext);
      return { content: [{ type: "text", text }], structuredContent: output.parse(data) };
    },
  };
}

const ID_LENGTH_MAX = 128;
const idSchema = z.string().min(1).max(ID_LENGTH_MAX);
export const daemon_id = idSchema.describe("The exact daemon_id, as list_machines shows it");
export const peer_id = idSchema.describe(
  "The exact peer_id, as list_agents shows it; display names are not accepted",
);
export const request_id = idSchema.describe("The request_id that ask_agent returned");
