/** The routes and the record of subscriptions, as data. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { byId, contract, nullableString } from "protocol/contract.ts";
import { PEER_FAILS } from "protocol/peers/record.ts";
import { Instant, Name, queryInteger, Sender, Text } from "kit/core/schema.ts";
import { When } from "protocol/schedules/when.ts";
import { FORMS, GLOB_CHARS_MAX, parseCondition } from "protocol/subscriptions/conditions.ts";
import { subscriptionMachine } from "protocol/subscriptions/states.ts";

/** Maximum number of active subscriptions of one subscriber. */
export const PER_PEER_MAX = 20;
/** Maximum number of active subscriptions. Each tick checks all of them. */
export const ACTIVE_MAX = 1000;
/** Maximum number of subscriptions in one list. */
const LIST_MAX = 1000;
/** A subscription's text is short, as the proof follows it in the message. */
const TEXT_CHARS_MAX = 10_000;
const CONDITION_CHARS_MAX = GLOB_CHARS_MAX + 300;

export const SubscriptionState = z.enum(subscriptionMachine.states);

const GivenCondition = z.string().max(CONDITION_CHARS_MAX).transform((text, issues) => {
  const parsed = parseCondition(text);
  if (parsed) return parsed;
  const message = `"${text}" is no condition; allowed: ${FORMS}`;
  issues.addIssue({ code: "custom", message, input: text });
  return z.NEVER;
});

/** A message that is sent when a condition holds. */
export const Subscription = z.object({
  subscription_id: z.string(),
  /** The subscriber; null if it is no registered peer. */
  from_peer_id: nullableString,
  from_peer_name: z.string(),
  /** Such as `peer:web idle`. */
  condition: z.string(),
  /** The id of the peer, job or ask. */
  subject_id: z.string(),
  /** The recipient as the request named it; null for the subscriber. */
  to_peer: nullableString,
  /** The text of the message; null for a message of the proof alone. */
  text: nullableString,
  circle: nullableString,
  /** End of the time in which each occurrence is reported; null for a single report. */
  until: Instant.nullable(),
  state: SubscriptionState,
  /** Number of messages sent. */
  fires: z.number().int(),
  last_fired_at: Instant.nullable(),
  last_outcome: z.enum(["fired", "failed"]).nullable(),
  last_error: nullableString,
  /** The observation, its observer, and its time. */
  last_proof: nullableString,
  /** The id of the last message, for `GET /traces/{trace_id}`. */
  last_message_id: nullableString,
  created_at: Instant,
}).meta({ id: "Subscription" });
export type Subscription = z.output<typeof Subscription>;

export const createSubscription = contract({
  id: "subscriptions.create",
  method: "POST",
  path: "/subscriptions",
  summary: "Send a message when a condition holds, once or until a time",
  access: "caller",
  tunnel: "open",
  idempotent: true,
  body: z.object({
    from_peer: Sender,
    condition: GivenCondition.describe(`One of: ${FORMS}`),
    to_peer: z.string().optional().describe("The recipient; by default the subscriber"),
    text: Text.max(TEXT_CHARS_MAX).optional(),
    until: When.optional().describe("Tell each occurrence until then, and not only the first"),
    circle: Name.optional(),
  }),
  verb: "subscriptions",
  actor: { field: "body.from_peer" },
  returns: Subscription,
  fails: [
    ...PEER_FAILS,
    "peer_retired",
    "unknown_job",
    "unknown_ask",
    "subscriptions_full",
    "budget_spent",
    "policy_denied",
  ],
});
export type CreateSubscription = z.output<typeof createSubscription.body>;

export const listSubscriptions = contract({
  id: "subscriptions.list",
  method: "GET",
  path: "/subscriptions",
  compressed: true,
  summary: "Subscriptions, active ones first, then newest first",
  access: "caller",
  tunnel: "open",
  query: z.object({
    state: SubscriptionState.optional(),
    from_peer: z.string().optional(),
    limit: queryInteger(1, LIST_MAX).default(LIST_MAX),
  }),
  actor: NO_ACTOR,
  returns: z.object({ subscriptions: z.array(Subscription) }),
});
export type SubscriptionFilter = z.output<typeof listSubscriptions.query>;

export const getSubscription = contract({
  id: "subscriptions.get",
  method: "GET",
  path: "/subscriptions/:id",
  summary: "One subscription",
  access: "caller",
  tunnel: "open",
  params: byId,
  returns: Subscription,
  fails: ["unknown_subscription"],
});

export const cancelSubscription = contract({
  id: "subscriptions.cancel",
  method: "DELETE",
  path: "/subscriptions/:id",
  summary: "Cancel a subscription; a repeat changes nothing",
  access: "caller",
  tunnel: "open",
  params: byId,
  actor: { otherwise: "maker" },
  returns: Subscription,
  fails: ["unknown_subscription", "subscription_settled"],
});
