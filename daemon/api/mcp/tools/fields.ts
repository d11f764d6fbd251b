/** Input fields that tools share, and how the caller is passed to the daemon's routes. */

import * as z from "zod";
import { IdempotencyKey, Name } from "kit/core/schema.ts";
import { Problem } from "protocol/problems.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { ATTACHMENTS_MAX } from "protocol/messages/attachments.ts";
import { GivenProve } from "protocol/proofs/contract.ts";
import { GivenBudget } from "protocol/budgets/contract.ts";
import type { McpCaller } from "../identify.ts";
import type { ToolContext } from "../tool.ts";

export const maybe = z.string().nullable();
export const peer = z.string().describe("A name or a peer_id, as list_peers shows them");
export const circle = Name.optional()
  .describe("The only circle to search; by default your own circle, then all others");
export const idempotency_key = IdempotencyKey.optional().describe(
  "A key of your choice for this call; a repeated call with the same key is not run twice",
);
export const urgent = z.boolean().optional().describe(
  "True only if it cannot wait for the end of the peer's turn: the peer reads it between two of " +
    "its tool calls, where its program allows that",
);
export const budget = GivenBudget;
export const prove = GivenProve;
export const seconds = z.number().min(0).optional();
export const correlation_id = z.string().min(1)
  .describe("The id of the ask, such as ask-3f9c04d1a2b7");
export const attachments = z.array(z.string()).max(ATTACHMENTS_MAX).optional()
  .describe("Ids (att-…) of files, as the shell command `mesh upload FILE` prints them");

/** The facts about a file that a model needs. */
export const AttachedFile = z.object({
  id: z.string(),
  filename: z.string(),
  size: z.number(),
  content_type: z.string(),
  path: z.string(),
});

/** The header of a call with an idempotency key. */
export function idempotencyHeaders(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { "idempotency-key": key };
}

/** The caller, in the form that the daemon's routes take. */
export function callerId({ peer_id, name }: McpCaller): string {
  return peer_id ?? name;
}

/** The caller's `peer_id`; throws `not_an_agent` if it has none. */
export function mustBePeer({ peer_id }: McpCaller, why: string): string {
  if (peer_id === null) throw new Problem("not_an_agent", { why });
  return peer_id;
}

/** The caller's circle; undefined for an unknown caller. */
export async function ownCircle({ caller, call }: ToolContext): Promise<string | undefined> {
  if (caller.peer_id === null) return undefined;
  const { circle } = await call(getPeer, { params: { id: caller.peer_id }, query: {} });
  return circle;
}
