/** What the world may say to the relay's `/mcp`: JSON-RPC by POST, by whoever holds a grant. */

import * as z from "zod";
import { contract } from "kit/http/contract.ts";

/** JSON-RPC's own forms: the protocol's schemas are the SDK's to check. */
const Rpc = z.unknown();

/** Looks at machines, agents and the app's own requests. */
export const READ = "agents:read";
/** Sends agents messages. */
export const WRITE = "agents:write";

/** What an access token stands for, as far as the tools care. */
export const Bearer = z.object({
  grant_id: z.string(),
  /** Whose machines these are: the digest of a relay secret. */
  namespace: z.string(),
  /** In whose name daemons are asked: `mcp-` and 12 hex digits, the grant's own. */
  asker: z.string(),
  /** Words with blanks between them, as OAuth writes it. */
  scope: z.string(),
});
export type Bearer = z.output<typeof Bearer>;

const base = { path: "/mcp", access: "public", tunnel: "never", returns: Rpc } as const;
const ORIGIN_PROBLEMS = ["foreign_host", "foreign_page"] as const;

export const postMcp = contract({
  ...base,
  id: "relay.mcp.post",
  method: "POST",
  summary: "MCP over Streamable HTTP, stateless and in JSON, for apps that hold a grant",
  fails: [...ORIGIN_PROBLEMS, "too_many_requests", "body_too_large", "unknown_request"],
});

export const getMcp = contract({
  ...base,
  id: "relay.mcp.get",
  method: "GET",
  summary: "There is no stream to open: a stateless server answers 405",
  fails: [...ORIGIN_PROBLEMS, "method_not_allowed"],
});

export const deleteMcp = contract({
  ...base,
  id: "relay.mcp.delete",
  method: "DELETE",
  summary: "There is no session to end: a stateless server answers 405",
  fails: [...ORIGIN_PROBLEMS, "method_not_allowed"],
});
