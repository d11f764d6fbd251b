/** What a tool is: data for a model, one verb, and how its answers and refusals are told. */

import type { CallToolResult, Tool as Listing } from "@modelcontextprotocol/server";
import type * as z from "zod";
import { type Call, Refused } from "kit/http/client.ts";
import { type Told as Listed, toListing } from "kit/mcp/listing.ts";
import { invalidRequest, Problem, type ProblemBody } from "kit/core/problem.ts";
import type { McpCaller } from "./identify.ts";

export { LOOKS, SAYS, SETTLES } from "kit/mcp/listing.ts";

/** The house as the tools see it. */
export interface House {
  /** The daemon's own contracts, called in this process. */
  readonly call: Call;
  /** Lets even a caller that nobody knows end peers and the like (`daemon.mcp.allow_admin_tools`). */
  readonly allow_admin_tools?: boolean;
  /** A fault of ours: for the log, never for the caller. */
  fault(fault: unknown): void;
}

/** One call of a tool: who calls, what it may call in turn, and for how long it cares. */
export interface Visit {
  readonly caller: McpCaller;
  readonly call: Call;
  readonly signal: AbortSignal;
  /** Whether it may spawn, kill, restart and the like: not a caller that nobody knows. */
  readonly trusted: boolean;
}

/** What a verb says: a text for the model, and the same as data. */
export interface Told<D> {
  readonly text: string;
  readonly data: D;
}

interface Spec<I extends z.ZodObject, O extends z.ZodObject> extends Listed<I, O> {
  run(given: z.output<I>, visit: Visit): Promise<Told<z.input<O>>>;
}

export interface Tool {
  readonly listing: Listing;
  run(given: unknown, visit: Visit): Promise<CallToolResult>;
}

/** States a tool: its data is checked on the way in and on the way out. */
export function tool<I extends z.ZodObject, O extends z.ZodObject>(spec: Spec<I, O>): Tool {
  const { input, output } = spec;
  return {
    listing: toListing(spec, REFUSAL),
    async run(given, visit) {
      const read = input.safeParse(given);
      if (!read.success) throw invalidRequest(read.error);
      const { text, data } = await spec.run(read.data, visit);
      return { content: [{ type: "text", text }], structuredContent: output.parse(data) };
    },
  };
}

/** What an answer holds where the tool refuses. */
const REFUSAL = {
  properties: {
    error: { type: "string", description: "Only where the tool refuses: the code" },
    detail: { type: "string", description: "Only where the tool refuses: why, in a sentence" },
    hint: { type: "string", description: "Only where the tool refuses: what to do instead" },
  },
  required: ["error", "detail"],
};

/** The third dialect of a refusal (style 2.5): a tool error, which the model reads. */
export function toToolError(fault: unknown, house: House, { listing }: Tool): CallToolResult {
  const problem = problemOf(fault);
  if (!problem) house.fault(fault);
  const body = problem ?? new Problem("internal", {}).toBody();
  const { error, detail, hint, ...rest } = body;
  const lines = [`${error}: ${detail}`];
  if (hint) lines.push(`Hint: ${hint}`);
  if (Object.keys(rest).length > 0) lines.push(JSON.stringify(rest));
  const content = [{ type: "text" as const, text: lines.join("\n") }];
  const answered = Object.keys(listing.outputSchema?.properties ?? {});
  const also = Object.entries(rest).filter(([key]) => !answered.includes(key));
  const structuredContent = { error, detail, ...(hint && { hint }), ...Object.fromEntries(also) };
  return { isError: true, content, structuredContent };
}

function problemOf(fault: unknown): ProblemBody | undefined {
  if (fault instanceof Refused) return fault.problem;
  return fault instanceof Problem ? fault.toBody() : undefined;
}
