/**
 * What spawns need from other features, and the record of a started agent that is not stored yet.
 */

import type { Terminals } from "../../host/tmux/terminals.ts";
import type { ProcessControl } from "../../host/processes.ts";
import type { Role } from "../peers/schemas.ts";
import type { Backend } from "../agents/contract.ts";
import type { Pane } from "../../host/tmux/pane.ts";
import type { SpawnSettings } from "./commands.ts";
import type { SpawnRequest } from "./contract.ts";
import type { Spawn } from "./store.ts";

/** The fields of a registered peer that spawns need. */
export interface SpawnPeer {
  readonly peer_id: string;
  readonly name: string;
  readonly circle: string;
  readonly backend: Backend | null;
  readonly path: string | null;
  readonly last_seen: number | null;
  readonly tmux_socket: string | null;
  readonly pane_id: string | null;
}

export interface SpawnDeps {
  readonly terminals: Terminals;
  readonly settings: SpawnSettings;
  readonly peers: {
    /** Resolves a sender as every route does. */
    sender(argument: string): { peer_id: string | null; name: string; circle: string | null };
    get(peer_id: string): SpawnPeer | undefined;
    /** The peer registered on a pane. */
    findByPane(pane_id: string, tmux_socket: string): SpawnPeer | undefined;
    /** The default name of a peer. */
    nameOf(path: string, backend: Backend): string;
    refuseReserved(name: string): void;
    /** Gives a registered peer the circle, role and name that the spawn request asked for. */
    reassign(peer_id: string, request: { name?: string; circle: string; role: Role }): void;
  };
  /** Whether an adapter delivers messages to this backend. */
  canDeliverTo(backend: Backend): boolean;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
  readonly processes: ProcessControl;
  /** Whether the backend's hooks register its agents. */
  registersItself(backend: Backend): boolean;
  /** Registers a spawned agent that does not register before its first prompt. */
  linkSilentAgent(
    spawned: Pick<Spawn, "spawn_id" | "backend" | "tmux_socket" | "pane_id">,
  ): Promise<void>;
  notify(
    note: { from_peer: string; to_peer: string; text: string },
    requestContext: { proven_human: boolean },
  ): void;
}

/** A started agent that is not yet stored. */
export interface LaunchedAgent {
  readonly request: SpawnRequest;
  readonly folder: string;
  readonly circle: string;
  readonly spawn_id: string;
  /** The sender: a peer id, or a name that belongs to no peer. */
  readonly from: string;
  readonly socket: string;
  readonly pane: Pane;
  /** When the pane was opened. An earlier registration on this pane belongs to another agent. */
  readonly at: number;
}
