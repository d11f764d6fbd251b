/** The messages of the Agent Client Protocol (version 1) that are used here. */

import * as z from "zod";

/** The only version that is spoken. */
export const PROTOCOL_VERSION = 1;

/** The error of `session/new` for an agent that wants its user to log in first. */
export const AUTH_REQUIRED = -32_000;

const Text = z.string().catch("");

export const InitializeResult = z.object({
  protocolVersion: z.number(),
  agentCapabilities: z.object({
    loadSession: z.boolean().catch(false),
    /** The transports of MCP servers that it takes besides stdio. */
    mcpCapabilities: z.object({ http: z.boolean().catch(false) }).partial().catch({}),
  }).partial().catch({}),
  agentInfo: z.object({ name: z.string(), title: Text, version: Text }).optional().catch(undefined),
  authMethods: z.array(z.object({ name: z.string() })).catch([]),
});
export type InitializeResult = z.output<typeof InitializeResult>;

/** The answer of `session/new` and, without an id, that of `session/load`. */
export const OpenedSession = z.object({
  sessionId: z.string().min(1).max(1_000).optional(),
  models: z.object({ currentModelId: z.string() }).optional().catch(undefined),
}).nullish().catch(null).transform((opened) => opened ?? {});

/** Any result means that the turn is over. */
export const PromptResult = z.object({ stopReason: z.string() }).catch({ stopReason: "unknown" });

const ToolCall = z.object({
  toolCallId: z.string(),
  title: z.string().nullish(),
  kind: z.string().nullish(),
  status: z.string().nullish(),
  rawInput: z.unknown().optional(),
  content: z.unknown().optional(),
});
export type ToolCall = z.output<typeof ToolCall>;

const TextChunk = z.object({ content: z.object({ type: z.literal("text"), text: z.string() }) });

export const SessionUpdate = z.object({
  sessionId: z.string(),
  update: z.looseObject({ sessionUpdate: z.string() }),
});
export type Update = z.output<typeof SessionUpdate>["update"];

/** The updates that only a running prompt causes. Other updates may come at any time. */
const OF_A_PROMPT: readonly string[] = [
  "agent_message_chunk",
  "agent_thought_chunk",
  "tool_call",
  "tool_call_update",
  "plan",
];

export function isOfPrompt({ sessionUpdate }: Update): boolean {
  return OF_A_PROMPT.includes(sessionUpdate);
}

/** The text of a part of the agent's message; empty for any other update. */
export function messageText(update: Update): string {
  if (update.sessionUpdate !== "agent_message_chunk") return "";
  return TextChunk.safeParse(update).data?.content.text ?? "";
}

export function toolCallOf(update: Update): ToolCall | undefined {
  const isToolCall = update.sessionUpdate.startsWith("tool_call");
  return isToolCall ? ToolCall.safeParse(update).data : undefined;
}

export const PermissionRequest = z.object({
  sessionId: z.string(),
  toolCall: ToolCall,
  options: z.array(z.object({ optionId: z.string(), name: Text, kind: Text })).max(50),
});
export type PermissionRequest = z.output<typeof PermissionRequest>;

/** A permission request with all that is known of its tool call. */
export interface ToolRequest extends Pick<PermissionRequest, "options"> {
  readonly call: ToolCall;
}

/** The answer to a permission request: one of its options, or none. */
export interface PermissionOutcome {
  readonly outcome:
    | { readonly outcome: "selected"; readonly optionId: string }
    | { readonly outcome: "cancelled" };
}

interface Variable {
  readonly name: string;
  readonly value: string;
}

/** A program that serves MCP on its standard input, as `session/new` takes it. */
export interface StdioServer {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly Variable[];
}

/** An address that serves MCP over Streamable HTTP. */
export interface HttpServer {
  readonly type: "http";
  readonly name: string;
  readonly url: string;
  readonly headers: readonly Variable[];
}

/** An MCP server in both forms. Some agents reject stdio; others accept only stdio. */
export interface McpServer {
  readonly stdio: StdioServer;
  readonly http: HttpServer;
}
