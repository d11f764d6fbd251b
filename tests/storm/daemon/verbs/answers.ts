/** Verbs that answer, cancel and await asks, and that use the human's inbox. */

import { identOf } from "../snapshot.ts";
import type { PendingWait } from "../expectations.ts";
import type { Storm, Verb } from "../storm.ts";
import { SECRET_WORD } from "../texts.ts";
import { pickAsk, recordAccepted } from "./accepted.ts";

const WAIT_SECONDS = [0, 5, 45, 50];

// deno-fmt-ignore
export const ANSWER_VERBS: readonly Verb[] = [
  { name: "ack",              weight: 16,  run: (storm) => answer(storm, "/ack", storm.chance.oneIn(3) ? {} : { message: SECRET_WORD }) },
  { name: "decline",          weight: 6,  run: (storm) => answer(storm, "/decline", { reason: SECRET_WORD }) },
  { name: "cancel",           weight: 6,  run: cancel },
  { name: "wait",             weight: 10,  run: wait },
  { name: "hang up",          weight: 3,  run: cancelWait },
  { name: "inbox read",       weight: 4,  run: (storm) => postToItem(storm, "read", {}) },
  { name: "inbox reply",      weight: 8,  run: inboxReply },
];

export async function answer(
  storm: Storm,
  path: string,
  more: Record<string, unknown>,
): Promise<void> {
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
