/** The tools for agents (contract 6): what each is for, what it takes and tells, and its verb. */

import { z } from "zod";
import { IdempotencyKey, Name, Text } from "kit/contract.ts";
import type { Wire } from "kit/client.ts";
import {
  ackAsk,
  declineAsk,
  openAsk,
  WAIT_SECONDS,
  WAIT_SECONDS_MAX,
  waitAsk,
} from "../asks/contract.ts";
import { ATTACHMENTS_MAX } from "../attachments/contract.ts";
import { broadcast, notifyPeer } from "../delivery/contract.ts";
import { describePeer, getPeer, listPeers } from "../peers/contract.ts";
import type { McpCaller } from "./identify.ts";
import { Ending, PENDING, tellEnding, toEnding } from "./replies.ts";
import { LOOKS, SAYS, SETTLES, type Tool, tool, type Visit } from "./tool.ts";
import { SPAWN_TOOLS } from "./tools/spawn.ts";

const maybe = z.string().nullable();
const circle = Name.optional().describe("Where to look for the name; by default your own circle");
const idempotency_key = IdempotencyKey.optional().describe(
  "A key of your own for this call; repeated with the same key, it is not done twice",
);
const seconds = z.number().min(0).optional();
const correlation_id = z.string().min(1).describe("The id of the ask, such as ask-3f9c04d1a2b7");

const attachments = z.array(z.string()).max(ATTACHMENTS_MAX).optional()
  .describe("Ids (att-…) of files, as the shell command `mesh attach FILE` prints them");

/** A peer as another agent needs to know it. */
const PeerCard = z.object({
  peer_id: z.string(),
  name: z.string(),
  circle: z.string(),
  role: z.string(),
  backend: maybe,
  status: z.string(),
  turn_state: maybe,
  inbound_status: z.string(),
  description: maybe,
  path: maybe,
  pending_ask_count: z.number(),
});

const ask = tool({
  name: "ask",
  title: "Ask a peer",
  description:
    "Ask another agent, or the human, something that needs a reply. Use it when you need an " +
    "answer, a decision or work from exactly one peer. Give all the context in the message: the " +
    "peer does not see your conversation. Do not use it for what needs no reply (notify_peer), " +
    "to answer an ask you were sent (ack), to find out who is there (list_peers), or to repeat " +
    "an ask that is still open. Without wait_seconds it returns at once.",
  hints: SAYS,
  input: z.object({
    peer: z.string().describe("A name or a peer_id, as list_peers shows them"),
    message: Text,
    circle,
    attachments,
    reply_to: z.string().optional().describe("An ask that this one follows up on"),
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
    reply_delivery: z.enum(["push", "pull"]),
    ...Ending,
  }),
  async run({ peer, message, idempotency_key, wait_seconds = 0, ...more }, visit) {
    const { caller, call, signal } = visit;
    const headers = onceBy(idempotency_key);
    const pull = wait_seconds > 0 || caller.peer_id === null;
    const reply_delivery = pull ? "pull" as const : "push" as const;
    const from_peer = speakerOf(caller);
    const asking = { from_peer, to_peer: peer, text: message, reply_delivery, ...more };
    const opened = await call(openAsk, { body: asking, headers, signal });
    const { to_peer_id, to_peer_name, delivery_state } = opened;
    const id = opened.correlation_id ?? "";
    const asked = { correlation_id: id, to_peer_id, to_peer_name, delivery_state };
    const head = `Asked @${to_peer_name} (${id}); delivery: ${delivery_state}.`;
    if (wait_seconds > 0) {
      const { text, data } = await waitFor(id, wait_seconds, visit);
      return { text: `${head} ${text}`, data: { ...asked, reply_delivery, ...data } };
    }
    const later = reply_delivery === "push"
      ? "No reply yet: it comes to you as a message of its own. Go on, or end your turn."
      : "No reply yet, and none can be pushed to you, as you are not a registered peer: " +
        comeBack(id);
    return { text: `${head} ${later}`, data: { ...asked, reply_delivery, ...PENDING } };
  },
});

const waitOnAck = tool({
  name: "wait_on_ack",
  title: "Wait for a reply",
  description:
    "Wait for the reply to an ask of yours, and get it whole. Use it when you cannot go on " +
    "without the reply, or when ask said to come back. Do not use it in a loop while other work " +
    "is left: unless you waited, replies come to you by themselves. From the first wait on, the " +
    "reply to this ask is only told here. A wait that times out changes nothing else.",
  hints: SETTLES,
  input: z.object({
    correlation_id,
    timeout_seconds: seconds.describe(
      `How long to wait: ${WAIT_SECONDS} by default, at most ${WAIT_SECONDS_MAX}`,
    ),
  }),
  output: z.object({ correlation_id: z.string(), ...Ending }),
  async run({ correlation_id, timeout_seconds = WAIT_SECONDS }, visit) {
    const { text, data } = await waitFor(correlation_id, timeout_seconds, visit);
    return { text, data: { correlation_id, ...data } };
  },
});

