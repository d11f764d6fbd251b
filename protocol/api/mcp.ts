/** The routes of `/mcp`: JSON-RPC by POST; other methods are refused. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";

// JSON-RPC messages, for the description of the routes. The SDK itself checks what arrives.
const Id = z.union([z.string(), z.int()]);
const JsonRpcMessage = z.strictObject({
  jsonrpc: z.literal("2.0"),
  id: Id.optional(),
  method: z.string(),
  params: z.looseObject({ _meta: z.looseObject({ progressToken: Id.optional() }).optional() })
    .nullish(),
});

/** One message, or a batch of older revisions. */
const JsonRpcMessages = z.union([JsonRpcMessage, z.array(JsonRpcMessage).min(1)]);

const JsonRpcError = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null()]),
  error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }),
});

export const postMcp = contract({
  id: "mcp.post",
  method: "POST",
  path: "/mcp",
  summary: "MCP over Streamable HTTP, stateless and in JSON, for programs of this machine",
  access: "token",
  tunnel: "never",
  rawBody: JsonRpcMessages,
  returns: z.unknown(),
  otherResponses: {
    202: { description: "Accepted: a notification or a response has no answer" },
    400: {
      description: "A JSON-RPC error: no message, or no version of MCP that is known",
      returns: JsonRpcError,
    },
    415: {
      description: "A JSON-RPC error: the body is not application/json",
      returns: JsonRpcError,
    },
  },
  /** The last two are reported as tool errors, like all refusals of the routes that tools call. */
  fails: ["loopback_only", "body_too_large", "body_too_slow", "not_an_agent", "unknown_caller"],
});

const { rawBody: _body, otherResponses: _others, ...refused } = postMcp;

export const getMcp = contract({
  ...refused,
  id: "mcp.get",
  method: "GET",
  summary: "Always 405: a stateless server has no stream",
  fails: ["loopback_only", "method_not_allowed"],
});

export const deleteMcp = contract({
  ...getMcp,
  id: "mcp.delete",
  method: "DELETE",
  summary: "Always 405: a stateless server has no session to end",
});
