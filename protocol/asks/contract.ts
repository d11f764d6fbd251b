/** Schemas and routes of asks. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { byId, contract, nullableString } from "protocol/contract.ts";
import {
  DisplayText,
  Instant,
  Name,
  queryInteger,
  Sender,
  Text,
  TextOrEmpty,
} from "kit/core/schema.ts";
import { AttachmentRefs, Attachments } from "protocol/messages/attachments.ts";
import { DeliveryState, TARGET_FAILS, Urgent } from "protocol/messages/contract.ts";
import { Chain } from "protocol/origins/record.ts";
import { GivenBudget } from "protocol/budgets/contract.ts";
import { AuthorKind, GivenMetadata, Wake } from "protocol/peers/record.ts";
import { Option, OPTIONS_MAX, Question } from "protocol/messages/question.ts";
import { foldNamedAskKeys, refuseRepeatedKeys } from "protocol/asks/body_keys.ts";
import { askMachine, CLOSE_RULES, type CloseReason } from "protocol/asks/states.ts";
import { Routing } from "protocol/asks/routing.ts";
import { GivenClaims } from "protocol/proofs/claims.ts";
import { GivenProve, Proof } from "protocol/proofs/contract.ts";

export const WAIT_SECONDS_MAX = 50;
export const WAIT_SECONDS = 45;

const reasons = Object.keys(CLOSE_RULES) as [CloseReason, ...CloseReason[]];
export const CloseReasons = z.enum(reasons);
export const Outcome = z.enum([
  "acknowledged",
  "answered",
  "declined",
  "denied",
  "timed_out",
  "cancelled",
  "failed",
  "allowed_there",
  "denied_there",
  "ended_there",
]).describe("`…_there`: it was decided in the agent's terminal; `ended_there` if nothing says how");
export type Outcome = z.infer<typeof Outcome>;

/** The options of a question in a request. An answer names one of them by its id. */
export const GivenOptions = z.array(Option).max(OPTIONS_MAX).superRefine((options, context) => {
  const known = new Set<string>();
  for (const { id } of options.slice(0, OPTIONS_MAX)) {
    // The schema of an option refuses an empty id.
    if (id !== "" && id.trim() === "") {
      context.addIssue({ code: "custom", message: "An option is blank" });
    } else if (known.has(id)) {
      context.addIssue({ code: "custom", message: `Two options have the same id: "${id}"` });
    }
    known.add(id);
  }
});

/** A question in a request. It must be possible to answer it. */
export const GivenQuestion = Question.omit({ act: true }).extend({
  options: GivenOptions.default([]),
}).refine(
  ({ kind, options }) => kind !== "choice" || options.length > 0,
  "A choice needs options",
).refine(
  ({ metadata }) => metadata === null || GivenMetadata.safeParse(metadata).success,
  { path: ["metadata"], message: "The metadata is too long or nested too deep" },
).meta({
  allOf: [{
    anyOf: [
      { properties: { kind: { enum: ["text", "acknowledge"] } } },
      { required: ["options"], properties: { options: { type: "array", minItems: 1 } } },
    ],
  }],
});

export const TypedAnswer = z.object({
  outcome: Outcome,
  option_id: nullableString,
  text: nullableString,
  message: nullableString,
});
export type TypedAnswer = z.output<typeof TypedAnswer>;

export const Origin = z.object({ surface: DisplayText.max(255), ref: DisplayText.max(255) });
export const ReplyDelivery = z.enum(["push", "pull"]);

