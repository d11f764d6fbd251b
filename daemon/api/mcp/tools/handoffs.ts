/** The tool by which an agent hands its own work over. */

import * as z from "zod";
import { shortText } from "kit/core/schema.ts";
import {
  handOff,
  Manifest,
  NAMED_FILES_MAX,
  NOTE_CHARS_MAX,
  TURNS_DEFAULT,
  TURNS_MAX,
} from "protocol/handoffs.ts";
import { SEND_HINTS, type Tool, tool } from "../tool.ts";
import { circle, idempotency_key, idempotencyHeaders, maybe, mustBePeer, peer } from "./fields.ts";

const handOffTool = tool({
  name: "hand_off",
  title: "Hand your work over",
  description:
    "Hand your own work over to another peer: sends it a file with your last turns, your open " +
    "asks, the names of the files you touched, and your note. Use it when the user wants another " +
    "agent to go on with your work, or when it is the better one for the rest. Do not use it to " +
    "ask a question (ask) or to report a result (notify). Secrets are masked. Your open asks stay " +
    "with you: answer or decline them yourself. The result says what was left out.",
  hints: SEND_HINTS,
  input: z.object({
    peer,
    circle,
    note: shortText(NOTE_CHARS_MAX).describe("What the recipient must know, and what to do next"),
    last: z.number().int().min(1).max(TURNS_MAX).default(TURNS_DEFAULT)
      .describe("How many of your turns"),
    files: z.array(shortText(1_024, 1)).max(NAMED_FILES_MAX).optional()
      .describe("Files to name besides those that your tools edited or that git sees changed"),
    ask: z.boolean().optional().describe("Send an ask, so that it says whether it takes it over"),
    idempotency_key,
  }),
  output: z.object({
    attachment_id: z.string(),
    delivery_id: z.string(),
    correlation_id: maybe,
    delivery_state: z.string(),
    counts: Manifest.shape.counts,
    left_out: Manifest.shape.left_out,
  }),
  async run({ peer: to_peer, idempotency_key, ...fields }, { caller, call }) {
    const from_peer = mustBePeer(caller, "only a peer has work to hand over");
    const headers = idempotencyHeaders(idempotency_key);
    const sent = await call(handOff, { body: { ...fields, from_peer, to_peer }, headers });
    const { manifest: { counts, left_out, to }, delivery_state, attachment_id } = sent;
    const missing = left_out.map(({ what, why }) => `Left out: ${what}, because ${why}.`);
    const text = [
      `Handed ${counts.turns} turns and the names of ${counts.files} files over to @${to.name} ` +
      `(${attachment_id}, ${delivery_state}).`,
      ...missing,
    ];
    return { text: text.join("\n"), data: { ...sent, counts, left_out } };
  },
});

export const HANDOFF_TOOLS: readonly Tool[] = [handOffTool];
