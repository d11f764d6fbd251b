/** Tools that ask one peer, and wait for its reply. */

import * as z from "zod";
import { Text } from "kit/core/schema.ts";
import { ApiError } from "kit/http/client.ts";
import { Wake } from "protocol/peers/record.ts";
import { wakeSentence } from "protocol/derived/wakes.ts";
import { waitSentence } from "protocol/derived/waits.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { quotedName } from "protocol/messages/frame_markers.ts";
import { toChoice, toOption } from "protocol/asks/choice.ts";
import { Option } from "protocol/messages/question.ts";
import {
  getAsk,
  GivenOptions,
  openAsk,
  WAIT_SECONDS,
  WAIT_SECONDS_MAX,
  waitAsk,
} from "protocol/asks/contract.ts";
import { SEND_HINTS, type Tool, tool, type ToolContext, UPDATE_HINTS } from "../tool.ts";
import {
  attachments,
  budget,
  callerId,
  circle,
  correlation_id,
  idempotency_key,
  idempotencyHeaders,
  maybe,
  peer,
  prove,
  seconds,
  urgent,
} from "./fields.ts";
import { printable } from "./quoting.ts";
import { Ending, formatEnding, holdOf, PENDING } from "./ask_result.ts";
import { askedBefore, EarlierAsk } from "./asked_before.ts";

const GivenOption = z.union([z.string(), z.strictObject(Option.shape)], {
  error: "Must be a text, or an id and a title",
});

const ask = tool({
  name: "ask",
  title: "Ask a peer",
  description:
    "Ask another agent, or the human, something that needs a reply. Use it when you need an " +
    "answer, a decision or work from exactly one peer. Give all the context in the message: the " +
    "peer does not see your conversation. Do not use it if you need no reply (notify_peer), " +
    "to ask several peers the same (ask_many), to answer an ask you were sent (ack), to find " +
    "out who is there (list_peers), or to repeat an ask that is still open. Without wait_seconds " +
    "it returns at once.",
  hints: SEND_HINTS,
  input: z.object({
    peer,
    message: Text,
    circle,
    attachments,
    reply_to: z.string().optional().describe("An ask that this one follows up on"),
    urgent,
    budget,
    prove,
    options: z.array(GivenOption.transform(toOption)).pipe(GivenOptions)
      .optional().describe(
        'The answers to choose from, such as ["yes", "no"]; the reply names one of them',
      ),
    idempotency_key,
    wait_seconds: seconds.describe(
      `Wait this long for the reply, at most ${WAIT_SECONDS_MAX}; only for quick questions`,
    ),
  }),
  output: z.object({
    correlation_id: z.string(),
    to_peer_id: z.string(),
    to_peer_name: z.string(),
    delivery_state: maybe,
    reason: maybe.describe("Why it waits"),
    wake: Wake.optional().describe("Whether a peer that is asleep is being woken"),
    reply_delivery: z.enum(["push", "pull"]),
    ...Ending,
    asked_before: z.array(EarlierAsk).optional().describe(
      "Answers to the same question in this project; not if you waited for the reply",
    ),
  }),
  async run({ peer, message, idempotency_key, wait_seconds = 0, options, ...rest }, toolContext) {
    const { caller, call } = toolContext;
    const headers = idempotencyHeaders(idempotency_key);
    const pull = wait_seconds > 0 || caller.peer_id === null;
    const reply_delivery = pull ? "pull" as const : "push" as const;
    const from_peer = callerId(caller);
    const question = options?.length ? toChoice(options) : undefined;
    const request = { from_peer, to_peer: peer, text: message, reply_delivery, question, ...rest };
    const openedAsk = await call(openAsk, { body: request, headers });
    const { to_peer_id, to_peer_name, delivery_state, reason = null, wake } = openedAsk;
    const id = openedAsk.correlation_id ?? "";
    const parties = { correlation_id: id, to_peer_id, to_peer_name };
    const askFields = { ...parties, delivery_state, reason, ...(wake && { wake }) };
    const name = `@${quotedName(to_peer_name)}`;
    const sleep = wakeSentence(name, wake);
    const hold = sleep ?? await holdOf({ to_peer_id, delivery_state, reason }, toolContext);
    const head = `Asked ${name} (${id}); delivery: ${delivery_state}.${hold ? ` ${hold}.` : ""}`;
    if (wait_seconds > 0) {
      const { text, data } = await waitFor(id, wait_seconds, toolContext);
      return { text: `${head} ${text}`, data: { ...askFields, reply_delivery, ...data } };
    }
    const later = reply_delivery === "push"
      ? "No reply yet: it comes to you as a message of its own. Go on, or end your turn."
      : "No reply yet, and none can be pushed to you, as you are not a registered peer: " +
        laterHint(id);
    const { text, ...earlier } = await askedBefore(message, toolContext);
    const data = { ...askFields, reply_delivery, ...PENDING, ...earlier };
    return { text: `${head} ${later}${text}`, data };
  },
});

const waitOnAck = tool({
  name: "wait_on_ack",
  title: "Wait for a reply",
  description:
    "Wait for the reply to an ask of yours, and get it in full. Use it when you cannot go on " +
    "without the reply, or when ask said to come back. Do not use it in a loop while other work " +
    "is left: unless you waited, replies come to you by themselves. From the first wait on, the " +
    "reply to this ask comes only here. A wait that times out has no other effect.",
  hints: UPDATE_HINTS,
  input: z.object({
    correlation_id,
    timeout_seconds: seconds.describe(
      `How long to wait: ${WAIT_SECONDS} by default, at most ${WAIT_SECONDS_MAX}`,
    ),
  }),
  output: z.object({ correlation_id: z.string(), ...Ending }),
  async run({ correlation_id, timeout_seconds = WAIT_SECONDS }, toolContext) {
    const { text, data } = await waitFor(correlation_id, timeout_seconds, toolContext);
    return { text, data: { correlation_id, ...data } };
  },
});

export const ASKING_TOOLS: readonly Tool[] = [ask, waitOnAck];

/** Waits until an ask is closed, up to the limit. */
async function waitFor(id: string, seconds: number, toolContext: ToolContext) {
  const timeout_seconds = Math.min(seconds, WAIT_SECONDS_MAX);
  const found = await toolContext.call(waitAsk, {
    params: { id },
    body: { peer_id: callerId(toolContext.caller), timeout_seconds },
  });
  if (found.status === "resolved") {
    const text = await formatEnding(found, toolContext);
    const { proof, ...data } = found;
    if (!proof) return { text, data };
    const { state, reason, results } = proof;
    return { text, data: { ...data, proof: { state, reason, results } } };
  }
  const wait = await waitOfRecipient(id, toolContext);
  const text = `No reply to ${id} in ${timeout_seconds} s. ${wait}The ask stays open: ${
    laterHint(id)
  }`;
  return { text, data: PENDING };
}

/** A sentence on what the recipient of an ask waits for; empty if it waits for nothing. */
async function waitOfRecipient(id: string, { call }: ToolContext): Promise<string> {
  try {
    const { to_peer_id } = await call(getAsk, { params: { id } });
    const sentence = waitSentence(await call(getPeer, { params: { id: to_peer_id }, query: {} }));
    return sentence === undefined ? "" : `${printable(sentence)}. `;
  } catch (error) {
    // A person on another machine has no record here, and a peer may be closed meanwhile.
    if (error instanceof ApiError) return "";
    throw error;
  }
}

function laterHint(id: string): string {
  return `get the reply later with wait_on_ack(correlation_id="${id}").`;
}
