/** Routes of an agent's record of its session: the conversation and the tokens. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { contract } from "protocol/contract.ts";
import { Instant, queryInteger, Sender } from "kit/core/schema.ts";
import { USAGE_BY, USAGE_DAYS_DEFAULT, USAGE_DAYS_MAX, UsageReport } from "protocol/usage.ts";
import { onePeer, PEER_FAILS } from "protocol/peers/record.ts";

/** Readers of transcripts: the values of the setting `transcripts`. */
export const READERS = ["human", "peers", "off"] as const;
export type Readers = typeof READERS[number];

/** Maximum number of entries in one answer. */
export const ENTRIES_MAX = 200;
const ENTRIES_DEFAULT = 20;
/** Maximum length of a text to search for. */
const GREP_CHARS_MAX = 200;

export const EntryKind = z.enum(["prompt", "text", "tool_call", "tool_result"]);

export const TranscriptEntry = z.object({
  /** Grows within a session; for `before` and `after`. */
  position: z.number().int(),
  /** When the agent recorded it; null if its record does not say. */
  at: Instant.nullable(),
  kind: EntryKind,
  /** The tool that was called; null for a prompt or a text, or if it is not recorded. */
  tool: z.string().nullable(),
  /** The id that a call and its result share; null if it is not recorded. */
  call: z.string().nullable(),
  /** The end of the call that a result belongs to; null for other entries. */
  outcome: z.enum(["ok", "failed", "denied", "interrupted"]).nullable(),
  /** With secrets masked. Shortened if `chars` is larger. */
  text: z.string(),
  /** Length of the whole text, with its secrets masked. */
  chars: z.number().int(),
  /** Number of secrets masked in it. */
  masked: z.number().int(),
}).meta({ id: "TranscriptEntry" });
export type TranscriptEntry = z.output<typeof TranscriptEntry>;

const Flag = z.enum(["true", "false"]).transform((text) => text === "true");
const Position = queryInteger(0);

export const readTranscript = contract({
  id: "transcripts.read",
  method: "GET",
  path: "/peers/:id/transcript",
  summary:
    "What a peer's agent recorded of its session; for those whom the setting transcripts allows",
  ...onePeer,
  tunnel: "never",
  query: onePeer.query.extend({
    last: queryInteger(1, ENTRIES_MAX).default(ENTRIES_DEFAULT)
      .describe("How many entries, from the end"),
    grep: z.string().min(1).max(GREP_CHARS_MAX).optional()
      .describe("Only entries that contain this text, in any case; a masked secret is not found"),
    before: Position.optional().describe("Only entries before this position"),
    after: Position.optional().describe("Only entries after this position"),
    full: Flag.optional().describe("Shorten long texts less"),
  }),
  actor: NO_ACTOR,
  returns: z.object({
    peer_id: z.string(),
    name: z.string(),
    backend: z.string(),
    session_id: z.string(),
    /** Oldest first. */
    entries: z.array(TranscriptEntry),
    /**
     * The position to give as `before` for earlier entries; null if there are none. A request reads
     * a limited part of the file, so it may find fewer than `last` although there are more.
     */
    before: z.number().int().nullable(),
    /** True if the file has earlier entries that no request reaches; `before` is null then. */
    cut: z.boolean(),
  }),
  fails: [
    "transcripts_off",
    "human_not_proven",
    "not_your_transcript",
    "no_transcript",
    ...PEER_FAILS,
    "other_host",
  ],
});
export type Transcript = z.output<typeof readTranscript.returns>;
export type TranscriptQuery = z.output<typeof readTranscript.query>;

const Count = z.number().int().nullable();

/** Null where the agent records nothing, or where it is too long ago to be read. */
export const Tokens = z.object({
  /** All input of the session so far, with the cached part. */
  input_tokens: Count,
  output_tokens: Count,
  /** The part of the input that came from a cache. */
  cached_tokens: Count,
  /** The input of the last request: how full the context was. */
  context_tokens: Count,
  /** Maximum size of the context, if the agent records it. */
  context_limit: Count,
  model: z.string().nullable(),
}).meta({ id: "Tokens" });

export const PeerUsage = z.object({
  peer_id: z.string(),
  name: z.string(),
  backend: z.string().nullable(),
  session_id: z.string().nullable(),
  /** Null if nothing is recorded; `reason` says why. */
  usage: Tokens.nullable(),
  reason: z.string().nullable(),
}).meta({ id: "PeerUsage" });
export type PeerUsage = z.output<typeof PeerUsage>;

/** Why a caller cannot read the transcript, as `GET /peers/{id}/transcript` would refuse it. */
const Refusal = z.object({ error: z.string(), detail: z.string() });

export const getUsage = contract({
  id: "transcripts.usage",
  method: "GET",
  path: "/peers/:id/usage",
  summary:
    "The tokens of a session, for a person and the peer itself; and whether they may read it",
  ...onePeer,
  tunnel: "open",
  returns: PeerUsage.extend({
    /** Null if the caller may read the transcript. */
    transcript_refusal: Refusal.nullable(),
  }),
  fails: [
    ...PEER_FAILS,
    "other_host",
    "human_not_proven",
    "not_your_transcript",
    "transcripts_off",
  ],
});
export type UsageOfPeer = z.output<typeof getUsage.returns>;

export const listUsage = contract({
  id: "transcripts.usage_list",
  method: "GET",
  path: "/usage",
  compressed: true,
  summary:
    "The tokens and the context of each live agent of this machine; with `by`, the tokens of days",
  access: "caller",
  tunnel: "open",
  query: z.object({
    from_peer: Sender.optional(),
    by: z.enum(USAGE_BY).optional()
      .describe("Sums by day, agent, model, job or chain of messages, in place of the sessions"),
    peer: z.string().optional().describe("Only the sums of this peer, by its name or its id"),
    from: z.iso.date().optional().describe("First day of the sums"),
    to: z.iso.date().optional().describe("Last day of the sums; today"),
    days: queryInteger(1, USAGE_DAYS_MAX).default(USAGE_DAYS_DEFAULT)
      .describe("Number of days of the sums, if `from` is absent"),
  }),
  actor: NO_ACTOR,
  returns: z.union([
    UsageReport,
    z.object({
      usage: z.array(PeerUsage)
        .describe("Without sessions and numbers that the caller may not know"),
    }),
  ]),
  fails: [...PEER_FAILS],
});