const ack = tool({
  name: "ack",
  title: "Answer an ask",
  description:
    "Answer an ask that was sent to you. With a message it is your reply and closes the ask; " +
    "without one it only acknowledges, for an ask that wants no words. Use it once, after the " +
    "work is done. Do not use it to say that you have begun, for asks of your own, for messages " +
    "of type notify or broadcast, or to refuse (decline).",
  hints: SAYS,
  input: z.object({ correlation_id, message: Text.optional(), attachments }),
  output: z.object({ ok: z.literal(true), correlation_id: z.string(), close_reason: z.string() }),
  async run({ correlation_id, message, attachments }, { caller, call, signal }) {
    const body = { correlation_id, message, attachments, from_peer: speakerOf(caller) };
    const { ok, close_reason } = await call(ackAsk, { body, signal });
    return {
      text: `${correlation_id} is closed: ${close_reason}.`,
      data: { ok, correlation_id, close_reason },
    };
  },
});

const decline = tool({
  name: "decline",
  title: "Decline an ask",
  description:
    "Close an ask that was sent to you without doing it; the reason goes to the asker. Use it " +
    "when you cannot or must not do what is asked. Do not use it when you have an answer, even " +
    "a negative one (ack).",
  hints: SAYS,
  input: z.object({
    correlation_id,
    reason: z.string().min(1).describe("One sentence that tells the asker why"),
  }),
  output: z.object({ ok: z.literal(true), correlation_id: z.string(), close_reason: z.string() }),
  async run({ correlation_id, reason }, { caller, call, signal }) {
    const body = { correlation_id, reason, from_peer: speakerOf(caller) };
    const { ok, close_reason } = await call(declineAsk, { body, signal });
    return {
      text: `${correlation_id} is closed: ${close_reason}.`,
      data: { ok, correlation_id, close_reason },
    };
  },
});

const notify = tool({
  name: "notify_peer",
  title: "Tell a peer",
  description:
    "Tell one peer something that needs no reply: a result, a warning, a change it must know. " +
    "Do not use it for questions (ask), to answer an ask (ack), or for chatter: it interrupts.",
  hints: SAYS,
  input: z.object({
    peer: z.string().describe("A name or a peer_id, as list_peers shows them"),
    message: Text,
    attachments,
    circle,
    idempotency_key,
  }),
  output: z.object({
    delivery_id: z.string(),
    delivery_state: z.string(),
    delivered: z.boolean(),
    queued: z.boolean(),
    reason: maybe,
    to_peer_id: z.string(),
    to_peer_name: z.string(),
  }),
  async run({ peer, message, idempotency_key, ...more }, { caller, call, signal }) {
    const from_peer = speakerOf(caller);
    const body = { from_peer, to_peer: peer, text: message, ...more };
    const told = await call(notifyPeer, { body, headers: onceBy(idempotency_key), signal });
    const why = told.reason ? ` (${told.reason})` : "";
    return {
      text: `Told @${told.to_peer_name} (${told.delivery_id}); ` +
        `delivery: ${told.delivery_state}${why}.`,
      data: told,
    };
  },
});

const shout = tool({
  name: "broadcast",
  title: "Tell a circle",
  description:
    "Tell all agents of a circle, yours by default, something that concerns every one of them. " +
    "It never reaches the human. Do not use it when one peer will do (notify_peer), or for " +
    "questions (ask): it interrupts everyone.",
  hints: SAYS,
  input: z.object({
    message: Text,
    circle: circle.describe("The circle to tell"),
    idempotency_key,
  }),
  output: z.object({
    sent_to: z.array(z.object({ peer_id: z.string(), name: z.string(), delivery_id: z.string() })),
    skipped: z.array(z.object({ peer_id: z.string(), reason: z.string() })),
    failed: z.array(z.object({ peer_id: z.string(), error: z.string() })),
  }),
  async run({ message, circle, idempotency_key }, { caller, call, signal }) {
    const body = { from_peer: speakerOf(caller), text: message, circle };
    const told = await call(broadcast, { body, headers: onceBy(idempotency_key), signal });
    const names = told.sent_to.map(({ name }) => `@${name}`).join(", ");
    const missed = [
      ...told.skipped.map(({ peer_id, reason }) => `${peer_id}: ${reason}`),
      ...told.failed.map(({ peer_id, error }) => `${peer_id}: ${error}`),
    ];
    const lines = [`Sent to ${told.sent_to.length}${names ? `: ${names}` : ""}.`];
    if (missed.length > 0) lines.push(`Not sent to ${missed.join("; ")}.`);
    return { text: lines.join("\n"), data: told };
  },
});

