/** Tools that put the same to several peers, and look how far their replies are. */

import * as z from "zod";
import { type Call, Refused, type Wire } from "kit/http/client.ts";
import { Text } from "kit/core/schema.ts";
import { quotedName } from "../../../../features/messages/frame_markers.ts";
import { getAsk } from "../../../../features/asks/contract.ts";
import { askMany, getMany, PEERS_MAX } from "../../../../features/asks/many/contract.ts";
import { LOOKS, SAYS, type Tool, tool } from "../../tool.ts";
import {
  Attached,
  circle,
  idempotency_key,
  maybe,
  onceBy,
  peer,
  seconds,
  speakerOf,
} from "../fields.ts";
import { cut, shareOf } from "../quoting.ts";
import { tellEnding } from "./replies.ts";

const ask = tool({
  name: "ask_many",
  title: "Ask several peers",
  description:
    "Put the same question to several peers, each of which replies by itself. Use it to gather " +
    "opinions or facts from peers that you name. One that cannot be asked fails alone. Do not " +
    "use it for one peer (ask), for what needs no reply (broadcast), or to have the same work " +
    "done several times over. It does not wait: see ask_many_result.",
  hints: SAYS,
  input: z.object({
    peers: z.array(peer).min(1).max(PEERS_MAX),
    message: Text,
    circle,
    timeout_seconds: seconds.describe(
      "When it passes, what is still open is closed; without it they stay open for a day",
    ),
    idempotency_key,
  }),
  output: z.object({
    parent_id: z.string(),
    reply_delivery: z.enum(["push", "pull"]),
    children: z.array(z.object({
      peer: z.string(),
      peer_id: maybe,
      correlation_id: maybe,
      error: maybe.describe("Why it was not asked"),
    })),
  }),
  async run({ peers, message, idempotency_key, ...more }, { caller, call, signal }) {
    const reply_delivery = caller.peer_id === null ? "pull" as const : "push" as const;
    const said = { from_peer: speakerOf(caller), to_peers: peers, text: message };
    const body = { ...said, ...more, reply_delivery };
    const headers = onceBy(idempotency_key);
    const { parent_id, children } = await call(askMany, { body, headers, signal });
    const later = reply_delivery === "push"
      ? "Each reply comes to you as a message of its own; go on, or end your turn. How far " +
        "they are: "
      : "No reply can be pushed to you, as you are not a registered peer. Get them with ";
    return {
      text: `${tellAsked(parent_id, children)}\n` +
        `${later}ask_many_result(parent_id="${parent_id}").`,
      data: {
        parent_id,
        reply_delivery,
        children: children.map((child) => ({
          peer_id: null,
          correlation_id: null,
          error: null,
          ...child,
        })),
      },
    };
  },
});

const result = tool({
  name: "ask_many_result",
  title: "Look at the replies of several peers",
  description:
    "Tell how far an ask_many of yours is, with the replies so far; it does not wait. Use it " +
    "when you need all replies side by side, or when none can be pushed to you; long ones are " +
    "cut, and wait_on_ack has them whole. Do not poll it in a loop while other work is left, and " +
    "do not use it for an ask to one peer (wait_on_ack).",
  hints: LOOKS,
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
      error: maybe.describe("Why it was not asked"),
      reply_attachments: z.array(Attached).describe("Files of the reply; read each at its path"),
    })),
  }),
  async run({ parent_id }, visit) {
    const { call, signal } = visit;
    const found = await call(getMany, { params: { parent_id }, signal });
    const chars = shareOf(found.children.length);
    const lines: string[] = [], children = [];
    for (const child of found.children) {
      const ask = await closedAskOf(child, call);
      const { responder = null, reply_attachments = [] } = ask ?? {};
      const { outcome, correlation_id, peer, error = null } = child;
      const { text, truncated } = cut(child.reply ?? "", chars);
      const reply = child.reply === null ? null : text;
      children.push({ ...child, reply, truncated, responder, reply_attachments, error });
      if (ask && outcome) lines.push(await tellEnding({ ...ask, outcome, reply }, visit));
      else {
        const name = quotedName(peer);
        const which = correlation_id === null ? name : `${name} (${correlation_id})`;
        lines.push(`${which}: ${error ?? outcome ?? "no reply yet"}.`);
      }
      if (truncated) {
        lines.push(`(cut; the whole: wait_on_ack(correlation_id="${correlation_id}"))`);
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

function tellAsked(parent_id: string, children: Wire<typeof askMany>["children"]): string {
  const asked = children.flatMap((child) =>
    "correlation_id" in child ? `${quotedName(child.peer)} (${child.correlation_id})` : []
  );
  const failed = children.flatMap((child) =>
    "error" in child ? `${quotedName(child.peer)}: ${child.error}` : []
  );
  const head = `Asked ${asked.length} of ${children.length} (${parent_id}): ${asked.join(", ")}.`;
  return failed.length === 0 ? head : `${head}\nNot asked: ${failed.join("; ")}.`;
}

/** The whole record of a child that has an end; undefined when nothing is kept of it. */
async function closedAskOf(
  { correlation_id, state }: Wire<typeof getMany>["children"][number],
  call: Call,
) {
  if (correlation_id === null || state === "open") return undefined;
  try {
    return await call(getAsk, { params: { id: correlation_id } });
  } catch (fault) {
    if (fault instanceof Refused && fault.problem.error === "unknown_ask") return undefined;
    throw fault;
  }
}
