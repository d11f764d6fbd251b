/** The verbs of a storm on answers that are checked. */

import { AGENTS, type ProofStorm, type ProofVerb } from "./proof_storm.ts";

/** Longer than asks stay open. */
const DAY_SECONDS = 90_000;

// deno-fmt-ignore
export const PROOF_VERBS: readonly ProofVerb[] = [
  { name: "ask",                             weight: 8, run: ask },
  { name: "ask, and kill the daemon",        weight: 3, run: (storm) => storm.killDuring(() => ask(storm)) },
  { name: "answer",                          weight: 14, run: answer },
  { name: "answer, and kill the daemon",     weight: 5, run: (storm) => storm.killDuring(() => answer(storm)) },
  { name: "a check holds",                   weight: 8, run: (storm) => storm.endCheck(0) },
  { name: "a check fails",                   weight: 12, run: (storm) => storm.endCheck(1) },
  { name: "a check cannot run",              weight: 2, run: (storm) => storm.endCheck(127) },
  { name: "a check holds, and kill the daemon", weight: 4, run: (storm) => storm.killDuring(() => storm.endCheck(0)) },
  { name: "a check fails, and kill the daemon", weight: 4, run: (storm) => storm.killDuring(() => storm.endCheck(1)) },
  { name: "decline",                         weight: 1, run: decline },
  { name: "cancel",                          weight: 2, run: cancel },
  { name: "cancel, and kill the daemon",     weight: 1, run: (storm) => storm.killDuring(() => cancel(storm)) },
  { name: "an agent ends",                   weight: 2, run: end },
  { name: "an agent ends, and the daemon is killed", weight: 1, run: (storm) => storm.killDuring(() => end(storm)) },
  { name: "a day passes",                    weight: 1, run: (storm) => storm.tick(DAY_SECONDS) },
  { name: "tick",                            weight: 6, run: (storm) => storm.tick() },
  { name: "restart the daemon",              weight: 2, run: (storm) => storm.restart() },
];

async function ask(storm: ProofStorm): Promise<void> {
  const to_peer = storm.chance.pick(AGENTS);
  for (const name of ["web", to_peer]) {
    const place = { circle: "main", path: storm.folderOf(to_peer), backend: "sdk" };
    await storm.post("/peers", { name, ...place });
  }
  const body = { from_peer: "web", to_peer, text: "Fix it", prove: ["tests"] };
  const { correlation_id } = await storm.post("/ask", body);
  if (typeof correlation_id === "string") storm.accepted.add(correlation_id);
}

/** The id of an open ask. */
function openAsk(storm: ProofStorm): string | undefined {
  const open = [...storm.rows().values()].filter(({ ask_state }) => ask_state === "open");
  return open.length > 0 ? storm.chance.pick(open).correlation_id : undefined;
}

async function answer(storm: ProofStorm): Promise<void> {
  const id = openAsk(storm);
  if (id !== undefined) await storm.answer(id);
}

async function decline(storm: ProofStorm): Promise<void> {
  const correlation_id = openAsk(storm);
  if (correlation_id) await storm.post("/decline", { correlation_id, reason: "Not mine" });
}

async function cancel(storm: ProofStorm): Promise<void> {
  const id = openAsk(storm);
  if (id !== undefined) await storm.post(`/asks/${id}/cancel`, { peer_id: "web" });
}

async function end(storm: ProofStorm): Promise<void> {
  const name = storm.chance.pick(AGENTS);
  await storm.post(`/peers/${name}/offline`, { terminal: true });
}
