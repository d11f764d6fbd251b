/** JSON-RPC messages of MCP, for the descriptions of routes. The SDK itself checks what arrives. */

import * as z from "zod";

const Id = z.union([z.string(), z.int()]);
const JsonRpcMessage = z.strictObject({
  jsonrpc: z.literal("2.0"),
  id: Id.optional(),
  method: z.string(),
  params: z.looseObject({ _meta: z.looseObject({ progressToken: Id.optional() }).optional() })
    .nullish(),
});

/** One message, or a batch of older revisions. */
export const JsonRpcMessages = z.union([JsonRpcMessage, z.array(JsonRpcMessage).min(1)]);

export const JsonRpcError = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null()]),
  error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }),
});