/** The ask record (contract 2). `status` is derived from `state`. */
export const Ask = z.object({
  correlation_id: z.string(),
  from_peer_id: nullableString,
  from_peer_name: z.string(),
  to_peer_id: z.string(),
  to_peer_name: z.string(),
  /** The author kind of the asker. */
  voice: AuthorKind,
  unverified: z.boolean().describe("Whether nothing proves that its sender sent it"),
  chain: Chain.nullable(),
  circle: nullableString,
  text: z.string(),
  attachments: Attachments,
  reply_to: nullableString,
  parent_id: nullableString,
  question: Question.nullable(),
  answer: TypedAnswer.nullable(),
  origin: Origin.nullable(),
  routing: z.record(z.string(), z.unknown()).nullable(),
  reply_delivery: ReplyDelivery,
  state: z.enum(askMachine.states),
  status: z.enum(["pending", "resolved"]),
  close_reason: CloseReasons.nullable(),
  outcome: Outcome.nullable(),
  reply: nullableString,
  /** The author kind of the reply; null if there is no responder. */
  reply_voice: AuthorKind.nullable(),
  reply_attachments: Attachments,
  responder: nullableString,
  created_at: Instant,
  /** When the asker of a blocking question stops waiting. */
  expires_at: Instant.nullable(),
  delivered_at: Instant.nullable(),
  seen_at: Instant.nullable(),
  /** When the recipient's stop hook reminded it of the ask. */
  reminded_at: Instant.nullable(),
  closed_at: Instant.nullable(),
  proof: Proof.optional().describe(
    "The check of its answer, in responses; absent if nothing is checked. A list has no `output`",
  ),
}).meta({ id: "Ask" });
export type Ask = z.output<typeof Ask>;

const askFields = {
  from_peer: Sender.describe("The sender: a peer's id or name"),
  text: Text.describe("The question"),
  attachments: AttachmentRefs.optional().describe("Uploaded files, by their ids"),
  reply_to: z.string().optional().describe("The earlier ask that this one continues"),
  circle: Name.optional().describe("Look up the name in this circle only"),
  bypass_circle: z.boolean().optional().describe(
    "Look up the name everywhere at once, and not in the sender's circle first",
  ),
  urgent: Urgent,
  budget: GivenBudget,
};

/** The refusals of an ask whose answer is to be checked. */
export const PROVE_FAILS = [
  "unknown_check",
  "prove_person",
  "prove_question",
  "prove_from_relay",
] as const;

export const openAsk = contract({
  id: "asks.open",
  method: "POST",
  path: "/ask",
  summary: "Ask a peer a question that needs a reply",
  access: "caller",
  tunnel: "open",
  idempotent: true,
  inspect: refuseRepeatedKeys,
  body: z.preprocess(
    foldNamedAskKeys,
    z.object({
      ...askFields,
      to_peer: z.string().describe("The recipient: a peer's id or name"),
      question: GivenQuestion.optional().describe("A structured question, such as a choice"),
      reply_delivery: ReplyDelivery.default("push").describe(
        "`push` sends the reply to the asker as a message; `pull` keeps it on the ask",
      ),
      origin: Origin.optional().describe("Where the human wrote it: a surface and its message"),
      fallback_to: z.string().optional().describe("Who gets it if the routing strategy fails"),
      prove: GivenProve,
      dry_run: z.boolean().optional().describe("Only say who would get it"),
    }),
  ),
  actor: { field: "body.from_peer" },
  returns: z.object({
    correlation_id: nullableString.describe("The id of the ask; null after a dry run"),
    trace_id: nullableString.describe("The id under which its stages are recorded"),
    to_peer_id: z.string().describe("The recipient's id"),
    to_peer_name: z.string().describe("The recipient's name"),
    delivery_state: DeliveryState.nullable().describe("How far it is when this is sent"),
    reason: nullableString.describe("Why it waits; null if it does not"),
    wake: Wake.optional().describe(
      "The sleep of an agent that is offline: whether it is being woken; absent for other peers",
    ),
    inbox: z.object({ item_id: z.string(), surfaces: z.array(z.string()) }).optional().describe(
      "The inbox item, if the human is the recipient",
    ),
    routing: Routing.optional().describe("The choice of the routing strategy, if it chose"),
  }),
  fails: [
    "no_target",
    "unknown_key",
    "repeated_key",
    "service_excluded",
    "router_unavailable",
    "shutting_down",
    ...TARGET_FAILS,
    "unknown_ask",
    "ask_not_here",
    "unknown_attachment",
    "queue_full",
    "rate_limited",
    "hop_limit",
    "budget_spent",
    "policy_denied",
    "budget_needs_prices",
    ...PROVE_FAILS,
  ],
});
export type OpenAsk = z.output<typeof openAsk.body>;

