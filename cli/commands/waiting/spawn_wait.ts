/** Waits until a started agent is a peer, or waits for its user, which it then says. */

import { ApiError } from "kit/http/client.ts";
import type { Spawned, SpawnState } from "protocol/spawn/contract.ts";
import { spawnSentence, waitSentence } from "protocol/derived/waits.ts";
import { getPeer, getSpawn } from "protocol/generated/endpoints.ts";
import { isUnreachable } from "../../client/daemon_client.ts";
import { CommandError, unlessRejected } from "../../client/failures.ts";
import type { CommandContext } from "../../command/command.ts";
import { styled } from "../../output/terminal.ts";

const POLL_MS = 250;

/**
 * Returns the id of the peer that the agent has become; undefined if it has not registered within
 * `ms`. Prints what the agent waits for, once. Throws if its pane has ended before.
 */
export async function waitForAgent(
  context: CommandContext,
  spawned: Spawned,
  ms: number,
): Promise<string | undefined> {
  const { call, clock, terminal } = context;
  const params = { id: spawned.spawn_id };
  let shown: string | undefined;
  for (let polls = Math.ceil(ms / POLL_MS);; polls--) {
    const state = await call(getSpawn, { params });
    const { display_name: name, peer_id, pane_id, waits_for: wait } = state;
    const sentence = peer_id !== null
      ? waitSentence(await call(getPeer, { params: { id: peer_id }, query: {} }))
      : wait
      ? spawnSentence({ ...state, name, wait, attach: pane_id })
      : undefined;
    if (sentence !== undefined && sentence !== shown) {
      terminal.printError(styled("yellow", sentence));
      shown = sentence;
    }
    if (peer_id !== null) return peer_id;
    if (state.registration_state === "timed_out") throw new CommandError(ended(state));
    if (polls <= 0) return undefined;
    await clock.sleep(POLL_MS);
  }
}

/** The daemon gives a spawn up at once when its pane has ended, and later for no other reason. */
function ended({ display_name: name, path }: Pick<SpawnState, "display_name" | "path">): string {
  return `${name} has ended without connecting to mesh; start it yourself in ${path} to see why`;
}

/** As `waitForAgent`, for an agent that was started already: a refusal only ends the wait. */
export async function showFirstWait(
  context: CommandContext,
  spawned: Spawned,
  ms: number,
): Promise<void> {
  const isRefusal = (error: unknown) => error instanceof ApiError || isUnreachable(error);
  await unlessRejected(isRefusal, () => waitForAgent(context, spawned, ms));
}
