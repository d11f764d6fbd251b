/** Links spawned agents whose hooks do not run yet: before the first prompt, or at a dialog. */

import { recoverableProblem } from "protocol/problems.ts";
import type { Log } from "kit/core/log.ts";
import { definitionOf } from "../agents/registry.ts";
import type { Linking, SpawnedPane } from "./linking.ts";

/**
 * Registers the agent of a pane (`Linking.linkSpawned`); if it cannot yet, the spawn calls this
 * again later. `resumed_peer_id` is the peer whose session the agent resumes.
 */
export async function linkSilentAgent(
  { linking, log }: { readonly linking: Linking; readonly log: Log },
  { backend, tmux_socket, pane_id }: SpawnedPane,
  resumed_peer_id: string | undefined,
): Promise<void> {
  const is_silent = definitionOf(backend)?.silent_until_prompt ?? false;
  try {
    const spawned = { backend, tmux_socket, pane_id };
    await linking.linkSpawned(spawned, { is_silent, peer_id: resumed_peer_id });
  } catch (error) {
    const refusal = recoverableProblem(error);
    if (!refusal) throw error;
    log.info("A spawned agent cannot be linked", { pane_id, code: refusal.code });
  }
}
