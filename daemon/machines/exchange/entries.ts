/** Reports between machines about messages: the bodies of link entries, checked on arrival. */

import * as z from "zod";
import { Milliseconds, Name, Sender, Text, TextOrEmpty } from "kit/core/schema.ts";
import { cleanLine } from "kit/core/text.ts";
import { readTrace } from "kit/http/traceparent.ts";
import { CloseReasons, Outcome, TypedAnswer } from "protocol/asks/contract.ts";
import { PROVE_MAX, ReportedProof } from "protocol/proofs/contract.ts";
import { ReportedChain } from "protocol/origins/record.ts";
import { Question } from "protocol/messages/question.ts";
import { peerId } from "../../features/peers/remote/schemas.ts";
import { AuthorKind } from "protocol/peers/record.ts";
import { SentFiles } from "../files/sent_files.ts";

const Id = z.string().min(1).max(255);
/** A code, or an agent's text; shown to people and to other agents as one line. */
const Line = z.string().max(1000).transform(cleanLine);

/** Digest of the message's content: a report about another message with this id is ignored. */
const Digest = z.string().max(255).optional();

/** A message to a peer of the receiving machine. Ids are those of its origin. */
export const MessageEntry = z.object({
  delivery_id: Id,
  kind: z.enum(["ask", "notify", "broadcast"]),
  correlation_id: Id.nullable(),
  /** The name is without its machine, which the receiver knows from the connection. */
  from: z.object({ peer_id: peerId().nullable(), name: Sender, circle: Name.nullable() }),
  to_peer_id: peerId(),
  voice: AuthorKind,
  /** Absent from machines that do not know it. */
  urgent: z.boolean().optional(),
  /** Absent from machines that do not know it. */
  chain: ReportedChain.optional().catch(undefined),
  /** The checks of its answer. Absent without any, and from machines that do not know it. */
  prove: z.array(Name).min(1).max(PROVE_MAX).optional(),
  text: Text,
  circle: Name.nullable(),
  question: Question.nullable(),
  /** The ask that this ask follows up on: the machine where it began, and its id there. */
  reply_to: z.object({ sent: z.boolean(), correlation_id: Id }).nullable(),
  hops: z.number().int().min(0),
  attachments: SentFiles,
  /** A malformed traceparent is ignored, as in requests. */
  traceparent: z.string().max(255).transform(readTrace),
  created_at: Milliseconds,
  /** Null for an ask, which waits as long as it is open. */
  expires_at: Milliseconds.nullable(),
});
export type MessageEntry = z.output<typeof MessageEntry>;

/** State of a message at the machine of its recipient, by the clock of that machine. */
export const StepEntry = z.object({
  delivery_id: Id,
  digest: Digest,
  state: z.enum(["accepted", "seen", "failed", "expired", "dropped"]),
  reason: Line.nullable(),
  transport: Line.nullable(),
  attempted_at: Milliseconds.nullable(),
  sent_at: Milliseconds.nullable(),
  accepted_at: Milliseconds.nullable(),
  seen_at: Milliseconds.nullable(),
  at: Milliseconds,
});
export type StepEntry = z.output<typeof StepEntry>;

/** An ask was closed. `sent`: whether the machine that reports it is the origin of the ask. */
export const ClosedEntry = z.object({
  sent: z.boolean(),
  correlation_id: Id,
  /** The id of the delivery: unique, unlike the id of an ask, which an asker may choose twice. */
  delivery_id: Id.optional(),
  digest: Digest,
  /** True for a repeated report: the other machine may have lost the first report. */
  again: z.boolean().optional(),
  close_reason: CloseReasons,
  outcome: Outcome,
  reply: TextOrEmpty.nullable(),
  answer: TypedAnswer.nullable(),
  responder: z.string().max(1000).nullable(),
  voice: AuthorKind.nullable(),
  attachments: SentFiles,
  /** Absent from machines that checked nothing; a malformed one proves nothing. */
  proof: ReportedProof.optional().catch(undefined),
  at: Milliseconds,
});
export type ClosedEntry = z.output<typeof ClosedEntry>;

/** An answer came after its ask was closed at the origin, so that the asker never gets it. */
export const LateEntry = z.object({
  correlation_id: Id,
  delivery_id: Id.optional(),
  digest: Digest,
  close_reason: CloseReasons.nullable(),
});
export type LateEntry = z.output<typeof LateEntry>;
