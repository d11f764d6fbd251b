/** `mesh hook claude-code Wake`: waits beside its session until a message is to wake it. */

import { systemClock } from "kit/core/clock.ts";
import type { WaitForWake, WakeHookDeps } from "../definition.ts";

/** The daemon may be started anew meanwhile; one that stays away is not waited for. */
const DAEMON_AWAY_MS_MAX = 60_000;
const RETRY_INTERVAL_MS = 1_000;
/** Claude Code wakes the session with what a hook that ends so has written. */
const EXIT_WAKE = 2;

type Post = WakeHookDeps["post"];

/** Returns once this session is woken, or need not wait any more. */
export const waitForWake: WaitForWake = async (session_id, hook) => {
  const { post, write, clock = systemClock } = hook;
  let answered_at: number | undefined;
  while (true) {
    const answer = await tryPost(post, { session_id });
    // Nobody waits for a daemon that never was: the next turn's hook will find it.
    if (answer === undefined && answered_at === undefined) return 0;
    if (answer !== undefined) answered_at = clock.now();
    const { then, text, delivery_id } = answer ?? { then: "again" };
    if (then === "write" && typeof text === "string") {
      write(`${text}\n`);
      await tryPost(post, { session_id, written: delivery_id });
      return EXIT_WAKE;
    }
    if (then !== "again" || clock.now() - (answered_at ?? 0) > DAEMON_AWAY_MS_MAX) return 0;
    await clock.sleep(RETRY_INTERVAL_MS);
  }
};

/** A line that broke is a daemon that went. */
async function tryPost(
  post: Post,
  body: Record<string, unknown>,
): Promise<Record<string, unknown> | undefined> {
  try {
    const answer = await post(body);
    return answer === undefined ? undefined : JSON.parse(answer);
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}
