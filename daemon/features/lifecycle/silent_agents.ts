/** Links spawned agents whose hooks do not run before the first prompt. */

import { recoverableProblem } from "kit/core/problem.ts";
import type { Log } from "kit/core/log.ts";
import type { Backend } from "../agents/contract.ts";
import { definitionOf } from "../agents/registry.ts";
import type { Linking } from "./linking.ts";

export interface SpawnedPane {
  readonly backend: Backend;
  readonly tmux_socket: string;
  readonly pane_id: string;
}

/**
 * Registers the agent of a pane if a transport reaches it; if not, the spawn calls this again
 * later. `resumed_peer_id` is the peer whose session the agent resumes.
 */
export async function linkSilentAgent(
  { linking, log }: { readonly linking: Linking; readonly log: Log },
  { backend, tmux_socket, pane_id }: SpawnedPane,
  resumed_peer_id: string | undefined,
): Promise<void> {
  if (!definitionOf(backend)?.silent_until_prompt) return;
  try {
    await linking.linkPane(pane_id, { backend, tmux_socket }, resumed_peer_id);
  } catch (error) {
    const refusal = recoverableProblem(error);
    if (!refusal) throw error;
    log.info("A spawned agent cannot be linked", { pane_id, code: refusal.code });
  }
}
