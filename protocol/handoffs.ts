/** The hand-over of a peer's work, as data: its manifest, and the routes that make one. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";
import { Instant, Name, Sender, shortText } from "kit/core/schema.ts";
import { Backend } from "protocol/agents/contract.ts";
import { onePeer, Restart } from "protocol/peers/record.ts";
import { DeliveryState, TARGET_FAILS } from "protocol/messages/contract.ts";

/** Default and maximum number of turns in a hand-over. */
export const TURNS_DEFAULT = 10;
export const TURNS_MAX = 50;
export const NOTE_CHARS_MAX = 8_000;
/** Maximum number of files that the sender may name. */
export const NAMED_FILES_MAX = 50;

const turnCount = z.number().int().min(1).max(TURNS_MAX).default(TURNS_DEFAULT)
  .describe("How many turns, from the end");
const note = shortText(NOTE_CHARS_MAX).optional()
  .describe("What the sender adds in its own words");

/** Contents of a bundle, and what is missing. The manifest is the first thing in the bundle. */
export const Manifest = z.object({
  /** The version of this form. */
  handoff: z.literal(1),
  from: z.object({
    peer_id: z.string(),
    name: z.string(),
    backend: Backend.nullable(),
    circle: z.string(),
    folder: z.string().nullable(),
    /** The agent's own id of its session; null if it is not known. */
    session_id: z.string().nullable(),
  }),
  to: z.object({ peer_id: z.string(), name: z.string() }),
  made_at: Instant,
  counts: z.object({
    turns: z.number().int(),
    entries: z.number().int(),
    open_asks_to: z.number().int(),
    open_asks_from: z.number().int(),
    files: z.number().int(),
    masked_secrets: z.number().int(),
  }),
  /** Missing parts, and why. Empty if nothing is known to be missing. */
  left_out: z.array(z.object({ what: z.string(), why: z.string() })),
}).meta({ id: "HandoffManifest" });
export type Manifest = z.output<typeof Manifest>;

export const handOff = contract({
  id: "handoffs.send",
  method: "POST",
  path: "/handoffs",
  summary: "Hand a peer's work over: its last turns, open asks and files, as a file with a message",
  access: "caller",
  tunnel: "admin",
  idempotent: true,
  body: z.object({
    from_peer: Sender.describe("The sender: a peer's id or name"),
    to_peer: z.string().describe("Who takes the work over: a peer's id or name"),
    of_peer: z.string().optional().describe(
      "Whose work it is, by default the sender's; only a person hands over another's",
    ),
    last: turnCount,
    note,
    files: z.array(shortText(1_024, 1)).max(NAMED_FILES_MAX).default([])
      .describe("Files to name besides those that were found; only their names are handed over"),
    ask: z.boolean().default(false).describe("Sends an ask, which the other acks or declines"),
    circle: Name.optional().describe("Look up the names in this circle only"),
  }),
  verb: "handoffs",
  actor: { field: "body.from_peer" },
  returns: z.object({
    ok: z.literal(true),
    /** The file, which the message carries. */
    attachment_id: z.string(),
    manifest: Manifest,
    kind: z.enum(["notify", "ask"]),
    delivery_id: z.string(),
    /** The id of the ask; null for a notification. */
    correlation_id: z.string().nullable(),
    delivery_state: DeliveryState,
  }),
  fails: [
    ...TARGET_FAILS,
    "peer_elsewhere",
    "not_your_work",
    "not_your_transcript",
    "attachment_too_large",
    "attachments_full",
    "too_many_uploads",
    "unknown_attachment",
    "queue_full",
    "rate_limited",
    "hop_limit",
    "budget_spent",
    "policy_denied",
    "storage_failed",
  ],
});
export type HandoffRequest = z.output<typeof handOff.body>;
export type HandedOff = z.output<typeof handOff.returns>;

export const switchPeer = contract({
  id: "handoffs.switch",
  method: "POST",
  path: "/peers/:id/switch",
  summary: "Put another agent in a peer's place: same pane, name and asks, with a hand-over",
  access: "caller",
  tunnel: "admin",
  params: onePeer.params,
  body: z.object({
    backend: Backend,
    profile: Name.optional(),
    last: turnCount,
    note,
    dry_run: z.boolean().default(false),
    wait: z.boolean().default(true),
    force: z.boolean().default(false).describe(
      "Also if the present session cannot be resumed after a failure",
    ),
    circle: Name.optional(),
    from_peer: Sender.optional(),
  }),
  verb: "handoffs",
  actor: { field: "body.from_peer" },
  returns: Restart.extend({
    peer_id: z.string(),
    from_backend: Backend.nullable(),
    to_backend: Backend,
    /** The hand-over; null if none was made, or not yet. */
    attachment_id: z.string().nullable(),
    /** Parts that the hand-over lacks, and why. */
    left_out: Manifest.shape.left_out,
    /** Way to bring back the earlier session; null if it goes on, or is unknown. */
    way_back: z.string().nullable(),
  }),
  fails: [
    "unknown_peer",
    "ambiguous_peer",
    "peer_elsewhere",
    "same_backend",
    "spawn_disabled",
    "policy_denied",
  ],
});
export type SwitchRequest = z.output<typeof switchPeer.body>;
export type SwitchResult = z.output<typeof switchPeer.returns>;
