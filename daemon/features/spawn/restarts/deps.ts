/** What restarts need of the features below them. */

import type { Replacement } from "../../peers/superseded.ts";
import type { PreflightDeps, Subject } from "./preflight.ts";

export interface RestartDeps extends PreflightDeps {
  readonly shutdownSignal: AbortSignal;
  mustBeEnabled(): Promise<void>;
  /** The one peer that an argument names. */
  find(argument: string, circle: string | undefined): { peer_id: string };
  /** Whoever speaks: the id of a peer, or the name that stands for none. */
  sender(argument: string): string;
  subject(peer_id: string): Subject | undefined;
  /** Whether such an agent's own hooks register it. */
  registersItself(backend: string): boolean;
  readonly peers: {
    offline(peer_id: string, reason: string): void;
    markSeen(peer_id: string): void;
    /** Registers a peer for itself, in its pane, as this process. */
    register(peer_id: string, agent_pid: number): void;
  };
  /** Keeps in mind, until the daemon ends, whose offline posts are stale. */
  recordReplacement(replacement: Replacement): void;
  notify(
    note: { from_peer: string; to_peer: string; text: string },
    requestContext: { proven_human: boolean },
  ): void;
}
