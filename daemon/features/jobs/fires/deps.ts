/** What fires need from other features. */

import type { DeliveryState } from "../../messages/contract.ts";
import type { PeerStatus } from "../../peers/schemas.ts";
import type { Backend } from "../../agents/contract.ts";
import type { JobReason } from "../transitions.ts";
import type * as z from "zod";

/** The fields of a peer that a fire needs. */
export interface ExecutorPeer {
  readonly peer_id: string;
  readonly status: z.output<typeof PeerStatus>;
  readonly addressable: boolean;
  readonly turn_state: string | null;
  readonly turn_at: number | null;
  readonly path: string | null;
}

/** An agent to start for a fire. */
export interface StartRequest {
  readonly path: string;
  readonly backend: Backend;
  readonly profile?: string | undefined;
  readonly circle: string;
  readonly from_peer: string;
  /** The peer whose session the agent resumes, if that is possible. */
  readonly resumes: string | undefined;
  /** A word by which the pane is found again if the daemon crashes before the agent is stored. */
  readonly mark: string;
}

/** A started agent that is not yet stored. */
export interface StartedExecutor {
  readonly resumed: boolean;
  /** Stores the agent in the caller's transaction, and returns its spawn id. */
  record(): string;
  /** Ends an agent that is no longer needed. */
  undo(): Promise<void>;
}

/** A configured check. */
export interface Check {
  readonly argv: readonly string[];
  readonly timeout_seconds: number;
}

/** The result of a program; `exit` is null when it did not end by itself. */
export interface ProgramResult {
  readonly exit: number | null;
  /** The end of the program's output. */
  readonly output: string;
}

/** The real path of a folder, or the reason why the folder may not be used. */
export type Folder =
  | { readonly ok: true; readonly folder: string }
  | { readonly ok: false; readonly why: string };

export type State = z.output<typeof DeliveryState>;

export interface FireDeps {
  readonly peers: {
    /** Undefined if the peer was never registered or is closed. */
    get(peer_id: string): ExecutorPeer | undefined;
    /** Whether the peer is proved to have ended, and is not being restarted. */
    isDead(peer_id: string): boolean;
    /** Whether the peer is offline, and has no known process, pane or session to observe. */
    isUntraceable(peer_id: string): boolean;
  };
  readonly delivery: {
    /** Accepts a fire's message for delivery. Throws a `Problem` on a refusal. */
    send(note: {
      readonly from_peer: string;
      readonly to_peer: string;
      readonly text: string;
      readonly proven_human: boolean;
    }): { delivery_id: string; state: State };
    stateOf(delivery_id: string): State | undefined;
    /** Drops a delivery that is still queued. */
    withdraw(delivery_id: string, reason: JobReason): void;
  };
  readonly spawns: {
    /** Checks the request and starts the agent. Throws a `Problem` on a refusal. */
    startExecutor(request: StartRequest): Promise<StartedExecutor>;
    /**
     * The peer that the spawned agent registered as. `over` is true if no registration is expected
     * any more.
     */
    status(spawn_id: string): { peer_id: string | null; over: boolean };
    /** Ends an agent that was started with this mark, if it was never stored. */
    cleanUp(mark: string, from_peer: string): Promise<void>;
    /**
     * Ends an agent that is proved to be the spawned one. Returns false if the daemon shuts down
     * first.
     */
    release(
      spawn_id: string,
      peer_id: string | null,
      options: { terminal: boolean },
    ): Promise<boolean>;
  };
  readonly checks: Readonly<Record<string, Check>>;
  /** Follows the links of a path, and checks the result against `spawn.allowed_paths`. */
  folder(path: string): Promise<Folder>;
  /** Runs a program without a shell. `cwd` is a real path: see `folder`. */
  run(
    argv: readonly string[],
    options: { cwd: string; timeout_ms: number },
  ): Promise<ProgramResult>;
}
