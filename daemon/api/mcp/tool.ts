/** What a tool is: data for a model, one verb, and how its answers and refusals are told. */

import type { CallToolResult, Tool as Listing } from "@modelcontextprotocol/server";
import type * as z from "zod";
import { ApiError, type Call } from "kit/http/client.ts";
import { toListing, type ToolDefinition } from "kit/mcp/tool_definition.ts";
import { invalidRequest, Problem, type ProblemBody } from "kit/core/problem.ts";
import type { McpCaller } from "./identify.ts";

export { READ_HINTS, SEND_HINTS, UPDATE_HINTS } from "kit/mcp/tool_definition.ts";

/** The house as the tools see it. */
export interface ToolHost {
  /** The daemon's own contracts, called in this process. */
  readonly call: Call;
  /** Lets even a caller that nobody knows end peers and the like (`daemon.mcp.allow_admin_tools`). */
  readonly allow_admin_tools?: boolean;
  /** A fault of ours: for the log, never for the caller. */
  onError(error: unknown): void;
}

/** One call of a tool: who calls, what it may call in turn, and for how long it cares. */
export interface ToolContext {
  readonly caller: McpCaller;
  readonly call: Call;
  readonly signal: AbortSignal;
  /** Whether it may spawn, kill, restart and the like: not a caller that nobody knows. */
  readonly trusted: boolean;
}

/** What a verb says: a text for the model, and the same as data. */
export interface ToolResult<D> {
  readonly text: string;
  readonly data: D;
}

interface ToolSpec<I extends z.ZodObject, O extends z.ZodObject> extends ToolDefinition<I, O> {
  run(args: z.output<I>, toolContext: ToolContext): Promise<ToolResult<z.input<O>>>;
}

export interface Tool {
  readonly listing: Listing;
  run(args: unknown, toolContext: ToolContext): Promise<CallToolResult>;
}

/** States a tool: its data is checked on the way in and on the way out. */
export function tool<I extends z.ZodObject, O extends z.ZodObject>(spec: ToolSpec<I, O>): Tool {
  const { input, output } = spec;
  return {
    listing: toListing(spec, REFUSAL_SCHEMA),
    async run(args, toolContext) {
      const parsed = input.safeParse(args);
      if (!parsed.success) throw invalidRequest(parsed.error);
      const { text, data } = await spec.run(parsed.data, toolContext);
      return { content: [{ type: "text", text }], structuredContent: output.parse(data) };
    },
  };
}

/** What an answer holds where the tool refuses. */
const REFUSAL_SCHEMA = {
  properties: {
    error: { type: "string", description: "Only where the tool refuses: the code" },
    detail: { type: "string", description: "Only where the tool refuses: why, in a sentence" },
    hint: { type: "string", description: "Only where the tool refuses: what to do instead" },
  },
  required: ["error", "detail"],
};

/** The third dialect of a refusal (style 2.5): a tool error, which the model reads. */
export function toToolError(thrown: unknown, host: ToolHost, { listing }: Tool): CallToolResult {
  const problem = problemOf(thrown);
  if (!problem) host.onError(thrown);
  const body = problem ?? new Problem("internal", {}).toBody();
  const { error, detail, hint, ...rest } = body;
  const lines = [`${error}: ${detail}`];
  if (hint) lines.push(`Hint: ${hint}`);
  if (Object.keys(rest).length > 0) lines.push(JSON.stringify(rest));
  const content = [{ type: "text" as const, text: lines.join("\n") }];
  const outputFields = Object.keys(listing.outputSchema?.properties ?? {});
  const extraFields = Object.entries(rest).filter(([key]) => !outputFields.includes(key));
  const structuredContent = {
    error,
    detail,
    ...(hint && { hint }),
    ...Object.fromEntries(extraFields),
  };
  return { isError: true, content, structuredContent };
}

function problemOf(thrown: unknown): ProblemBody | undefined {
  if (thrown instanceof ApiError) return thrown.problem;
  return thrown instanceof Problem ? thrown.toBody() : undefined;
}
