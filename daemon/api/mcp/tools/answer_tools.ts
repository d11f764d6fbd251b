/** Tools that close an ask sent to the caller: by a reply, a typed answer, or a refusal. */

import * as z from "zod";
import type { WireResponse } from "kit/http/client.ts";
import { Text, TextOrEmpty } from "kit/core/schema.ts";
import { invalidField } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { ackAsk, declineAsk } from "protocol/asks/contract.ts";
import { GivenClaims } from "protocol/proofs/claims.ts";
import { answerAsk } from "protocol/asks/questions.ts";
import { quotedName } from "protocol/messages/frame_markers.ts";
import { replyAll } from "protocol/notifications.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { SEND_HINTS, type Tool, tool } from "../tool.ts";
import { attachments, callerId, correlation_id, maybe, mustBePeer } from "./fields.ts";

const ClosedFields = { ok: z.literal(true), correlation_id: z.string(), close_reason: z.string() };

function toClosed(correlation_id: string, { ok, close_reason }: WireResponse<typeof declineAsk>) {
  const text = `${correlation_id} is closed: ${close_reason}.`;
  return { text, data: { ok, correlation_id, close_reason } };
}

/** The result of an answer, which is held if it has to be checked. */
function toAnswered(correlation_id: string, { ok, close_reason }: WireResponse<typeof ackAsk>) {
  if (close_reason !== null) return toClosed(correlation_id, { ok, close_reason });
  const text =
    `${correlation_id} stays open: your answer is held while the daemon checks it. You ` +
    "get a message if it is refuted, and then repair it and answer again. You need not wait.";
  return { text, data: { ok, correlation_id, close_reason } };
}

const option_id = answerAsk.body.shape.option_id
  .describe("The id of one of the options, exactly as the question lists it");

const ack = tool({
  name: "ack",
  title: "Answer an ask",
  description:
    "Answer an ask that was sent to you. With a message it is your reply and closes the ask; " +
    "without one it only acknowledges, for an ask that needs no text. Use it once, after the " +
    "work is done. Do not use it to say that you have begun, for asks of your own, for messages " +
    "of type notify or broadcast, to choose an option (answer), or to refuse (decline).",
  hints: SEND_HINTS,
  input: z.object({
    correlation_id,
    message: TextOrEmpty.optional(),
    option_id,
    attachments,
    claims: GivenClaims,
    reply_all: z.boolean().optional().describe(
      "Also notify the other peers of the thread: of earlier asks that it continues, of later " +
        "ones, and of the same ask_many",
    ),
  }),
  output: z.object({
    ...ClosedFields,
    close_reason: maybe.describe("Null while the answer is held, and the ask is open"),
  }),
  async run(
    { correlation_id, message, option_id, attachments, claims, reply_all },
    { caller, call },
  ) {
    if (reply_all) {
      if (!message || attachments || claims || option_id !== undefined) {
        throw invalidField(
          "reply_all",
          "Needs a message, and takes no attachments, claims or option",
        );
      }
      const answer = { from_peer: callerId(caller), text: message };
      const sent = await call(replyAll, { params: { id: correlation_id }, body: answer });
      const { text, data } = toClosed(correlation_id, sent);
      return { text: `${text}\n${formatMembers(sent)}`, data };
    }
    const answer = { message, option_id, attachments, claims };
    const body = { correlation_id, ...answer, from_peer: callerId(caller) };
    return toAnswered(correlation_id, await call(ackAsk, { body }));
  },
});

function formatMembers({ sent_to, failed }: WireResponse<typeof replyAll>): string {
  const names = sent_to.map(({ name }) => `@${quotedName(name)}`).join(", ");
  const lines = [`Also sent to ${sent_to.length}${names ? `: ${names}` : ""}.`];
  for (const { name, error } of failed) lines.push(`Not sent to @${quotedName(name)}: ${error}.`);
  return lines.join("\n");
}

const decline = tool({
  name: "decline",
  title: "Decline an ask",
  description:
    "Close an ask that was sent to you without doing it; the reason goes to the asker. Use it " +
    "when you cannot or must not do what is asked. Do not use it when you have an answer, even " +
    "a negative one (ack).",
  hints: SEND_HINTS,
  input: z.object({
    correlation_id,
    reason: z.string().min(1).describe("One sentence that tells the asker why"),
  }),
  output: z.object(ClosedFields),
  async run({ correlation_id, reason }, { caller, call }) {
    const body = { correlation_id, reason, from_peer: callerId(caller) };
    return toClosed(correlation_id, await call(declineAsk, { body }));
  },
});

const answer = tool({
  name: "answer",
  title: "Answer a structured question",
  description:
    "Answer a structured question that was sent to you: an ask that lists options, or wants a " +
    "text or an acknowledgement of a given kind. Give the id of one option, or the text. Use it " +
    "once; the first valid answer wins. Do not use it for an ask without a question (ack), for " +
    "questions to another peer or to the human, or to permit a tool: only the human may do that.",
  hints: SEND_HINTS,
  input: z.object({
    correlation_id,
    option_id,
    text: Text.optional().describe("The answer, if the question asks for a text"),
    outcome: answerAsk.body.shape.outcome
      .describe("Only to refuse an answer: denied, declined or cancelled"),
    message: Text.optional().describe("A remark beside the answer, for the asker"),
  }),
  output: z.object({ ...ClosedFields, outcome: z.string() }),
  async run(args, { caller, call }) {
    const from_peer = mustBePeer(caller, "no ask can have been sent to you");
    // The human answers only through human surfaces, and an agent's tool is not a human surface
    // (contract 2).
    const { role } = await call(getPeer, { params: { id: from_peer }, query: {} });
    if (role === "human") {
      throw new Problem("not_an_agent", { why: "the human answers through a human surface" });
    }
    const { correlation_id } = args;
    const { ok, ...end } = await call(answerAsk, { body: { ...args, from_peer } });
    return {
      text: `${correlation_id} is closed: ${end.close_reason}, ${end.outcome}.`,
      data: { ok, correlation_id, ...end },
    };
  },
});

export const ANSWERING_TOOLS: readonly Tool[] = [ack, decline, answer];
