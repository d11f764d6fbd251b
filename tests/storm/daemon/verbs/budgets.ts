/** Verbs that give asks budgets, and answer the questions about spent ones. */

import * as z from "zod";
import type { Storm, Verb } from "../storm.ts";
import { recordAccepted } from "./accepted.ts";

// deno-fmt-ignore
export const BUDGET_VERBS: readonly Verb[] = [
  { name: "ask with a budget",      weight: 4, run: askWithBudget },
  { name: "answer about a budget",  weight: 3, run: decide },
];

async function askWithBudget(storm: Storm): Promise<void> {
  const text = storm.nextText();
  const budget = `${1 + storm.chance.below(8)}-turns,${1 + storm.chance.below(9)}m`;
  const body = { from_peer: storm.anyPeerName(), to_peer: storm.anyPeerName(), text, budget };
  recordAccepted(storm, await storm.post("/ask", body), text);
}

/** Somebody answers as the human: goes on, stops, or interrupts. */
async function decide(storm: Storm): Promise<void> {
  const statement = "select question_id from budgets where question_id is not null order by seq";
  const open = storm.w.daemon.ctx.db.values(z.string(), statement);
  if (open.length === 0) return;
  const option_id = storm.chance.pick(["go_on", "go_on", "stop", "stop_now"]);
  const from_peer = storm.w.daemon.directory.human()?.peer_id;
  await storm.post("/answer", { correlation_id: storm.chance.pick(open), from_peer, option_id });
}
