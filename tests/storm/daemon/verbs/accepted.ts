/** The messages that the daemon has accepted: they are recorded, and picked for later verbs. */

import type { Answer } from "../daemon_runs.ts";
import { identOf } from "../snapshot.ts";
import type { Storm } from "../storm.ts";

/** Mostly an open ask, else any. */
export function pickAsk(storm: Storm): string | undefined {
  if (storm.asks.length === 0) return undefined;
  const isOpen = (id: string) => storm.before.byIdent.get(identOf(id))?.ask_state === "open";
  const open = storm.chance.oneIn(4) ? [] : storm.asks.filter(isOpen);
  return storm.chance.pick(open.length > 0 ? open : storm.asks);
}

/** Records a message that was answered with 200: it must never be lost. */
export function recordAccepted(storm: Storm, answer: Answer, text: string): void {
  const id = answer["correlation_id"] ?? answer["delivery_id"];
  if (answer.http !== 200 || "error" in answer) storm.refused.add(text);
  if (answer.http !== 200 || typeof id !== "string" || "error" in answer) return;
  storm.accepted.set(identOf(id), text);
  if (id.startsWith("ask-")) storm.asks.push(id);
}
