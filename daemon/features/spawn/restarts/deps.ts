/** What restarts need from other features. */

import type { Replacement } from "../../peers/identity/superseded.ts";
import type { PreflightDeps, Subject } from "./preflight.ts";

export interface RestartDeps extends PreflightDeps {
  readonly shutdownSignal: AbortSignal;
  mustBeEnabled(): Promise<void>;
  /** Resolves a peer argument. */
  find(argument: string, circle: string | undefined): { peer_id: string };
  /** The sender: a peer id, or a name that belongs to no peer. */
  sender(argument: string): string;
  subject(peer_id: string): Subject | undefined;
  /** Whether the backend's hooks register its agents. */
  registersItself(backend: string): boolean;
  readonly peers: {
    offline(peer_id: string, reason: string): void;
    markSeen(peer_id: string): void;
    /** Registers a peer in its pane with this process. */
    register(peer_id: string, agent_pid: number): void;
  };
  /**
   * Remembers a replaced execution until the daemon ends, so that its reports of going offline are
   * ignored.
   */
  recordReplacement(replacement: Replacement): void;
  notify(
    note: { from_peer: string; to_peer: string; text: string },
    requestContext: { proven_human: boolean },
  ): void;
}
