/** The route that tells who read and wrote a file, as data. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { Instant, Sender } from "kit/core/schema.ts";
import { contract, nullableString } from "protocol/contract.ts";

/** The choices for files that several agents write: each of them gets a message, or nobody. */
export const OVERLAPS = ["tell", "off"] as const;

const PATH_CHARS_MAX = 4_096;

export const FileUse = z.object({
  peer_id: z.string(),
  name: z.string(),
  status: z.string(),
  /** True if it wrote the file, false if it read it. */
  wrote: z.boolean(),
  /** The root of the repository, or of its work tree, in which it did; null outside of one. */
  root: nullableString,
  first_at: Instant,
  last_at: Instant,
  times: z.number().int(),
  /** The first line of the oldest ask to the peer; null for peers of other circles. */
  task: nullableString,
}).meta({ id: "FileUse" });
export type FileUse = z.output<typeof FileUse>;

export const whoUsesFile = contract({
  id: "files.who",
  method: "GET",
  path: "/files",
  summary: "Who read and wrote a file, in any work tree of its repository, as agents recorded it",
  access: "caller",
  tunnel: "never",
  query: z.object({
    path: z.string().max(PATH_CHARS_MAX).regex(/^\//, "an absolute path")
      .describe("The absolute path of the file, which need not exist"),
    from_peer: Sender.optional(),
  }),
  actor: NO_ACTOR,
  returns: z.object({
    path: z.string(),
    /** The root of the repository or work tree; null outside of one. */
    root: nullableString,
    /** The path from there. */
    file: z.string(),
    /** The last use first. */
    uses: z.array(FileUse),
  }),
  fails: ["human_not_proven", "not_your_files", "transcripts_off"],
});
