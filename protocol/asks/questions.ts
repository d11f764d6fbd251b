/** Schemas and routes of structured questions: typed answers, blocking questions, `/query`. */

import * as z from "zod";
import { contract, nullableString } from "protocol/contract.ts";
import { Name, Sender, Text } from "kit/core/schema.ts";
import { AttachmentRefs } from "protocol/messages/attachments.ts";
import { TARGET_FAILS } from "protocol/messages/contract.ts";
import { GivenMetadata } from "protocol/peers/record.ts";
import { CloseReasons, GivenOptions, Origin, Outcome } from "protocol/asks/contract.ts";

/** The default timeout of a blocking request (contract 3). */
const BLOCKING_SECONDS = 45;
const QUERY_SECONDS_MAX = 55;

export const answerAsk = contract({
  id: "asks.answer",
  method: "POST",
  path: "/answer",
  summary: "Record a typed answer to a structured question; the first valid one wins",
  access: "caller",
  tunnel: "open",
  body: z.object({
    correlation_id: z.string().describe("The id of the ask"),
    option_id: z.string().min(1).max(255).optional().describe("The chosen option"),
    text: Text.optional().describe("The answer to a question that takes a text"),
    outcome: z.enum(["answered", "acknowledged", "denied", "declined", "cancelled"]).optional()
      .describe("How the question ends; by default it follows from the option or the text"),
    message: Text.optional().describe("A remark in addition to the answer"),
    attachments: AttachmentRefs.optional().describe("Uploaded files, by their ids"),
    from_peer: Sender.optional().describe("The recipient of the ask"),
  }),
  actor: { field: "body.from_peer", otherwise: "recipient" },
  returns: z.object({
    ok: z.literal(true),
    close_reason: CloseReasons.describe("How the ask ended"),
    outcome: Outcome.describe("The same, in the words of structured questions"),
  }),
  fails: [
    "unknown_ask",
    "ask_not_here",
    "unknown_attachment",
    "not_the_recipient",
    "not_a_question",
    "already_closed",
    "unknown_option",
    "ambiguous_peer",
    "human_not_proven",
  ],
});
export type AnswerAsk = z.output<typeof answerAsk.body>;

/**
 * An id that the asker chose. It must fit into a path and must not look like the id of another
 * record.
 */
const ChosenId = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/,
  "Use 1 to 128 letters, digits, dots, underscores, colons, at signs or hyphens",
).regex(
  /^(?!(?:qd|notif|askm|inb)-|(?:pending|history|many)$)/,
  "This id is reserved for other records",
);

export const askBlocking = contract({
  id: "questions.ask_blocking",
  method: "POST",
  path: "/questions/ask-blocking",
  summary: "Ask the human a question, and hold the connection until it is answered or denied",
  access: "caller",
  tunnel: "never",
  body: z.object({
    prompt: Text,
    options: GivenOptions.default([]),
    scope: z.string().min(1).max(255),
    /** Clamped to `approvals.timeout_seconds`. */
    timeout_seconds: z.number().min(0).default(BLOCKING_SECONDS),
    correlation_id: ChosenId.optional(),
    origin: Origin.optional(),
    from_peer: Sender.default("cli"),
    metadata: GivenMetadata.optional(),
  }).refine(({ scope, options }) => scope !== "tool_permission" || options.length > 0, {
    path: ["options"],
    message: "A tool permission needs options",
  }).meta({
    allOf: [{
      anyOf: [
        { properties: { scope: { not: { const: "tool_permission" } } } },
        { required: ["options"], properties: { options: { type: "array", minItems: 1 } } },
      ],
    }],
  }),
  actor: { field: "body.from_peer" },
  returns: z.object({
    correlation_id: z.string(),
    outcome: Outcome,
    option_id: nullableString,
    /** The text given in addition to the option, or the reason why there is no answer. */
    message: nullableString,
  }),
  fails: [
    "ambiguous_peer",
    "to_self",
    "not_the_asker",
    "correlation_taken",
    "shutting_down",
    "stored_then_failed",
  ],
});
export type AskBlocking = z.output<typeof askBlocking.body>;
export type Verdict = z.output<typeof askBlocking.returns>;

export const queryPeer = contract({
  id: "asks.query",
  method: "POST",
  path: "/query",
  summary: "Ask a peer for a text and wait for it (legacy blocking route)",
  access: "caller",
  tunnel: "never",
  body: z.object({
    from_peer: Sender.default("cli"),
    to_peer: z.string().nullable(),
    text: Text,
    timeout_seconds: z.number().min(0).default(BLOCKING_SECONDS)
      .transform((seconds) => Math.min(seconds, QUERY_SECONDS_MAX)),
    circle: Name.optional(),
  }),
  actor: { field: "body.from_peer" },
  returns: z.object({
    text: nullableString,
    /** One sentence that says why there is no text. */
    error: nullableString,
    status: z.enum(["answered", "acked", "declined", "timed_out", "offline", "closed"]),
  }),
  fails: [
    ...TARGET_FAILS,
    "queue_full",
    "budget_spent",
    "policy_denied",
    "shutting_down",
    "stored_then_failed",
  ],
});
export type Query = z.output<typeof queryPeer.body>;
export type QueryResult = z.output<typeof queryPeer.returns>;
