/** Earlier answers to the question of a new ask, as hints for its asker. */

import * as z from "zod";
import { formatDuration } from "kit/core/duration.ts";
import { ApiError, type WireResponse } from "kit/http/client.ts";
import { QUESTION_CHARS_MAX, recall } from "protocol/asks/recall.ts";
import type { ToolContext } from "../tool.ts";
import { callerId, maybe } from "./fields.ts";
import { nameTag, quote, truncate } from "./quoting.ts";

/** Characters shown of an earlier question and of its answer. */
const QUESTION_CHARS = 120;
const ANSWER_CHARS = 400;

export const EarlierAsk = z.object({
  correlation_id: z.string(),
  answer: z.string(),
  responder: maybe,
  answered_at: z.string(),
  changed_files: z.array(z.string()).describe("Files that it names and that changed since"),
});
type EarlierAsk = z.output<typeof EarlierAsk>;

type Recalled = WireResponse<typeof recall>["matches"][number];

/** Finds the same questions of the caller's project; no hint is worth a failed ask. */
export async function askedBefore(
  message: string,
  { caller, call }: ToolContext,
): Promise<{ asked_before?: EarlierAsk[]; text: string }> {
  const none = { text: "" };
  const q = message.slice(0, QUESTION_CHARS_MAX).toWellFormed().trim();
  if (caller.peer_id === null || q === "") return none;
  try {
    const query = { q, from_peer: callerId(caller), same: "true" as const };
    const { matches } = await call(recall, { query });
    if (matches.length === 0) return none;
    const text =
      "\nAsked before in this project; if one of these answers is enough, go on with it:";
    return {
      asked_before: matches.map(toEarlier),
      text: [text, ...matches.map(toTag)].join("\n"),
    };
  } catch (error) {
    if (error instanceof ApiError) return none;
    throw error;
  }
}

function toEarlier({ correlation_id, answer, responder, answered_at, files }: Recalled) {
  return {
    correlation_id,
    answer: truncate(answer, ANSWER_CHARS).text,
    responder,
    answered_at,
    changed_files: files.filter(({ state }) => state !== "unchanged").map(({ path }) => path),
  };
}

function toTag(found: Recalled): string {
  const { correlation_id: id, question, answer, responder, unverified, age_seconds, files } = found;
  const since = files.filter(({ state }) => state !== "unchanged")
    .map(({ path, state }) => `${path} (${state})`).join(", ");
  const attributes = {
    type: "asked-before",
    id,
    from: nameTag(responder),
    age: formatDuration(age_seconds * 1000),
    unverified: unverified ? "true" : null,
    files_changed_since: since === "" ? null : since,
  };
  const lines = [
    `Question: ${truncate(question, QUESTION_CHARS).text}`,
    `Answer: ${truncate(answer, ANSWER_CHARS).text}`,
  ];
  return quote(attributes, lines.join("\n"));
}
