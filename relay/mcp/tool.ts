/**
 * Remote tools. A tool has a definition, the scope that it needs, and a handler. Its error has a
 * code, a sentence, and whether the message may have been delivered.
 */

import type { CallToolResult, Tool as Listing } from "@modelcontextprotocol/server";
import * as z from "zod";
import {
  readArguments,
  toListing,
  type ToolDefinition,
  type ToolResult,
} from "kit/http/mcp_tools.ts";
import { isUnreachable, type Machine } from "protocol/relay/daemons.ts";
import type { READ, WRITE } from "protocol/relay/mcp.ts";
import { type DaemonClient, DaemonError } from "../daemons/daemon_client.ts";
import { Refusal } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";

/** The machines and daemons that a tool call can reach. */
export interface ToolContext {
  /** The connected machines of the grant's namespace. */
  machines(): readonly Machine[];
  /** A client of the daemon with exactly this id. */
  daemon(daemon_id: string): DaemonClient;
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

/** Advice for the model on what to do next, for codes whose sentence is not enough. */
const ADVICE: Readonly<Record<string, string>> = {
  unknown_machine: "Call list_machines for the exact daemon_id.",
  machine_offline: "Tell the user, who can start it on that machine with `mesh up`.",
  unknown_peer: "Call list_agents for the exact peer_id. Display names are not accepted.",
  peer_not_addressable: "It only sends. Choose another agent from list_agents.",
  unknown_request:
    "Only requests of this app connection can be read; one of an earlier connection cannot, nor " +
    "one that its machine no longer keeps.",
  daemon_too_old: "Ask the user to update the mesh on that machine, then try again.",
};
const MAYBE_DELIVERED =
  "The message may have been delivered. list_requests shows outstanding asks only, so that absence " +
  "there proves nothing. Do not send it again unless doing the task twice is harmless.";

/** Codes of the daemon that are translated for apps. */
const CODES: Readonly<Record<string, string>> = {
  unknown_ask: "unknown_request",
  not_the_asker: "unknown_request",
  peer_retired: "unknown_peer",
  ambiguous_peer: "unknown_peer",
};

export interface ToolError {
  readonly error: string;
  readonly detail: string;
  readonly may_have_been_delivered: boolean;
}

/**
 * Converts an error for the caller. Undefined for an unexpected error, which must not be shown.
 * `hasSent` is true if a message was sent before the error occurred.
 */
export function toToolError(thrown: unknown, hasSent: boolean): ToolError | undefined {
  if (thrown instanceof DaemonError) {
    const { code, detail, mayHaveBeenTaken } = thrown;
    const error = CODES[code] ?? code;
    // An app gets the same error for an unknown request and for a request of another app.
    if (error === "unknown_request") return toToolError(new Problem(error, {}), hasSent);
    return { error, detail, may_have_been_delivered: hasSent && mayHaveBeenTaken };
  }
  if (!(thrown instanceof Refusal)) return undefined;
  const { error, detail } = thrown.toBody();
  return { error, detail, may_have_been_delivered: hasSent && problemMayHaveBeenTaken(thrown) };
}

function problemMayHaveBeenTaken(thrown: Problem): boolean {
  if (isUnreachable(thrown)) return thrown.fields.may_have_been_delivered;
  return thrown.code === "bad_daemon_answer";
}

/** A tool result that shows an error to the model. */
export function toErrorResult(refusal: ToolError): CallToolResult {
  const { error, detail, may_have_been_delivered } = refusal;
  const lines = [`${error}: ${detail}`];
  const advice = ADVICE[error];
  if (may_have_been_delivered) lines.push(MAYBE_DELIVERED);
  if (advice !== undefined) lines.push(advice);
  return {
    isError: true,
    content: [{ type: "text", text: lines.join("\n") }],
    structuredContent: { ...refusal },
  };
}
