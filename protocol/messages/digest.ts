/** The route of the digest: what happened in a period, and what waits for the human. */

import * as z from "zod";
import { contract, nullableString } from "protocol/contract.ts";
import { Instant, Name, queryInteger } from "kit/core/schema.ts";

/** Maximum entries of each list. */
const ENTRIES_MAX = 500;
const ENTRIES_DEFAULT = 50;

/** An ask that was closed in the period. Texts are cut to their first line. */
const DigestAsk = z.object({
  correlation_id: z.string(),
  from_peer_name: z.string(),
  to_peer_name: z.string(),
  circle: nullableString,
  question: z.string(),
  outcome: z.string(),
  answer: nullableString,
  responder: nullableString,
  closed_at: Instant,
});

const DigestJob = z.object({
  job_id: z.string(),
  title: z.string(),
  state: z.string(),
  state_reason: nullableString,
  circle: nullableString,
  /** The exit codes of its checks, in their order; null for a check that did not end. */
  checks: z.array(z.object({ name: z.string(), exit: z.number().nullable() })),
  result: nullableString,
  ended_at: Instant,
});

const DigestLimit = z.object({
  /** The type of its event: `limit_changed`, `limit_storm`, `budget` or `looping`. */
  event: z.string(),
  peer_id: nullableString,
  peer_name: nullableString,
  /** The subject of a budget, such as an ask's id; null for peers. */
  subject: nullableString,
  /** Such as `throttled`, `budget spent` or `repeats its calls`. */
  reason: nullableString,
  at: Instant,
});

const DigestItem = z.object({
  item_id: z.string(),
  kind: z.enum(["ask", "notify"]),
  from: z.string(),
  correlation_id: nullableString,
  text: z.string(),
  created_at: Instant,
});

const count = z.number().int();

export const Digest = z.object({
  since: Instant,
  until: Instant,
  /** Null for all circles. */
  circle: nullableString,
  /** The decisions of the human, newest first. */
  decisions: z.array(DigestAsk),
  /** The answers of agents to each other and the human, newest first. */
  answers: z.array(DigestAsk),
  /** The jobs that ended, with the results of their checks, newest first. */
  checks: z.array(DigestJob),
  /** The limits that agents have met, spent budgets and loops, newest first. */
  limits: z.array(DigestLimit),
  /** Items that wait for the human now: open asks, then unread notifications. */
  waiting: z.array(DigestItem),
  /** The number of each; a list may be shorter. */
  counts: z.object({
    decisions: count,
    answers: count,
    checks: count,
    limits: count,
    waiting: count,
  }),
}).meta({ id: "Digest" });
export type Digest = z.output<typeof Digest>;

export const getDigest = contract({
  id: "digest.get",
  method: "GET",
  path: "/digest",
  compressed: true,
  summary:
    "Decisions, answers, ended jobs with their checks, limits, budgets and loops; what waits",
  access: "caller",
  tunnel: "open",
  query: z.object({
    since: z.string().max(64).default("24h")
      .describe("A time with its offset, or a duration before now, such as 8h"),
    until: z.string().max(64).optional().describe("In the same forms; by default now"),
    circle: Name.optional().describe("Only this circle"),
    limit: queryInteger(1, ENTRIES_MAX).default(ENTRIES_DEFAULT)
      .describe("Maximum entries of each list"),
  }),
  returns: Digest,
});
