/** Verbs about limits: an account reaches one, its turns end well, a person tries it again. */

import type { Storm, Verb } from "../storm.ts";
import { recordAccepted } from "./accepted.ts";
import { register } from "./peers.ts";

/** The errors that end turns at a limit, and one that is none. */
const ERRORS = ["usage_limit_exceeded", "rate_limit", "billing_error", "server_error"];
const RESET_S = 10;
const RESETS_S = [undefined, 1, 30, 300, 3_600, -60, 10 ** 9];

// deno-fmt-ignore
export const LIMIT_VERBS: readonly Verb[] = [
  { name: "a turn ends at a limit", weight: 3, run: (storm) => endAtLimit(storm) },
  { name: "a turn ends well",       weight: 6, run: (storm) => endWell(storm) },
  { name: "a stranger reports a limit", weight: 2, run: reportAsStranger },
  { name: "resume an account",      weight: 3, run: resume },
  { name: "try an account after its reset", weight: 2, run: tryAfterReset },
];

/** The agent's own record tells of a limit, with a time that may be a lie. */
function endAtLimit(
  storm: Storm,
  peer_id = storm.chance.pick(storm.agents).peer_id,
  seconds = storm.chance.pick(RESETS_S),
): Promise<void> {
  const { adapter, chance, w } = storm;
  if (peer_id === undefined) return Promise.resolve();
  const at = w.clock.now();
  adapter.ends.set(peer_id, {
    how: "failed",
    at,
    source: "session file",
    text: chance.pick(ERRORS),
    resets_at: seconds === undefined ? undefined : at + seconds * 1000,
    limit: { continues: chance.oneIn(4) },
    prompts_since: [],
  });
  return storm.tick(2);
}

async function endWell(
  storm: Storm,
  peer_id = storm.chance.pick(storm.agents).peer_id,
): Promise<void> {
  if (peer_id === undefined) return;
  storm.adapter.ends.delete(peer_id);
  await storm.post(`/peers/${peer_id}/turn`, { turn_state: "working", prompt: "Go on" });
  await storm.post(`/peers/${peer_id}/turn`, { turn_state: "idle", last_message: "Done" });
}

/** Any program may send this, so it holds for no other peer of the account. */
async function reportAsStranger(storm: Storm): Promise<void> {
  const peer_id = storm.chance.pick(storm.agents).peer_id;
  if (peer_id === undefined) return;
  const before = storm.limitOfAccount()?.state;
  await storm.post(`/peers/${peer_id}/turn`, { turn_state: "idle", error: "usage_limit_reached" });
  const after = storm.limitOfAccount()?.state;
  if (before !== after) {
    throw new Error(`A stranger changed the account from ${before} to ${after}`);
  }
}

async function resume(storm: Storm): Promise<void> {
  const limit = storm.limitOfAccount();
  if (limit) storm.w.daemon.limits.resume(limit.account_id);
  await storm.settle();
}

/** Messages for both agents wait for the reset; then a turn of either ends well. */
async function tryAfterReset(storm: Storm): Promise<void> {
  const { agents, chance } = storm;
  for (const agent of agents) await register(storm, agent);
  await endAtLimit(storm, chance.pick(agents).peer_id, RESET_S);
  for (const { name: to_peer } of [...agents, ...agents]) {
    const text = storm.nextText();
    const body = { from_peer: "stranger", to_peer, text };
    recordAccepted(storm, await storm.post("/notify", body), text);
  }
  for (let second = 0; second < 2 * RESET_S; second++) await storm.tick();
  storm.markStart();
  await endWell(storm, chance.pick(agents).peer_id);
  await storm.tick(2);
}
