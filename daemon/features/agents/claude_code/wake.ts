/** `mesh hook claude-code Wake`: waits beside its session until a message is to wake it. */

import { systemClock } from "kit/core/clock.ts";
import type { WaitForWaking, WakingHook } from "../definition.ts";

/** The daemon may be started anew meanwhile; one that stays away is not waited for. */
const AWAY_MS_MAX = 60_000;
const RETRY_EVERY_MS = 1_000;
/** Claude Code wakes the session with what a hook that ends so has written. */
const WAKES = 2;

type Ask = WakingHook["ask"];

/** Returns once this session is woken, or need not wait any more. */
export const waitForWaking: WaitForWaking = async (session_id, waiting) => {
  const { ask, write, clock = systemClock } = waiting;
  let heard_at: number | undefined;
  while (true) {
    const answer = await tried(ask, { session_id });
    // Nobody waits for a daemon that never was: the next turn's hook will find it.
    if (answer === undefined && heard_at === undefined) return 0;
    if (answer !== undefined) heard_at = clock.now();
    const { then, text, delivery_id } = answer ?? { then: "again" };
    if (then === "write" && typeof text === "string") {
      write(`${text}\n`);
      await tried(ask, { session_id, written: delivery_id });
      return WAKES;
    }
    if (then !== "again" || clock.now() - (heard_at ?? 0) > AWAY_MS_MAX) return 0;
    await clock.sleep(RETRY_EVERY_MS);
  }
};

/** A line that broke is a daemon that went. */
async function tried(
  ask: Ask,
  body: Record<string, unknown>,
): Promise<Record<string, unknown> | undefined> {
  try {
    const answer = await ask(body);
    return answer === undefined ? undefined : JSON.parse(answer);
  } catch (fault) {
    if (fault instanceof Error) return undefined;
    throw fault;
  }
}
