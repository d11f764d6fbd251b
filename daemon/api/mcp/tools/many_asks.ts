/** Tools that ask several peers the same, and show their replies. */

import * as z from "zod";
import { ApiError, type Call, type WireResponse } from "kit/http/client.ts";
import { Text } from "kit/core/schema.ts";
import { quotedName } from "protocol/messages/frame_markers.ts";
import { getAsk } from "protocol/asks/contract.ts";
import { heldAmong } from "protocol/derived/holds.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { askMany, getMany, PEERS_MAX } from "protocol/asks/many.ts";
import { READ_HINTS, SEND_HINTS, type Tool, tool } from "../tool.ts";
import {
  AttachedFile,
  budget,
  callerId,
  circle,
  idempotency_key,
  idempotencyHeaders,
  maybe,
  peer,
  prove,
  seconds,
} from "./fields.ts";
import { charsPerText, printable, truncate } from "./quoting.ts";
import { formatEnding } from "./ask_result.ts";

const ask = tool({
  name: "ask_many",
  title: "Ask several peers",
  description:
    "Ask several peers the same question; each of them replies by itself. Use it to gather " +
    "opinions or facts from peers that you name; `@backend` names all with that tag. One that cannot be asked fails alone. Do not " +
    "use it for one peer (ask), for what needs no reply (broadcast), or to have the same work " +
    "done several times over. It does not wait: see ask_many_result.",
  hints: SEND_HINTS,
  input: z.object({
    peers: z.array(peer).min(1).max(PEERS_MAX),
    message: Text,
    circle,
    timeout_seconds: seconds.describe(
      "After this time open asks are closed; without it they stay open for a day",
    ),
    budget,
    prove,
    idempotency_key,
  }),
  output: z.object({
    parent_id: z.string(),
    reply_delivery: z.enum(["push", "pull"]),
    children: z.array(z.object({
      peer: z.string(),
      peer_id: maybe,
      correlation_id: maybe,
      reason: maybe.describe("Why the ask waits"),
      error: maybe.describe("Why this peer was not asked"),
    })),
  }),
  async run({ peers, message, idempotency_key, ...rest }, { caller, call }) {
    const reply_delivery = caller.peer_id === null ? "pull" as const : "push" as const;
    const request = { from_peer: callerId(caller), to_peers: peers, text: message };
    const body = { ...request, ...rest, reply_delivery };
    const headers = idempotencyHeaders(idempotency_key);
    const { parent_id, children } = await call(askMany, { body, headers });
    const later = reply_delivery === "push"
      ? "Each reply comes to you as a message of its own; go on, or end your turn. The " +
        "replies so far: "
      : "No reply can be pushed to you, as you are not a registered peer. Get them with ";
    const { peers: known } = await call(listPeers, { query: {} });
    const held = heldAmong(children, known).map((sentence) => `${printable(sentence)}.\n`);
    return {
      text: `${formatAskedPeers(parent_id, children)}\n${held.join("")}` +
        `${later}ask_many_result(parent_id="${parent_id}").`,
      data: {
        parent_id,
        reply_delivery,
        children: children.map((child) => ({
          peer_id: null,
          correlation_id: null,
          error: null,
          ...child,
          reason: "reason" in child ? child.reason ?? null : null,
        })),
      },
    };
  },
});

const result = tool({
  name: "ask_many_result",
  title: "Show the replies of several peers",
  description:
    "Show the state and the replies so far of an ask_many of yours; it does not wait. Use it " +
    "when you need all replies side by side, or when none can be pushed to you; long replies are " +
    "cut, and wait_on_ack returns them in full. Do not poll it in a loop while other work is " +
    "left, and do not use it for an ask to one peer (wait_on_ack).",
  hints: READ_HINTS,
  input: z.object({
    parent_id: z.string().min(1).describe("The id that ask_many gave, such as askm-3f9c04d1a2b7"),
  }),
  output: z.object({
    parent_id: z.string(),
    state: z.enum(["pending", "partial", "complete"]),
    children: z.array(z.object({
      peer: z.string(),
      correlation_id: maybe,
      state: z.enum(["open", "closed"]),
      outcome: maybe,
      reply: maybe,
      truncated: z.boolean().describe("wait_on_ack with the correlation_id has the whole reply"),
      responder: maybe,
      close_reason: maybe,
      error: maybe.describe("Why this peer was not asked"),
      reply_attachments: z.array(AttachedFile).describe(
        "Files of the reply; read each at its path",
      ),
    })),
  }),
  async run({ parent_id }, toolContext) {
    const { call } = toolContext;
    const found = await call(getMany, { params: { parent_id } });
    const chars = charsPerText(found.children.length);
    const lines: string[] = [], children = [];
    for (const child of found.children) {
      const ask = await getClosedAsk(child, call);
      const { responder = null, reply_attachments = [] } = ask ?? {};
      const { outcome, correlation_id, peer, error = null } = child;
      const { text, truncated } = truncate(child.reply ?? "", chars);
      const reply = child.reply === null ? null : text;
      children.push({ ...child, reply, truncated, responder, reply_attachments, error });
      if (ask && outcome) lines.push(await formatEnding({ ...ask, outcome, reply }, toolContext));
      else {
        const name = quotedName(peer);
        const label = correlation_id === null ? name : `${name} (${correlation_id})`;
        lines.push(`${label}: ${error ?? outcome ?? "no reply yet"}.`);
      }
      if (truncated) {
        lines.push(`(cut; in full: wait_on_ack(correlation_id="${correlation_id}"))`);
      }
    }
    const { state } = found;
    return {
      text: `${parent_id} is ${state}.\n${lines.join("\n")}`,
      data: { parent_id, state, children },
    };
  },
});

export const MANY_TOOLS: readonly Tool[] = [ask, result];

function formatAskedPeers(
  parent_id: string,
  children: WireResponse<typeof askMany>["children"],
): string {
  const askedPeers = children.flatMap((child) =>
    "correlation_id" in child ? `${quotedName(child.peer)} (${child.correlation_id})` : []
  );
  const failed = children.flatMap((child) =>
    "error" in child ? `${quotedName(child.peer)}: ${child.error}` : []
  );
  const head = `Asked ${askedPeers.length} of ${children.length} (${parent_id}): ${
    askedPeers.join(", ")
  }.`;
  return failed.length === 0 ? head : `${head}\nNot asked: ${failed.join("; ")}.`;
}

/** The whole record of a closed child; undefined if the record is gone. */
async function getClosedAsk(
  { correlation_id, state }: WireResponse<typeof getMany>["children"][number],
  call: Call,
) {
  if (correlation_id === null || state === "open") return undefined;
  try {
    return await call(getAsk, { params: { id: correlation_id } });
  } catch (error) {
    if (error instanceof ApiError && error.problem.error === "unknown_ask") return undefined;
    throw error;
  }
}
