/** The tools ask_agent and send_message. */

import * as z from "zod";
import { DisplayText } from "kit/core/schema.ts";
import { SEND_HINTS } from "kit/http/mcp_tools.ts";
import { WRITE } from "protocol/relay/mcp.ts";
import { daemon_id, peer_id, type Tool, tool } from "./tool.ts";

export const MESSAGE_BYTES_MAX = 64_000;
const utf8 = new TextEncoder();

const message = DisplayText.min(1).refine(
  (text) => utf8.encode(text).length <= MESSAGE_BYTES_MAX,
  `Longer than ${MESSAGE_BYTES_MAX} bytes`,
).describe(`1 to ${MESSAGE_BYTES_MAX} bytes of UTF-8`);

const ask = tool({
  name: "ask_agent",
  title: "Give an agent a task",
  description:
    "Send one agent a task or a question that needs a reply. It returns at once with a request_id; " +
    "the reply is fetched with get_reply, and is never pushed to you. Each call is a new task, " +
    "with no exactly-once guarantee: after a time-out or a lost connection the task may have " +
    "arrived, so do not simply repeat it. The machine may lose requests when its daemon restarts. " +
    "Do not use it for what needs no reply (send_message). It cannot start or stop agents, run " +
    "commands, read files or approve anything.",
  hints: SEND_HINTS,
  scope: WRITE,
  input: z.object({ daemon_id, peer_id, message }),
  output: z.object({
    daemon_id: z.string(),
    peer_id: z.string(),
    request_id: z.string(),
    status: z.literal("pending"),
  }),
  async run({ daemon_id, peer_id, message }, toolContext) {
    const created = await toolContext.daemon(daemon_id).ask(peer_id, message);
    const request_id = created.correlation_id;
    return {
      text: `Asked ${peer_id} on ${daemon_id}: request ${request_id} is pending. ` +
        "Fetch the reply with get_reply.",
      data: { daemon_id, peer_id, request_id, status: "pending" as const },
    };
  },
});

const send = tool({
  name: "send_message",
  title: "Tell an agent something",
  description:
    "Send one agent information that needs no reply, and return what its machine says of the " +
    "delivery, which may only be queued. After a time-out or a lost connection the message may " +
    "have arrived: nothing is sent again by itself. Do not use it for questions or tasks " +
    "(ask_agent), and not for chatter: it interrupts.",
  hints: SEND_HINTS,
  scope: WRITE,
  input: z.object({ daemon_id, peer_id, message }),
  output: z.object({
    daemon_id: z.string(),
    peer_id: z.string(),
    delivery_id: z.string(),
    delivery_state: z.string().describe("queued, attempting, sent, accepted, seen, failed, …"),
    delivered: z.boolean().describe("The agent's side has confirmed it"),
    queued: z.boolean().describe("It waits on that machine"),
  }),
  async run({ daemon_id, peer_id, message }, toolContext) {
    const notified = await toolContext.daemon(daemon_id).notify(peer_id, message);
    const { delivery_id, delivery_state, delivered, queued } = notified;
    return {
      text: `${delivery_id} to ${peer_id} on ${daemon_id}: ${delivery_state}.`,
      data: { daemon_id, peer_id, delivery_id, delivery_state, delivered, queued },
    };
  },
});

export const SEND_TOOLS: readonly Tool[] = [ask, send];
