/** Schemas and routes of deliveries: the record, draining, receipts, traces, the WebSocket. */

import * as z from "zod";
import { NO_ACTOR, Ok } from "kit/http/contract.ts";
import { contract, nullableString } from "protocol/contract.ts";
import { Instant, queryInteger, requires } from "kit/core/schema.ts";
import { TransportName } from "protocol/agents/contract.ts";
import { AuthorKind } from "protocol/peers/record.ts";
import { Attachments } from "protocol/messages/attachments.ts";
import { readTrace } from "kit/http/traceparent.ts";
import { Chain } from "protocol/origins/record.ts";
import { MessageProof } from "protocol/proofs/contract.ts";
import { deliveryMachine } from "protocol/messages/states.ts";

export const DeliveryState = z.enum(deliveryMachine.states);
export const Kind = z.enum(["ask", "notify", "broadcast", "ack", "inbox_item"]);
export type Kind = z.infer<typeof Kind>;

/** One message to one recipient (contract 2). */
export const Delivery = z.object({
  delivery_id: z.string(),
  kind: Kind,
  correlation_id: nullableString,
  from_peer_id: nullableString,
  from_peer_name: z.string(),
  to_peer_id: z.string(),
  to_peer_name: z.string(),
  /**
   * `unverified`: nothing proves that the sender sent it, or the sender has a name like the
   * human's.
   */
  voice: AuthorKind,
  unverified: z.boolean().describe("Whether its voice is `unverified`"),
  sent_by: nullableString.describe("The person who sent it in the sender's name; null for none"),
  /** True if it may be read within a running turn: its sender says so, or the human sent it. */
  urgent: z.boolean(),
  chain: Chain.nullable().describe(
    "What began the work that it belongs to; null for a notice of the daemon, or an older message",
  ),
  text: z.string(),
  attachments: Attachments,
  state: DeliveryState,
  transport: TransportName.nullable(),
  attempts: z.number().int(),
  created_at: Instant,
  attempted_at: Instant.nullable(),
  sent_at: Instant.nullable(),
  accepted_at: Instant.nullable(),
  seen_at: Instant.nullable(),
  expires_at: Instant.nullable(),
  reason: nullableString,
}).meta({ id: "Delivery" });
export type Delivery = z.output<typeof Delivery>;

/** A delivery as it is stored: the public record plus internal fields. */
export const StoredMessage = Delivery.extend({
  seq: z.number().int(),
  circle: nullableString,
  item_id: nullableString,
  reply_to: nullableString,
  question: z.record(z.string(), z.unknown()).nullable(),
  close_reason: nullableString,
  outcome: nullableString,
  closed_at: Instant.nullable(),
  settled_at: Instant.nullable(),
  traceparent: z.string(),
  repeatable: z.boolean(),
  proof: MessageProof.nullable(),
});
export type StoredMessage = z.output<typeof StoredMessage>;

/** The refusals of a message because of its recipient. */
export const TARGET_FAILS = [
  "unknown_peer",
  "ambiguous_peer",
  "peer_retired",
  "peer_not_addressable",
  "to_self",
] as const;

/** Time after `sent` until a delivery without proof is reported as unproved (architecture 3). */
export const PROOF_MS_MAX = 30_000;

/** The field of a request that marks its message as urgent. */
export const Urgent = z.boolean().optional().describe(
  "Let an agent at work read it after its next tool call, where its hooks allow that. What the " +
    "human sends is urgent unless this is false",
);

/**
 * A W3C trace context. A malformed context counts as absent, so that the daemon chooses the trace.
 */
export const Traceparent = z.string().nullish().catch(undefined)
  .transform((requires) => typeof requires === "string" ? readTrace(requires) : undefined);

/** The fields that an ask has in addition to those of its delivery, set when the ask opens. */
export interface AskFields {
  readonly reply_delivery: "push" | "pull";
  readonly origin: Readonly<Record<string, unknown>> | null;
  readonly parent_id: string | null;
  readonly routing: Readonly<Record<string, unknown>> | null;
}

export const Stage = z.object({
  seq: z.number().int(),
  stage: z.string(),
  status: z.enum(["ok", "fail"]),
  peer_id: nullableString,
  from_peer_id: nullableString,
  ts: Instant,
  detail: nullableString,
});
export type Stage = z.output<typeof Stage>;

