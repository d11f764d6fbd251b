/** The route that follows a line of a file back to what began the work that wrote it. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { contract, nullableString } from "protocol/contract.ts";
import { Instant, queryInteger, Sender } from "kit/core/schema.ts";
import { CHANGES_STATES } from "protocol/changes.ts";

/** Maximum lines of one request. */
export const BLAMED_LINES_MAX = 500;
const PATH_CHARS_MAX = 4_096;

export const EVIDENCE = ["git", "reported", "recorded", "inferred", "claimed", "unknown"] as const;

/** One step from a line towards its beginning. */
export const BlameLink = z.object({
  kind: z.enum([
    "commit",
    "uncommitted",
    "trailer",
    "note",
    "agent",
    "message",
    "approval",
    "job",
    "check",
    "origin",
    "gap",
  ]),
  how: z.enum(EVIDENCE).describe(
    "How it is known. `git`: git says so; `reported`: the agent's hook or its session file reports " +
      "it; `recorded`: this " +
      "daemon recorded it; `inferred`: from times alone; `claimed`: a text in the repository, which " +
      "anybody could have written; `unknown`: the link is missing, and `text` says which",
  ),
  id: nullableString,
  name: nullableString,
  at: Instant.nullable(),
  text: z.string(),
});
export type BlameLink = z.output<typeof BlameLink>;

/** Lines that follow each other and come from the same commit. */
export const BlamedLines = z.object({
  first: z.number().int(),
  last: z.number().int(),
  links: z.array(BlameLink),
});
export type BlamedLines = z.output<typeof BlamedLines>;

export const blameLines = contract({
  id: "blame.lines",
  method: "GET",
  path: "/blame",
  summary: "Where lines of a file came from: commit, agent, message, and what began that work",
  access: "caller",
  tunnel: "admin",
  query: z.object({
    path: z.string().min(1).max(PATH_CHARS_MAX).describe("The absolute path of the file"),
    first: queryInteger(1).describe("The first line"),
    last: queryInteger(1).optional().describe(
      `The last line; at most ${BLAMED_LINES_MAX} lines are read`,
    ),
    from_peer: Sender.optional().describe("The agent that asks"),
  }),
  actor: NO_ACTOR,
  returns: z.object({
    path: z.string(),
    root: nullableString,
    file: z.string().describe("The path within the repository"),
    state: z.enum([...CHANGES_STATES, "no_file", "no_line"]).describe(
      "`ok`, or the reason why nothing can be read",
    ),
    detail: nullableString,
    lines: z.array(BlamedLines),
  }),
  fails: ["human_not_proven", "not_your_files"],
});
export type Blame = z.output<typeof blameLines.returns>;
export type BlameQuery = z.output<typeof blameLines.query>;
