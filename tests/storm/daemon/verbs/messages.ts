/** Verbs that send, answer, read and acknowledge messages. */

import { identOf } from "../snapshot.ts";
import type { Storm, Verb } from "../storm.ts";
import { SECRET_WORD } from "../texts.ts";
import { pickAsk, recordAccepted } from "./accepted.ts";
import { answer } from "./answers.ts";

/** More than one turn of a replay sends, less than a queue holds. */
const QUEUED_COUNT = 120;

// deno-fmt-ignore
export const MESSAGE_VERBS: readonly Verb[] = [
  { name: "ask",              weight: 30, run: (storm) => ask(storm) },
  { name: "pull ask",         weight: 8,  run: (storm) => ask(storm, { reply_delivery: "pull" }) },
  { name: "follow-up",        weight: 6,  run: followUp },
  { name: "notify",           weight: 30, run: notify },
  { name: "broadcast",        weight: 6,  run: broadcast },
  { name: "burst",            weight: 8,  run: flood },
  { name: "burst during a replay",           weight: 1,  run: notifyWhileConnecting },
  { name: "send by socket", weight: 10,  run: sendVerbBySocket },
  { name: "read",             weight: 30, run: read },
  { name: "receipt",          weight: 30, run: receipt },
  { name: "receipt for another's message",    weight: 6,  run: strayReceipt },
  { name: "lease",            weight: 8,  run: lease },
  { name: "receipts for a lease",           weight: 8,  run: sendReceipts },
  { name: "prompt",           weight: 4,  run: prompt },
];

async function ask(storm: Storm, more: Record<string, unknown> = {}): Promise<void> {
  const text = storm.nextText();
  const body = { from_peer: storm.anyPeerName(), to_peer: storm.anyPeerName(), text, ...more };
  recordAccepted(storm, await storm.post("/ask", body), text);
}

async function followUp(storm: Storm): Promise<void> {
  const reply_to = pickAsk(storm);
  if (reply_to) await ask(storm, { reply_to });
}

async function notify(storm: Storm): Promise<void> {
  const text = storm.nextText();
  const body = { from_peer: storm.anyPeerName(), to_peer: storm.anyPeerName(), text };
  recordAccepted(storm, await storm.post("/notify", body), text);
}

async function broadcast(storm: Storm): Promise<void> {
  const text = storm.nextText();
  const answer = await storm.post("/broadcast", { from_peer: storm.actor().name, text });
  for (const { delivery_id } of (answer["sent_to"] ?? []) as { delivery_id: string }[]) {
    storm.accepted.set(identOf(delivery_id), text);
  }
}

/** Many verbs in one turn: they share a commit. */
export async function flood(storm: Storm): Promise<void> {
  const verbs = [
    ask,
    notify,
    receipt,
    (storm: Storm) => answer(storm, "/ack", { message: SECRET_WORD }),
  ];
  await Promise.all(
    Array.from({ length: 10 }, () => storm.chance.pick(verbs)(storm)),
  );
}

/** A queue longer than one turn of a replay, with more messages during that replay. */
async function notifyWhileConnecting(storm: Storm): Promise<void> {
  const actor = storm.chance.pick(storm.actors);
  const notifyPeer = async (to_peer: string) => {
    const text = storm.nextText();
    recordAccepted(
      storm,
      await storm.post("/notify", { from_peer: "stranger", to_peer, text }),
      text,
    );
  };
  await actor.drop();
  await Promise.all(Array.from({ length: QUEUED_COUNT }, () => notifyPeer(actor.name)));
  const connecting = actor.connect(storm.w, {}, storm.chance.oneIn(2));
  for (let turn = 0; turn < QUEUED_COUNT / 20; turn++) {
    await notifyPeer(actor.name);
    await notifyPeer(storm.anyPeerName());
  }
  await connecting;
}

