/** Verbs that send, answer, read and acknowledge messages. */

import { identOf } from "../snapshot.ts";
import type { PendingWait, Storm, Verb } from "../storm.ts";
import type { Answer } from "../daemon_runs.ts";
import { SECRET_WORD } from "../texts.ts";

/** More than one turn of a replay sends, less than a queue holds. */
const QUEUED_COUNT = 120;
const WAIT_SECONDS = [0, 5, 45, 50];

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
  { name: "ack",              weight: 16,  run: (storm) => answer(storm, "/ack", storm.chance.oneIn(3) ? {} : { message: SECRET_WORD }) },
  { name: "decline",          weight: 6,  run: (storm) => answer(storm, "/decline", { reason: SECRET_WORD }) },
  { name: "cancel",           weight: 6,  run: cancel },
  { name: "wait",             weight: 10,  run: wait },
  { name: "hang up",          weight: 3,  run: cancelWait },
  { name: "inbox read",       weight: 4,  run: (storm) => postToItem(storm, "read", {}) },
  { name: "inbox reply",      weight: 8,  run: inboxReply },
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
  for (const delivery_id of delivery_ids) storm.receipted(peer_id, delivery_id);
}

/** An agent's prompt holds the ids of its messages: they are seen. */
async function prompt(storm: Storm): Promise<void> {
  const { peer_id } = storm.actor();
  if (!peer_id) return;
  const { texts } = storm.actor().received(peer_id);
  const isOut = (id: string) => storm.before.byIdent.get(identOf(id))?.state !== "queued";
  const read = [...texts.keys()].slice(-3).filter(isOut);
  const answer = await storm.post(`/peers/${peer_id}/turn`, {
    turn_state: storm.chance.pick(["working", "idle"]),
    prompt: `[mesh] ${read.map((id) => `id="${id}"`).join(" ")}`,
  });
  if (answer.http !== 200) return;
  for (const delivery_id of read) storm.receipted(peer_id, delivery_id);
}

async function answer(storm: Storm, path: string, more: Record<string, unknown>): Promise<void> {
  const correlation_id = pickAsk(storm);
  if (!correlation_id) return;
  const from_peer = storm.chance.oneIn(5) ? { from_peer: storm.anyPeerName() } : {};
  await storm.post(path, { correlation_id, ...more, ...from_peer });
}

async function cancel(storm: Storm): Promise<void> {
  const correlation_id = pickAsk(storm);
  const message = correlation_id && storm.before.byIdent.get(identOf(correlation_id));
  if (!message) return;
  const peer_id = storm.chance.oneIn(5)
    ? storm.anyPeerName()
    : message.from_peer_id ?? message.from_peer_name;
  await storm.post(`/asks/${correlation_id}/cancel`, { peer_id, reason: SECRET_WORD });
}

/** Begins to wait; an invariant checks the answer when it arrives. */
function wait(storm: Storm): Promise<void> {
  startWait(storm, {});
  return Promise.resolve();
}

async function cancelWait(storm: Storm): Promise<void> {
  const abort = new AbortController();
  const waiting = startWait(storm, { signal: abort.signal });
  await storm.w.clock.settle();
  if (waiting) waiting.abort = true;
  abort.abort();
}

function startWait(storm: Storm, init: RequestInit) {
  const correlation_id = pickAsk(storm);
  const ask = correlation_id && storm.before.byIdent.get(identOf(correlation_id));
  if (!correlation_id || !ask) return undefined;
  const peer_id = ask.from_peer_id ?? ask.from_peer_name;
  const body = { peer_id, timeout_seconds: storm.chance.pick(WAIT_SECONDS) };
  const waiting: PendingWait = {
    correlation_id,
    answer: undefined,
    error: undefined,
    abort: false,
  };
  storm.waits.push(waiting);
  storm.post(`/asks/${correlation_id}/wait`, body, init).then(
    (answer) => waiting.answer = answer,
    (error) => waiting.error = error,
  );
  return waiting;
}

async function inboxReply(storm: Storm): Promise<void> {
  const text = storm.chance.oneIn(3) ? "" : storm.nextText();
  const answer = await postToItem(storm, "reply", { text, surface: "cli" });
  if (answer?.["action"] === "asked") recordAccepted(storm, answer, text);
}

async function postToItem(storm: Storm, verb: string, body: Record<string, unknown>) {
  const { inboxItems } = storm.before;
  if (inboxItems.length === 0) return undefined;
  return await storm.post(
    `/inbox/${storm.chance.pick(inboxItems.slice(-6)).item_id}/${verb}`,
    body,
  );
}

/** Mostly an open ask, else any. */
function pickAsk(storm: Storm): string | undefined {
  if (storm.asks.length === 0) return undefined;
  const isOpen = (id: string) => storm.before.byIdent.get(identOf(id))?.ask_state === "open";
  const open = storm.chance.oneIn(4) ? [] : storm.asks.filter(isOpen);
  return storm.chance.pick(open.length > 0 ? open : storm.asks);
}

/** Records a message that was answered with 200: it must never be lost. */
function recordAccepted(storm: Storm, answer: Answer, text: string): void {
  const id = answer["correlation_id"] ?? answer["delivery_id"];
  if (answer.http !== 200 || typeof id !== "string" || "error" in answer) return;
  storm.accepted.set(identOf(id), text);
  if (id.startsWith("ask-")) storm.asks.push(id);
}