const list = tool({
  name: "list_peers",
  title: "List the peers",
  description:
    "List the agents and the human who can be asked or told something, with what each works on. " +
    "Use it before the first ask, or when a name is unknown. Do not poll it to wait for a reply.",
  hints: LOOKS,
  input: z.object({ circle: circle.describe("Only this circle; all of them by default") }),
  output: z.object({ peers: z.array(PeerCard) }),
  async run({ circle }, { caller, call, signal }) {
    const found = await call(listPeers, { query: { listed: "true", circle }, signal });
    const peers = found.peers.filter(({ status }) => status !== "retired");
    const lines = peers.map((peer) => {
      const you = peer.peer_id === caller.peer_id ? " (you)" : "";
      return `- ${describe(peer)}${you}`;
    });
    return { text: lines.join("\n") || "Nobody is here.", data: { peers } };
  },
});

const whoami = tool({
  name: "whoami",
  title: "Who am I",
  description:
    "Tell which peer you are: your name, circle and peer_id. Use it when you must name yourself " +
    "to another peer, or when ack is refused as not_the_recipient. Not needed before other tools.",
  hints: LOOKS,
  input: z.object({}),
  output: z.object({
    known: z.boolean(),
    name: z.string(),
    proof: z.string().describe("What tells the mesh who you are"),
    peer: PeerCard.nullable(),
  }),
  async run(_, { caller, call, signal }) {
    const { peer_id, name, proof } = caller;
    if (peer_id === null) {
      return {
        text: `You are not a registered peer; others see you as "${name}". You can ask and ` +
          "notify, and get replies with wait_on_ack; nothing can be sent to you.",
        data: { known: false, name, proof, peer: null },
      };
    }
    const peer = await call(getPeer, { params: { id: peer_id }, query: {}, signal });
    return {
      text: `You are ${describe(peer)}; ${peer.peer_id}.`,
      data: { known: true, name: peer.name, proof, peer },
    };
  },
});

const setDescription = tool({
  name: "set_description",
  title: "Say what you work on",
  description:
    "Say in one sentence what you are working on, so that others know whom to ask. Use it when " +
    "you begin something new. It fades after a quarter of an hour. Do not put messages, secrets " +
    "or progress reports here.",
  hints: SETTLES,
  input: z.object({ description: z.string().max(2000) }),
  output: z.object({ peer: PeerCard }),
  async run({ description }, { caller, call, signal }) {
    const params = { id: speakerOf(caller) };
    const peer = await call(describePeer, { params, body: { description }, signal });
    return { text: `You are now ${describe(peer)}.`, data: { peer } };
  },
});

/** In the order in which a model reads them. */
export const TOOLS: readonly Tool[] = [
  ask,
  waitOnAck,
  ack,
  decline,
  notify,
  shout,
  list,
  whoami,
  setDescription,
  ...SPAWN_TOOLS,
];

/** The header of a call that is done once. */
function onceBy(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { "idempotency-key": key };
}

/** Whoever speaks, as the other rooms are told. */
function speakerOf({ peer_id, name }: McpCaller): string {
  return peer_id ?? name;
}

/** Waits for the end of an ask, as long as it may. */
async function waitFor(id: string, seconds: number, visit: Visit) {
  const timeout_seconds = Math.min(seconds, WAIT_SECONDS_MAX);
  const found = await visit.call(waitAsk, {
    params: { id },
    body: { peer_id: speakerOf(visit.caller), timeout_seconds },
    signal: visit.signal,
  });
  if (found.status === "resolved") {
    return { text: await tellEnding(found, visit), data: toEnding(found) };
  }
  const text = `No reply to ${id} in ${timeout_seconds} s. The ask stays open: ${comeBack(id)}`;
  return { text, data: PENDING };
}

function comeBack(id: string): string {
  return `get the reply later with wait_on_ack(correlation_id="${id}").`;
}

type Told = Wire<typeof describePeer>;

/** One line; a description is another's text, and stays between quotation marks. */
function describe({ name, circle, role, backend, status, turn_state, description }: Told): string {
  const state = turn_state ? `${status}, ${turn_state}` : status;
  const what = description ? `: ${JSON.stringify(description)}` : "";
  return `@${name} (${backend ?? role}, circle ${circle}, ${state})${what}`;
}