async function sendVerbBySocket(storm: Storm): Promise<void> {
  const { socket } = storm.actor();
  const type = storm.chance.pick(["ask", "notify", "ack", "decline"]);
  const text = storm.nextText();
  const replyFields = { correlation_id: pickAsk(storm), message: SECRET_WORD, reason: SECRET_WORD };
  const fields = type === "ask" || type === "notify"
    ? { to_peer: storm.anyPeerName(), text }
    : replyFields;
  await socket?.send({ type, request_id: text, ...fields });
  const result = socket?.of("result").find(({ request_id }) => request_id === text);
  if (result && "text" in fields) recordAccepted(storm, { ...result, http: 200 }, text);
}

/** Every connected client reads. */
async function read(storm: Storm): Promise<void> {
  for (const actor of storm.actors) if (!storm.chance.oneIn(3)) await actor.read(storm.chance);
}

function receipt(storm: Storm): Promise<void> {
  const status = storm.chance.pick([
    "accepted",
    "accepted",
    "accepted",
    "seen",
    "failed",
    "rejected",
  ]);
  return storm.chance.pick(storm.actors).receipt(storm.chance, status);
}

/** A receipt for another peer's message, or for none, changes nothing. */
async function strayReceipt(storm: Storm): Promise<void> {
  const actor = storm.actor();
  const others = storm.before.messages.filter(({ to_peer_id }) => to_peer_id !== actor.peer_id);
  const ident = others.length > 0 ? storm.chance.pick(others).ident : "ffffffffffff";
  const status = storm.chance.pick(["accepted", "seen", "failed", "pushed"]);
  await actor.socket?.send({ type: "delivery_ack", delivery_id: `qd-${ident}`, status });
}

async function lease(storm: Storm): Promise<void> {
  const actor = storm.actor();
  const { peer_id } = actor;
  if (!peer_id) return;
  const max_results = storm.chance.pick([1, 3, 50]);
  const query = `peer_id=${peer_id}&max_results=${max_results}`;
  const answer = await storm.get(`/deliveries/pending?${query}`);
  if (answer.http !== 200 || !answer["drain_id"]) return;
  const { deliveries, drain_id } = answer as unknown as {
    deliveries: { delivery_id: string; from_peer_name: string; text: string }[];
    drain_id: string;
  };
  const lost = storm.chance.oneIn(4);
  actor.recordLeased(peer_id, deliveries, lost);
  const delivery_ids = deliveries.map(({ delivery_id }) => delivery_id);
  if (!lost) storm.leases.push({ peer_id, drain_id, delivery_ids });
}

/** A receipt for a lease: in time, late, or repeated. */
async function sendReceipts(storm: Storm): Promise<void> {
  if (storm.leases.length === 0) return;
  const { peer_id, drain_id, delivery_ids } = storm.chance.pick(storm.leases.slice(-4));
  const status = storm.chance.pick(["accepted", "accepted", "seen", "failed"]);
  const target = storm.chance.oneIn(2) ? { drain_id } : { delivery_ids };
  const answer = await storm.post("/deliveries/receipts", { ...target, status });
  if (answer.http !== 200) return;
  if (status === "failed") return;
  for (const delivery_id of delivery_ids) storm.recordReceipt(peer_id, delivery_id);
}

/** An agent's prompt holds the ids of its messages: they are seen. */
async function prompt(storm: Storm): Promise<void> {
  const { peer_id } = storm.actor();
  if (!peer_id) return;
  const { texts } = storm.actor().receivedLog(peer_id);
  const isOut = (id: string) => storm.before.byIdent.get(identOf(id))?.state !== "queued";
  const read = [...texts.keys()].slice(-3).filter(isOut);
  const answer = await storm.post(`/peers/${peer_id}/turn`, {
    turn_state: storm.chance.pick(["working", "idle"]),
    prompt: `[mesh] ${read.map((id) => `id="${id}"`).join(" ")}`,
  });
  if (answer.http !== 200) return;
  for (const delivery_id of read) storm.recordReceipt(peer_id, delivery_id);
}
