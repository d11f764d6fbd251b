/** How the end of an ask is told to the one who asked: in words for a model, and as data. */

import { z } from "zod";
import { type Call, Refused, type Wire } from "kit/client.ts";
import { escapeMarkup } from "kit/text.ts";
import { getAsk, waitAsk } from "../asks/contract.ts";
import { toTag } from "../attachments/contract.ts";
import { getPeer } from "../peers/contract.ts";
import type { McpCaller } from "./identify.ts";

const maybe = z.string().nullable();

/** A file as a model needs to know it. */
const Attached = z.object({
  id: z.string(),
  filename: z.string(),
  size: z.number(),
  content_type: z.string(),
  path: z.string(),
});

/** What an ask has come to. While it is `pending`, all the rest is null. */
export const Ending = {
  status: z.enum(["pending", "resolved"]),
  outcome: maybe.describe("acknowledged, answered, declined, cancelled, failed, …"),
  reply: maybe.describe("The reply's whole text, or the reason given"),
  responder: maybe,
  close_reason: maybe,
  option_id: maybe,
  closed_at: maybe,
  reply_attachments: z.array(Attached).describe("Files of the reply; read each at its path"),
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

type Resolution = Extract<Wire<typeof waitAsk>, { status: "resolved" }>;

export function toEnding(resolution: Resolution): Ending {
  const { status, outcome, reply, responder, close_reason, option_id, closed_at } = resolution;
  const { reply_attachments } = resolution;
  const ending = { status, outcome, reply, responder, close_reason, option_id, closed_at };
  return { ...ending, reply_attachments };
}

/** The human's word is an instruction; a peer's is data between tags that hold (contract 5). */
export async function tellEnding(
  resolution: Resolution,
  { caller, call }: { caller: McpCaller; call: Call },
): Promise<string> {
  const { correlation_id, outcome, responder, reply_attachments } = resolution;
  const files = reply_attachments.map((one) => `\n${printable(toTag(one))}`).join("");
  const reply = printable(resolution.reply ?? "");
  const who = responder ?? "nobody";
  const head = `${correlation_id} is closed: ${outcome}, by @${who}.`;
  if (!reply && !files) return `${head} It holds no text.`;
  if (await isHumansWord(resolution, call)) {
    return `${head}\n[mesh] @${who} → @${caller.name}: ${reply}${files}`;
  }
  const said = `type="ack" re="${correlation_id}" from="@${escape(who)}" outcome="${outcome}"`;
  return `${head}\n<peer-message ${said}>${escape(reply)}${files}</peer-message>`;
}

/** Whether the one who was asked is the human, and answered. */
async function isHumansWord(
  { correlation_id, responder }: Resolution,
  call: Call,
): Promise<boolean> {
  if (responder === null) return false;
  try {
    const { to_peer_id, to_peer_name } = await call(getAsk, { params: { id: correlation_id } });
    const { role } = await call(getPeer, { params: { id: to_peer_id }, query: {} });
    return role === "human" && responder === to_peer_name;
  } catch (fault) {
    // A peer that was closed since has no record any more; the human always has one.
    if (fault instanceof Refused) return false;
    throw fault;
  }
}

/** Without what could steer a terminal: C0, C1 and ESC; the data has the text as it was. */
function printable(text: string): string {
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, "");
}

function escape(text: string): string {
  return escapeMarkup(text).replaceAll('"', "&quot;");
}
