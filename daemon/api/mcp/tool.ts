/** Defines a tool: its listing for a model, its function, and how results and refusals are sent. */

import type { CallToolResult, Tool as Listing } from "@modelcontextprotocol/server";
import type * as z from "zod";
import { ApiError, type Call } from "kit/http/client.ts";
import {
  readArguments,
  toListing,
  type ToolDefinition,
  type ToolResult,
} from "kit/http/mcp_tools.ts";
import { type ProblemBody, Refusal } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import type { McpCaller } from "./identify.ts";

export { READ_HINTS, SEND_HINTS, UPDATE_HINTS } from "kit/http/mcp_tools.ts";

/** The parts of the daemon that the tools use. */
export interface ToolHost {
  /** Calls the daemon's own routes in this process. */
  readonly call: Call;
  /** True if unknown callers may use tools for trusted ones (`daemon.mcp.allow_admin_tools`). */
  readonly allow_admin_tools?: boolean;
  /** Logs an internal error, whose cause the caller must not see. */
  onError(error: unknown): void;
}

/** One call of a tool. */
export interface ToolContext {
  readonly caller: McpCaller;
  /** Calls the daemon's routes in the trace of the tool's call, until that call is cancelled. */
  readonly call: Call;
  /** True for a known caller, or by `allow_admin_tools`: it may spawn, kill and restart peers. */
  readonly trusted: boolean;
}

interface ToolSpec<I extends z.ZodObject, O extends z.ZodObject> extends ToolDefinition<I, O> {
  /** True if the tool refuses callers that are not trusted. */
  readonly trustedOnly?: boolean;
  run(args: z.output<I>, toolContext: ToolContext): Promise<ToolResult<z.input<O>>>;
}

export interface Tool {
  readonly listing: Listing;
  run(args: unknown, toolContext: ToolContext): Promise<CallToolResult>;
}

/** Builds a tool whose input and output are checked against its schemas. */
export function tool<I extends z.ZodObject, O extends z.ZodObject>(spec: ToolSpec<I, O>): Tool {
  const { input, output } = spec;
  return {
    listing: toListing(spec, REFUSAL_SCHEMA),
    async run(args, toolContext) {
      const parsed = readArguments(input, args);
      if (spec.trustedOnly) mustBeTrusted(toolContext);
      const { text, data } = await spec.run(parsed, toolContext);
      return { content: [{ type: "text", text }], structuredContent: output.parse(data) };
    },
  };
}

/** Throws `unknown_caller` if the caller is unknown and not allowed by the configuration. */
export function mustBeTrusted({ trusted }: ToolContext): void {
  if (!trusted) throw new Problem("unknown_caller", {});
}

/** The fields of a refused call's result. */
const REFUSAL_SCHEMA = {
  properties: {
    error: { type: "string", description: "Only if the tool refuses: the code" },
    detail: { type: "string", description: "Only if the tool refuses: the reason, as a sentence" },
    hint: { type: "string", description: "Only if the tool refuses: what to do instead" },
  },
  required: ["error", "detail"],
};

/**
 * Converts a refusal to a tool error, which the model reads. `done`: the ids of what the tool had
 * sent or started before, so that the model does not do so again.
 */
export function toToolError(
  thrown: unknown,
  host: ToolHost,
  { tool: { listing }, done }: { readonly tool: Tool; readonly done: readonly string[] },
): CallToolResult {
  const problem = problemOf(thrown);
  if (!problem) host.onError(thrown);
  const body = problem ?? new Problem("internal", {}).toBody();
  const { error, detail, hint, ...rest } = body;
  const lines = [`${error}: ${detail}`];
  if (hint) lines.push(`Hint: ${hint}`);
  if (done.length > 0) lines.push(`Done before: ${done.join(", ")}. Do not do it again.`);
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
  return thrown instanceof Refusal ? thrown.toBody() : undefined;
}
