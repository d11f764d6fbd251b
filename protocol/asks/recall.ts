/** The route of earlier questions that are similar to a new one. */

import * as z from "zod";
import { contract, nullableString } from "protocol/contract.ts";
import { Instant, Name, QueryFlag, Sender } from "kit/core/schema.ts";

/** Maximum earlier asks in one answer. */
export const RECALLED_MAX = 3;
/** Maximum length of a question to compare. */
export const QUESTION_CHARS_MAX = 2_000;

/** A file that a question or its answer names. */
const NamedFile = z.object({
  /** As the text names it. */
  path: z.string(),
  /** Its state now, compared with the time of the answer. */
  state: z.enum(["changed", "unchanged", "missing"]),
  changed_at: Instant.nullable(),
});
export type NamedFile = z.output<typeof NamedFile>;

export const RecalledAsk = z.object({
  correlation_id: z.string(),
  from_peer_name: z.string(),
  to_peer_name: z.string(),
  responder: nullableString,
  /** True if nothing proves who answered. */
  unverified: z.boolean(),
  question: z.string(),
  answer: z.string(),
  asked_at: Instant,
  answered_at: Instant,
  age_seconds: z.number().int(),
  files: z.array(NamedFile),
}).meta({ id: "RecalledAsk" });
export type RecalledAsk = z.output<typeof RecalledAsk>;

export const recall = contract({
  id: "asks.recall",
  method: "GET",
  path: "/recall",
  summary: "Answered asks of a project that are similar to a question; never from another circle",
  access: "caller",
  tunnel: "open",
  query: z.object({
    q: z.string().trim().min(1).max(QUESTION_CHARS_MAX).describe("The question, or words of it"),
    from_peer: Sender.optional().describe("The asker, whose circle and project are searched"),
    circle: Name.optional().describe("Without an asker: the circle to search (default)"),
    path: z.string().startsWith("/").max(4_096).optional().describe(
      "Without an asker: a folder of the project to search",
    ),
    same: QueryFlag.optional().describe(
      "Only questions that ask the same, not all that have the words",
    ),
  }),
  actor: { field: "query.from_peer" },
  returns: z.object({
    circle: z.string(),
    /** The folder of the project; null for all projects of the circle. */
    project: nullableString,
    /** True if the configuration switches this off for the circle. */
    off: z.boolean(),
    /** The most similar first. */
    matches: z.array(RecalledAsk),
  }),
  fails: ["unknown_peer", "ambiguous_peer"],
});
