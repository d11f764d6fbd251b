/** What tools have in common: what they take, and how whoever calls is told to other rooms. */

import * as z from "zod";
import { IdempotencyKey, Name } from "kit/core/schema.ts";
import { Problem } from "kit/core/problem.ts";
import { ATTACHMENTS_MAX } from "../../../features/messages/attachments/contract.ts";
import type { McpCaller } from "../identify.ts";
import type { ToolContext } from "../tool.ts";

export const maybe = z.string().nullable();
export const peer = z.string().describe("A name or a peer_id, as list_peers shows them");
export const circle = Name.optional()
  .describe("Where to look for the name; by default your own circle");
export const idempotency_key = IdempotencyKey.optional().describe(
  "A key of your own for this call; repeated with the same key, it is not done twice",
);
export const seconds = z.number().min(0).optional();
export const correlation_id = z.string().min(1)
  .describe("The id of the ask, such as ask-3f9c04d1a2b7");
export const attachments = z.array(z.string()).max(ATTACHMENTS_MAX).optional()
  .describe("Ids (att-…) of files, as the shell command `mesh attach FILE` prints them");

/** A file as a model needs to know it. */
export const AttachedFile = z.object({
  id: z.string(),
  filename: z.string(),
  size: z.number(),
  content_type: z.string(),
  path: z.string(),
});

/** The header of a call that is done once. */
export function idempotencyHeaders(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { "idempotency-key": key };
}

/** Whoever speaks, as the other rooms are told. */
export function callerId({ peer_id, name }: McpCaller): string {
  return peer_id ?? name;
}

/** The caller's `peer_id`; refuses with `not_an_agent` where it has none. */
export function mustBePeer({ peer_id }: McpCaller, why: string): string {
  if (peer_id === null) throw new Problem("not_an_agent", { why });
  return peer_id;
}

/** A caller that nobody knows starts, stops and changes nothing, unless it is allowed to. */
export function mustBeTrusted({ trusted }: ToolContext): void {
  if (!trusted) throw new Problem("unknown_caller", {});
}