export const listAsks = contract({
  id: "asks.list",
  method: "GET",
  path: "/asks",
  compressed: true,
  summary: "Asks, newest first",
  access: "caller",
  tunnel: "open",
  query: z.object({
    state: z.enum(askMachine.states).optional(),
    peer_id: z.string().optional(),
    limit: queryInteger(1, 500).optional(),
    cursor: queryInteger().optional(),
  }),
  actor: NO_ACTOR,
  returns: z.object({ asks: z.array(Ask), next: nullableString }),
  fails: ["unknown_peer", "ambiguous_peer"],
});

export const getAsk = contract({
  id: "asks.get",
  method: "GET",
  path: "/asks/:id",
  compressed: true,
  summary: "One ask",
  access: "caller",
  tunnel: "open",
  params: byId,
  returns: Ask,
  fails: ["unknown_ask", "ask_not_here"],
});

export const pendingAsks = contract({
  id: "asks.pending",
  method: "GET",
  path: "/asks/pending",
  summary: "Open asks to or from a peer, oldest first",
  access: "caller",
  tunnel: "open",
  query: z.object({
    peer_id: z.string().optional(),
    pane_id: z.string().optional(),
    tmux_socket: z.string().optional(),
    direction: z.enum(["inbound", "outbound", "both"]).default("inbound"),
  }),
  actor: NO_ACTOR,
  returns: z.object({ asks: z.array(Ask) }),
  fails: ["ambiguous_peer", "no_pane_peer"],
});

/** The result of closing an ask. */
export const Closed = z.object({
  ok: z.literal(true),
  close_reason: CloseReasons.describe("How the ask ended"),
});

/** The result of an answer, which may be held until it is checked. */
export const Answered = Closed.extend({
  close_reason: CloseReasons.nullable().describe(
    "How the ask ended; null while the answer is held, and the ask is open",
  ),
  proof: z.literal("proving").optional().describe(
    "Present if the answer is held until the daemon has checked it",
  ),
});

export const ackAsk = contract({
  id: "asks.ack",
  method: "POST",
  path: "/ack",
  summary: "Acknowledge an ask, or answer it with a message",
  access: "caller",
  tunnel: "open",
  body: z.object({
    correlation_id: z.string().describe("The id of the ask"),
    message: TextOrEmpty.optional().describe(
      "The answer; without it, the ask is only acknowledged",
    ),
    option_id: z.string().max(255).optional().describe("The chosen option, as in `POST /answer`"),
    attachments: AttachmentRefs.optional().describe("Uploaded files, by their ids"),
    claims: GivenClaims,
    from_peer: Sender.optional().describe("The recipient of the ask"),
  }),
  actor: { field: "body.from_peer", otherwise: "recipient" },
  returns: Answered,
  fails: [
    "unknown_ask",
    "ask_not_here",
    "not_the_recipient",
    "already_closed",
    "unknown_attachment",
    "unknown_option",
    "ambiguous_peer",
    "human_not_proven",
    "answer_in_proof",
    "claims_elsewhere",
    "prove_from_relay",
  ],
});
export type AckAsk = z.output<typeof ackAsk.body>;

