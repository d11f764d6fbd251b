/** The tool for subscriptions: a message when something happens. */

import { formatInstant } from "kit/core/local_time.ts";
import * as z from "zod";
import type { WireResponse } from "kit/http/client.ts";
import { invalidField } from "kit/core/problem.ts";
import { Text } from "kit/core/schema.ts";
import { quotedLine } from "protocol/messages/frame_markers.ts";
import { FORMS } from "protocol/subscriptions/conditions.ts";
import {
  cancelSubscription,
  createSubscription,
  type getSubscription,
  listSubscriptions,
} from "protocol/subscriptions/contract.ts";
import { SEND_HINTS, type Tool, tool } from "../tool.ts";
import { callerId, circle, idempotency_key, idempotencyHeaders, maybe, peer } from "./fields.ts";

const Card = z.object({
  subscription_id: z.string(),
  condition: z.string(),
  to_peer: maybe,
  until: maybe,
  state: z.string(),
  fires: z.number(),
  last_error: maybe,
  last_proof: maybe,
});

const subscribe = tool({
  name: "subscribe",
  title: "Be told when something happens",
  description:
    "Get a message when a peer is idle, finishes its turn, is blocked or goes offline, when a job " +
    "ends or an ask is closed, or when files are edited. Go on with other work, or end your turn: " +
    "do not poll list_peers. Also lists and cancels your subscriptions. Do not use it for the " +
    "reply to your own ask (wait_on_ack), or for a time (schedule_create).",
  hints: SEND_HINTS,
  trustedOnly: true,
  input: z.object({
    action: z.enum(["create", "list", "cancel"]).default("create"),
    condition: z.string().optional().describe(`For create; one of: ${FORMS}`),
    to_peer: peer.optional().describe("Who gets the message; you by default"),
    message: Text.optional().describe("What is said, with what was observed"),
    until: z.string().optional()
      .describe("Tell each occurrence until then (2h, or an instant), not only the first"),
    subscription_id: z.string().optional().describe("For cancel"),
    circle,
    idempotency_key,
  }),
  output: z.object({ subscriptions: z.array(Card) }),
  async run({ action, condition, subscription_id, ...rest }, { caller, call }) {
    const from_peer = callerId(caller);
    if (action === "list") {
      const query = { state: "active" as const, from_peer };
      const { subscriptions } = await call(listSubscriptions, { query });
      return answerOf(subscriptions, "No active subscriptions.");
    }
    if (action === "cancel") {
      if (subscription_id === undefined) throw invalidField("subscription_id", "needed to cancel");
      return answerOf([await call(cancelSubscription, { params: { id: subscription_id } })]);
    }
    if (condition === undefined) throw invalidField("condition", `give one of: ${FORMS}`);
    const { to_peer, message: text, until, circle, idempotency_key } = rest;
    const body = { from_peer, condition, to_peer, text, until, circle };
    const headers = idempotencyHeaders(idempotency_key);
    return answerOf([await call(createSubscription, { body, headers })]);
  },
});

export const SUBSCRIPTION_TOOLS: readonly Tool[] = [subscribe];

type Subscription = WireResponse<typeof getSubscription>;

function answerOf(subscriptions: readonly Subscription[], empty = "") {
  const lines = subscriptions.map(({ subscription_id, condition, until, state, last_proof }) =>
    `${subscription_id}: ${quotedLine(condition)}, ${
      until === null ? "once" : `until ${formatInstant(until)}`
    }, ` +
    `${state}.${last_proof === null ? "" : ` Last: ${quotedLine(last_proof)}`}`
  );
  return { text: lines.join("\n") || empty, data: { subscriptions: [...subscriptions] } };
}
