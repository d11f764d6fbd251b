/** What the world may say to `/mcp`: JSON-RPC by POST, and nothing by any other method. */

import * as z from "zod";
import { contract } from "kit/http/contract.ts";

/** JSON-RPC's own forms: the protocol's schemas are the SDK's to check. */
const Rpc = z.unknown();

export const postMcp = contract({
  id: "mcp.post",
  method: "POST",
  path: "/mcp",
  summary: "MCP over Streamable HTTP, stateless and in JSON, for programs of this machine",
  access: "token",
  tunnel: "never",
  returns: Rpc,
  /** The last two are told as a tool's error, as all refusals of other rooms are. */
  fails: ["loopback_only", "body_too_large", "not_an_agent", "unknown_caller"],
});

export const getMcp = contract({
  id: "mcp.get",
  method: "GET",
  path: "/mcp",
  summary: "There is no stream to open: a stateless server answers 405",
  access: "token",
  tunnel: "never",
  returns: Rpc,
  fails: ["loopback_only", "method_not_allowed"],
});

export const deleteMcp = contract({
  id: "mcp.delete",
  method: "DELETE",
  path: "/mcp",
  summary: "There is no session to end: a stateless server answers 405",
  access: "token",
  tunnel: "never",
  returns: Rpc,
  fails: ["loopback_only", "method_not_allowed"],
});