export const declineAsk = contract({
  id: "asks.decline",
  method: "POST",
  path: "/decline",
  summary: "Close an ask without handling it; the reason goes to the asker",
  access: "caller",
  tunnel: "open",
  body: z.object({
    correlation_id: z.string().describe("The id of the ask"),
    reason: Text.refine((reason) => reason.trim() !== "", "Give a reason that is not blank")
      .describe("Why it is not answered; goes to the asker"),
    from_peer: Sender.optional().describe("The recipient of the ask"),
  }),
  actor: { field: "body.from_peer", otherwise: "recipient" },
  returns: Closed,
  fails: [
    "unknown_ask",
    "ask_not_here",
    "not_the_recipient",
    "already_closed",
    "ambiguous_peer",
    "answer_in_proof",
  ],
});
export type DeclineAsk = z.output<typeof declineAsk.body>;

export const cancelAsk = contract({
  id: "asks.cancel",
  method: "POST",
  path: "/asks/:id/cancel",
  summary: "Cancel an ask; only its asker and the human may",
  access: "caller",
  tunnel: "open",
  params: byId,
  /** `peer_id`: the asker, or the human, whose name both sides then read. */
  body: z.object({ peer_id: z.string(), reason: DisplayText.max(4096).optional() }),
  actor: { field: "body.peer_id" },
  returns: Closed,
  fails: ["unknown_ask", "ask_not_here", "not_the_asker", "already_closed", "ambiguous_peer"],
});

/** The response to a wait that times out. */
export const PENDING: { status: "pending" } = { status: "pending" };

export const Resolution = z.object({
  correlation_id: z.string(),
  status: z.literal("resolved"),
  outcome: Outcome,
  reply: nullableString,
  close_reason: CloseReasons,
  option_id: nullableString,
  reply_attachments: Attachments,
  responder: nullableString,
  closed_at: Instant,
  proof: Proof.optional().describe("The check of the answer; absent if nothing was checked"),
});
export type Resolution = z.output<typeof Resolution>;

export const waitAsk = contract({
  id: "asks.wait",
  method: "POST",
  path: "/asks/:id/wait",
  summary: "Block until the ask is resolved, or report it as pending",
  access: "caller",
  tunnel: "open",
  params: byId,
  body: z.object({
    peer_id: z.string(),
    timeout_seconds: z.number().min(0).default(WAIT_SECONDS)
      .transform((seconds) => Math.min(seconds, WAIT_SECONDS_MAX)),
  }),
  actor: { field: "body.peer_id" },
  returns: z.union([Resolution, z.object({ status: z.literal("pending") })]),
  fails: ["unknown_ask", "ask_not_here", "not_the_asker", "ambiguous_peer", "shutting_down"],
});

/** A closed ask from the point of view of one side (contract 3). */
export const Thread = z.object({
  correlation_id: z.string(),
  role: z.enum(["asker", "recipient"]),
  /** The name of the other side. */
  other: z.string(),
  other_peer_id: nullableString,
  close_reason: CloseReasons,
  opened_at: Instant,
  closed_at: Instant,
});
export type Thread = z.output<typeof Thread>;

/** An unescaped `+` of a UTC offset arrives as a space in a query. */
const QueryInstant = z.preprocess(
  (value) => typeof value === "string" ? value.replace(/ (?=\d\d:?\d\d$)/, "+") : value,
  Instant,
);

export const askHistory = contract({
  id: "asks.history",
  method: "GET",
  path: "/asks/history",
  compressed: true,
  summary: "Closed asks of a peer since an instant, oldest first",
  access: "caller",
  tunnel: "open",
  query: z.object({
    peer_id: z.string().optional(),
    pane_id: z.string().optional(),
    tmux_socket: z.string().optional(),
    since: QueryInstant,
  }).refine(({ peer_id, pane_id }) => (peer_id === undefined) !== (pane_id === undefined), {
    message: "Give exactly one of peer_id and pane_id",
  }),
  actor: NO_ACTOR,
  returns: z.object({ threads: z.array(Thread), mesh_session_id: nullableString }),
  fails: ["unknown_peer", "ambiguous_peer", "no_pane_peer"],
});