export const getTrace = contract({
  id: "delivery.trace",
  method: "GET",
  path: "/traces/:trace_id",
  compressed: true,
  summary: "The recorded stages of an ask or a notify",
  access: "caller",
  tunnel: "open",
  params: z.object({ trace_id: z.string() }),
  returns: z.object({
    trace_id: z.string(),
    kind: Kind,
    unverified: z.boolean().describe("Whether nothing proves that its sender sent it"),
    chain: Chain.nullable(),
    stages: z.array(Stage),
  }),
  fails: ["unknown_trace"],
});
export type Trace = z.output<typeof getTrace.returns>;

const DrainQuery = z.object({
  peer_id: z.string().optional(),
  pane_id: z.string().optional(),
  tmux_socket: z.string().optional(),
  max_results: queryInteger(1).default(50)
    .transform((count) => Math.min(count, 500)),
}).refine(({ peer_id, pane_id }) => (peer_id === undefined) !== (pane_id === undefined), {
  message: "Give exactly one of peer_id and pane_id",
});

export const drainDeliveries = contract({
  id: "delivery.drain",
  method: "GET",
  path: "/deliveries/pending",
  summary: "Take the queued messages of a peer; settle them with a receipt within 60 s",
  access: "caller",
  tunnel: "never",
  query: DrainQuery,
  actor: { field: "query.peer_id", otherwise: "pane", drains: true },
  returns: z.object({
    deliveries: z.array(Delivery.extend({ redelivered: z.boolean() })),
    drain_id: nullableString,
    dropped_not_addressable: z.number().int().optional(),
  }),
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere", "no_pane_peer"],
});

export const settleDeliveries = contract({
  id: "delivery.receipts",
  method: "POST",
  path: "/deliveries/receipts",
  summary: "Report the outcome of drained deliveries",
  access: "caller",
  tunnel: "never",
  body: z.object({
    drain_id: z.string().optional(),
    delivery_ids: z.array(z.string()).max(500).optional(),
    status: z.enum(["accepted", "seen", "failed", "rejected"]),
  }).refine(({ drain_id, delivery_ids }) => (drain_id ?? delivery_ids) !== undefined, {
    message: "Give the drain_id or the delivery_ids",
  }).meta({
    allOf: [{ anyOf: [requires("drain_id"), requires("delivery_ids")] }],
  }),
  actor: { otherwise: "drained", drains: true },
  returns: Ok,
  fails: ["unknown_drain", "unknown_message"],
});
export type SettleDeliveries = z.output<typeof settleDeliveries.body>;

/** A message whose state contradicts the rest of its record. `problem` names the contradiction. */
export const UnaccountedDelivery = z.object({
  delivery_id: z.string(),
  state: z.string(),
  problem: z.string(),
});
export type UnaccountedDelivery = z.output<typeof UnaccountedDelivery>;

/**
 * All fields are about the messages that match the query, whatever the limit of the list is.
 * `counts` holds their number by state, and `total` is their sum. `unproved` counts those that were
 * sent and not proved within 30 s. `unaccounted` lists at most 100 whose record is contradictory; it
 * should be empty.
 */
export const listDeliveries = contract({
  id: "delivery.list",
  method: "GET",
  path: "/deliveries",
  compressed: true,
  summary: "Deliveries by peer and state, newest first: the conservation count as a query",
  access: "caller",
  tunnel: "never",
  query: z.object({
    peer_id: z.string().optional(),
    state: DeliveryState.optional(),
    limit: queryInteger(1, 500).default(100),
  }),
  actor: NO_ACTOR,
  returns: z.object({
    deliveries: z.array(Delivery),
    counts: z.record(z.string(), z.number()),
    total: z.number().int(),
    unproved: z.number().int(),
    unaccounted: z.array(UnaccountedDelivery),
  }),
  fails: ["unknown_peer", "ambiguous_peer"],
});

export const webSocket = contract({
  id: "delivery.ws",
  method: "GET",
  path: "/ws",
  summary: "Live delivery: frames both ways",
  access: "checked",
  tunnel: "never",
  fails: ["upgrade_required"],
  returns: z.void(),
  responseType: "websocket",
});
