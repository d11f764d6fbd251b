/** The routes of `/mcp`: JSON-RPC by POST; other methods are refused. */

import * as z from "zod";
import { contract } from "kit/http/contract.ts";

export const postMcp = contract({
  id: "mcp.post",
  method: "POST",
  path: "/mcp",
  summary: "MCP over Streamable HTTP, stateless and in JSON, for programs of this machine",
  access: "token",
  tunnel: "never",
  /** Any value is accepted here, because the SDK checks JSON-RPC messages. */
  returns: z.unknown(),
  /** The last two are reported as tool errors, like all refusals of the routes that tools call. */
  fails: ["loopback_only", "body_too_large", "body_too_slow", "not_an_agent", "unknown_caller"],
});

export const getMcp = contract({
  ...postMcp,
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
