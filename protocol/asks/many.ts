/** Schemas and routes of asks to many. The children are ordinary asks. */

import * as z from "zod";
import { contract, nullableString } from "protocol/contract.ts";
import { Name, Sender, Text } from "kit/core/schema.ts";
import { TARGET_FAILS } from "protocol/messages/contract.ts";
import { GivenBudget } from "protocol/budgets/contract.ts";
import { GivenProve } from "protocol/proofs/contract.ts";
import { CloseReasons, Outcome, PROVE_FAILS, ReplyDelivery } from "protocol/asks/contract.ts";
import { askMachine } from "protocol/asks/states.ts";

export const PEERS_MAX = 100;
/** A day, which is also the default lifetime of an open ask (contract 2). */
const TIMEOUT_SECONDS_MAX = 86_400;

/** One recipient, as the asker named it; a peer of an `@tag` by its name. */
const peer = z.string();

/** A recipient with its ask, or with the error code if the recipient could not be asked. */
export const ChildAsk = z.union([
  z.object({
    peer,
    peer_id: z.string(),
    correlation_id: z.string(),
    reason: nullableString.optional().describe("Why it waits; null if it does not"),
  }),
  z.object({ peer, error: z.string() }),
]);
export type ChildAsk = z.output<typeof ChildAsk>;

export const askMany = contract({
  id: "asks.many",
  method: "POST",
  path: "/asks/many",
  summary: "Ask several peers the same; a recipient that cannot be asked fails alone",
  access: "caller",
  tunnel: "open",
  idempotent: true,
  body: z.object({
    from_peer: Sender,
    to_peers: z.array(peer).min(1).max(PEERS_MAX).describe(
      "Names, ids, or tags such as `@backend`, each of which stands for the peers that have it",
    ),
    text: Text,
    circle: Name.optional(),
    /** When this time has passed, open children are closed as `evicted`. */
    timeout_seconds: z.number().min(0)
      .transform((seconds) => Math.min(seconds, TIMEOUT_SECONDS_MAX)).optional(),
    reply_delivery: ReplyDelivery.default("push"),
    budget: GivenBudget,
    prove: GivenProve,
  }),
  actor: { field: "body.from_peer" },
  returns: z.object({ parent_id: z.string(), children: z.array(ChildAsk) }),
  fails: [
    ...TARGET_FAILS,
    "queue_full",
    "rate_limited",
    "budget_spent",
    "policy_denied",
    "budget_needs_prices",
    "no_tagged_peer",
    "group_too_large",
    "peer_limited",
    ...PROVE_FAILS,
  ],
});
export type AskMany = z.output<typeof askMany.body>;

/** The result of one recipient. A recipient that could not be asked has an `error` and no ask. */
export const Child = z.object({
  peer,
  correlation_id: nullableString,
  state: z.enum(askMachine.states),
  reply: nullableString,
  outcome: Outcome.nullable(),
  close_reason: CloseReasons.nullable(),
  error: z.string().optional(),
});
export type Child = z.output<typeof Child>;

export const getMany = contract({
  id: "asks.many_result",
  method: "GET",
  path: "/asks/many/:parent_id",
  described_path: "/asks/many/:parent_id/result",
  summary: "The results of an ask to many so far; it does not wait",
  access: "caller",
  tunnel: "open",
  params: z.object({ parent_id: z.string() }),
  returns: z.object({
    parent_id: z.string(),
    /** `pending`, `partial` or `complete`: none, some or all of the children are closed. */
    state: z.enum(["pending", "partial", "complete"]),
    children: z.array(Child),
  }),
  fails: ["unknown_ask"],
});
export type ManyResult = z.output<typeof getMany.returns>;
