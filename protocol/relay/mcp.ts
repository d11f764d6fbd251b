/** Contracts of the relay's `/mcp`: JSON-RPC by POST, for apps that hold a grant. */

import * as z from "zod";
import { atRelay, contract } from "protocol/contract.ts";

/** JSON-RPC messages. The SDK validates them, so the contract does not. */
const Rpc = z.unknown();

/** The scope that allows an app to read machines, agents and the app's own requests. */
export const READ = "agents:read";
/** The scope that allows an app to send messages to agents. */
export const WRITE = "agents:write";

/** Rights of an access token. */
export const Bearer = z.object({
  grant_id: z.string(),
  /** The namespace of the machines that the app can reach: the digest of a relay secret. */
  namespace: z.string(),
  /** The sender of the app's messages: `mcp-` and 12 hex digits. Each grant has its own. */
  asker: z.string(),
  /** The granted scopes, separated by spaces. */
  scope: z.string(),
});
export type Bearer = z.output<typeof Bearer>;

const base = { path: "/mcp", ...atRelay, returns: Rpc } as const;
export const postMcp = contract({
  ...base,
  id: "relay.mcp.post",
  method: "POST",
  summary: "MCP over Streamable HTTP, stateless and in JSON, for apps that hold a grant",
  fails: [
    "foreign_host",
    "too_many_requests",
    "body_too_large",
    "body_too_slow",
    "unknown_request",
  ],
});

export const getMcp = contract({
  ...base,
  id: "relay.mcp.get",
  method: "GET",
  summary: "Always 405: a stateless server has no event stream",
  fails: ["foreign_host", "method_not_allowed"],
});

export const deleteMcp = contract({
  ...base,
  id: "relay.mcp.delete",
  method: "DELETE",
  summary: "Always 405: a stateless server has no session to end",
  fails: ["foreign_host", "method_not_allowed"],
});
