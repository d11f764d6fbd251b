/** The result of an ask for its asker: as text for a model, and as data. */

import * as z from "zod";
import { ApiError, type Call, type WireResponse } from "kit/http/client.ts";
import { getAsk, waitAsk } from "protocol/asks/contract.ts";
import { toTag } from "protocol/messages/attachments.ts";
import { holdSentence } from "protocol/derived/holds.ts";
import { findingTag } from "../../../features/messages/framing.ts";
import { proofSentence } from "protocol/derived/proofs.ts";
import { Proof } from "protocol/proofs/contract.ts";
import { quotedName } from "protocol/messages/frame_markers.ts";
import { getPeer } from "protocol/peers/contract.ts";
import type { ToolContext } from "../tool.ts";
import type { McpCaller } from "../identify.ts";
import { AttachedFile, maybe } from "./fields.ts";
import { nameTag, printable, quote } from "./quoting.ts";

/** The result of an ask. While it is `pending`, all other fields are null. */
export const Ending = {
  status: z.enum(["pending", "resolved"]),
  outcome: maybe.describe("acknowledged, answered, declined, cancelled, failed, …"),
  reply: maybe.describe("The whole text of the reply, or the reason"),
  responder: maybe,
  close_reason: maybe,
  option_id: maybe,
  closed_at: maybe,
  reply_attachments: z.array(AttachedFile).describe("Files of the reply; read each at its path"),
  proof: Proof.pick({ state: true, reason: true, results: true }).optional().describe(
    "What the daemon found when it checked the answer",
  ),
};
export type Ending = z.output<z.ZodObject<typeof Ending>>;

export const PENDING: Ending = {
  status: "pending",
  outcome: null,
  reply: null,
  responder: null,
  close_reason: null,
  option_id: null,
  closed_at: null,
  reply_attachments: [],
};

type Resolution = Extract<WireResponse<typeof waitAsk>, { status: "resolved" }>;

/** The fields of a closed ask that are shown. Every route that returns a closed ask has them. */
type ResolvedAsk = Pick<
  Resolution,
  "correlation_id" | "outcome" | "reply" | "responder" | "reply_attachments" | "proof"
>;

/**
 * Formats the result for a model. A human's reply is shown as an instruction. A peer's reply is
 * shown as data between tags (contract 5).
 */
export async function formatEnding(
  ask: ResolvedAsk,
  { caller, call }: { caller: McpCaller; call: Call },
): Promise<string> {
  const { correlation_id, outcome, responder, reply_attachments } = ask;
  const failed = (ask.proof?.results ?? []).filter((result) => result.outcome !== "verified");
  const files = [...reply_attachments.map(toTag), ...failed.map(findingTag)];
  const reply = ask.reply ?? "";
  const responderName = quotedName(responder ?? "nobody");
  const proof = ask.proof ? ` Checked by the daemon: ${proofSentence(ask.proof)}` : "";
  const head = `${correlation_id} is closed: ${outcome}, by @${responderName}.${proof}`;
  if (!reply && files.length === 0) return `${head} The reply has no text.`;
  const { reply_voice } = await call(getAsk, { params: { id: correlation_id } });
  if (reply_voice === "human") {
    const line = `[mesh] @${responderName} → @${quotedName(caller.name)}: ${printable(reply)}`;
    return [head, line, ...files].join("\n");
  }
  const unverified = reply_voice === "unverified" && { unverified: "true" };
  const attributes = {
    type: "ack",
    re: correlation_id,
    from: nameTag(responder),
    outcome,
    ...(ask.proof && { proof: ask.proof.state }),
    ...unverified,
  };
  return `${head}\n${quote(attributes, reply, files)}`;
}

/** The sentence on a message that waits; undefined if it does not wait, or nothing is known. */
export async function holdOf(
  { to_peer_id, delivery_state, reason }: {
    readonly to_peer_id: string;
    readonly delivery_state: string | null;
    readonly reason: string | null;
  },
  { call }: ToolContext,
): Promise<string | undefined> {
  if (delivery_state !== "queued") return undefined;
  try {
    const peer = await call(getPeer, { params: { id: to_peer_id }, query: {} });
    const sentence = holdSentence(peer, reason);
    return sentence === undefined ? undefined : printable(sentence);
  } catch (error) {
    // A person on another machine has no record here, and a peer may be closed meanwhile.
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
