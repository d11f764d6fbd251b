/** What the runner of fires needs of the house. */

import type { DeliveryState } from "../../messages/contract.ts";
import type { PeerStatus } from "../../peers/contract.ts";
import type { Backend } from "../../agents/contract.ts";
import type * as z from "zod";

/** A peer, as far as a fire needs to know it. */
export interface ExecutorPeer {
  readonly peer_id: string;
  readonly status: z.output<typeof PeerStatus>;
  readonly addressable: boolean;
  readonly turn_state: string | null;
  readonly turn_at: number | null;
  readonly path: string | null;
}

/** An agent that is to be started for a fire. */
export interface StartRequest {
  readonly path: string;
  readonly backend: Backend;
  readonly profile?: string | undefined;
  readonly circle: string;
  readonly from_peer: string;
  /** Whose session it takes up, where that is possible. */
  readonly resumes: string | undefined;
  /** By which its pane is found again, if we end before it is written down. */
  readonly mark: string;
}

/** What was started, until it is written down. */
export interface StartedExecutor {
  readonly resumed: boolean;
  /** Writes it down, inside of the caller's transaction; its id. */
  record(): string;
  /** Ends what nobody waits for any more. */
  undo(): Promise<void>;
}

/** A check as it is configured. */
export interface Check {
  readonly argv: readonly string[];
  readonly timeout_seconds: number;
}

/** What came of a program: `exit` is null where it did not end by itself. */
export interface ProgramResult {
  readonly exit: number | null;
  /** The end of what it wrote. */
  readonly output: string;
}

/** The folder that a path names, without a link in it; else why it may not be used. */
export type Folder =
  | { readonly ok: true; readonly folder: string }
  | { readonly ok: false; readonly why: string };

export type State = z.output<typeof DeliveryState>;

export interface FireDeps {
  readonly peers: {
    /** Undefined for one that was never registered, or is closed. */
    get(peer_id: string): ExecutorPeer | undefined;
    /** Whether it is proved that nothing of it runs, nor will again. */
    isDead(peer_id: string): boolean;
    /** Whether it is away, and nothing but its own word would tell of it: no process, no pane. */
    isUntraceable(peer_id: string): boolean;
  };
  readonly delivery: {
    /** Accepts a fire's message for delivery; refuses with a problem. */
    send(note: {
      readonly from_peer: string;
      readonly to_peer: string;
      readonly text: string;
      readonly proven_human: boolean;
    }): { delivery_id: string; state: State };
    stateOf(delivery_id: string): State | undefined;
    /** Takes back what is still queued. */
    withdraw(delivery_id: string, reason: string): void;
  };
  readonly spawns: {
    /** Checks all and starts it; refuses with a problem. */
    startExecutor(asked: StartRequest): Promise<StartedExecutor>;
    /** Who has registered; `over` when nobody is waited for. */
    status(spawn_id: string): { peer_id: string | null; over: boolean };
    /** Ends what was started under a mark, and never written down. */
    cleanUp(mark: string, from_peer: string): Promise<void>;
    /** Ends what is proved to have been spawned; false where the daemon's own end comes first. */
    release(
      spawn_id: string,
      peer_id: string | null,
      options: { terminal: boolean },
    ): Promise<boolean>;
  };
  readonly checks: Readonly<Record<string, Check>>;
  /** Follows the links of a path, and tells whether `spawn.allowed_paths` holds what it leads to. */
  folder(path: string): Promise<Folder>;
  /** Runs a program in a folder, without a shell. `cwd` has no link in it: see `folder`. */
  run(
    argv: readonly string[],
    options: { cwd: string; timeout_ms: number },
  ): Promise<ProgramResult>;
}
