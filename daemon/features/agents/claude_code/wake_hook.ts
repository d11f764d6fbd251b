/** `mesh hook claude-code Wake`: waits beside its session until a message has to wake it. */

import { systemClock } from "kit/core/clock.ts";
import type { WaitForWake, WakeHookDeps } from "../definition.ts";

/** Maximum time to wait for a daemon that restarts. */
const DAEMON_AWAY_MS_MAX = 60_000;
const RETRY_INTERVAL_MS = 1_000;
/** The exit code on which Claude Code wakes the session with the hook's output. */
const EXIT_WAKE = 2;

type Post = WakeHookDeps["post"];

/** Returns once the session is woken, or once there is no reason to wait. */
export const waitForWake: WaitForWake = async (session_id, hook) => {
  const { post, write, clock = systemClock } = hook;
  let answered_at: number | undefined;
  while (true) {
    const answer = await tryPost(post, { session_id });
    // No daemon has answered yet, so this hook does not wait for one. The hook of the next turn
    // tries again.
    if (answer === undefined && answered_at === undefined) return 0;
    if (answer !== undefined) answered_at = clock.monotonic();
    const { then, text, delivery_id } = answer ?? { then: "again" };
    if (then === "write" && typeof text === "string") {
      write(`${text}\n`);
      await tryPost(post, { session_id, written: delivery_id });
      return EXIT_WAKE;
    }
    if (then !== "again" || clock.monotonic() - (answered_at ?? 0) > DAEMON_AWAY_MS_MAX) return 0;
    await clock.sleep(RETRY_INTERVAL_MS);
  }
};

/** Posts to the daemon. If the request is aborted, the daemon counts as stopped. */
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
