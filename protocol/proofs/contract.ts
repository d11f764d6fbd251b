/** Schemas of proofs: which checks an answer must pass, and what they found. */

import * as z from "zod";
import { Instant, Name } from "kit/core/schema.ts";
import { cleanText } from "kit/core/text.ts";
import { CLAIM_CHARS_MAX, CLAIMS_MAX } from "protocol/proofs/claims.ts";
import { proofMachine } from "protocol/proofs/states.ts";

export const PROVE_MAX = 16;
const REASON_CHARS_MAX = 5_000;
const OUTPUT_CHARS_MAX = 10_000;

export const GivenProve = z.array(Name).min(1).max(PROVE_MAX).optional().describe(
  "Names of jobs.checks. The answer is held until these checks have run in the recipient's folder",
);

/** `unknown`: it could not be decided, and nothing is said about it. */
export const ProofOutcome = z.enum(["verified", "refuted", "unknown"]);

/** The finding of the daemon on one check or one claim. */
export const ProofResult = z.object({
  kind: z.enum(["check", "claim"]),
  name: z.string().describe("The name of the check, or the claim itself"),
  outcome: ProofOutcome,
  reason: z.string().describe("A sentence: why it has this outcome"),
  output: z.string().describe("The end of a check's output: text of programs in the folder"),
  changed: z.boolean().nullable().describe(
    "Whether files that define the check differ from those at the time of the ask; null if that " +
      "is not known, and for claims",
  ),
  changed_files: z.array(z.string()).describe("Those files, at most 20"),
});
export type ProofResult = z.output<typeof ProofResult>;

export const ProofStates = z.enum(proofMachine.states);

/** The proof of an answer. */
export const Proof = z.object({
  state: ProofStates.describe(
    "`awaiting` an answer; `proving`: the answer is held while it is checked; `returned`: refuted, " +
      "and back at its author; `verified`, `refuted`, `unproved`: the asker has the answer; " +
      "`withdrawn`: the ask ended otherwise",
  ),
  checks: z.array(z.string()),
  claims: z.array(z.string()),
  machine: z.string().nullable().describe(
    "The other machine that runs the checks, on whose word the outcome rests; null for this one",
  ),
  folder: z.string().nullable().describe("The recipient's folder, in which the checks run"),
  answers: z.number().int().describe("Number of answers that were given"),
  reason: z.string().nullable().describe("What the outcome rests on; null before one"),
  undelivered: z.string().nullable().describe(
    "The text of an answer that was held when the ask ended otherwise",
  ),
  results: z.array(ProofResult).describe("The findings on the last answer that was checked"),
  created_at: Instant,
  answered_at: Instant.nullable(),
  ended_at: Instant.nullable(),
}).meta({ id: "Proof" });
export type Proof = z.output<typeof Proof>;

/** The part of a message on a proof: of an ask the checks to come, of an ack the outcome. */
export const MessageProof = z.object({
  state: ProofStates,
  /** A line of the daemon. */
  note: z.string(),
  checks: z.array(z.string()),
  results: z.array(ProofResult),
});
export type MessageProof = z.output<typeof MessageProof>;

/** The findings of another machine on an answer, bounded and without control characters. */
export const ReportedProof = z.object({
  answers: z.number().int().min(0),
  claims: z.array(z.string().max(CLAIM_CHARS_MAX).transform(cleanText)).max(CLAIMS_MAX),
  results: z.array(ProofResult.extend({
    name: z.string().max(CLAIM_CHARS_MAX).transform(cleanText),
    reason: z.string().max(REASON_CHARS_MAX).transform(cleanText),
    output: z.string().max(OUTPUT_CHARS_MAX).transform(cleanText),
    changed_files: z.array(z.string().max(REASON_CHARS_MAX).transform(cleanText)).max(20),
  })).max(PROVE_MAX + CLAIMS_MAX),
});
export type ReportedProof = z.output<typeof ReportedProof>;

/** The answers of a peer that were checked. It decides nothing. */
export const ProofRecord = z.object({
  verified: z.number().int(),
  refuted: z.number().int(),
  unproved: z.number().int(),
  sent_back: z.number().int().describe("Answers that were refuted at first"),
}).describe("Outcomes of its answers that were checked, in the time for which history is kept");
export type ProofRecord = z.output<typeof ProofRecord>;
