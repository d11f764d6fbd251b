/** What the spawn desk needs of the house, and what it holds between starting and writing down. */

import type { Terminals } from "../../host/tmux/terminals.ts";
import type { ProcessControl } from "../../host/processes.ts";
import type { Role } from "../peers/contract.ts";
import type { Backend } from "../agents/contract.ts";
import type { Pane } from "../../host/tmux/pane.ts";
import type { SpawnSettings } from "./commands.ts";
import type { SpawnAsked } from "./contract.ts";
import type { Spawn } from "./store.ts";

/** A registered peer, as far as spawns need to know it. */
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
    /** Whoever speaks, as any route resolves it. */
    sender(argument: string): { peer_id: string | null; name: string; circle: string | null };
    get(peer_id: string): SpawnPeer | undefined;
    /** The peer that is registered on a pane. */
    findByPane(pane_id: string, tmux_socket: string): SpawnPeer | undefined;
    /** What a peer is called that gives itself no name. */
    nameOf(path: string, backend: Backend): string;
    refuseReserved(name: string): void;
    /** Gives a peer what was asked for it. */
    reassign(peer_id: string, asked: { name?: string; circle: string; role: Role }): void;
  };
  /** Whether anything of ours could carry a message to such an agent's pane. */
  canDeliverTo(backend: Backend): boolean;
  /** Aborts as the daemon goes down. */
  readonly shutdownSignal: AbortSignal;
  readonly processes: ProcessControl;
  /** Whether such an agent's own hooks register it. */
  registersItself(backend: Backend): boolean;
  /** Registers whoever sits in a pane of ours and says nothing before its first prompt. */
  linkSilentAgent(
    spawned: Pick<Spawn, "spawn_id" | "backend" | "tmux_socket" | "pane_id">,
  ): Promise<void>;
  notify(
    note: { from_peer: string; to_peer: string; text: string },
    requestContext: { proven_human: boolean },
  ): void;
}

/** What was started, and is not yet written down. */
export interface LaunchedAgent {
  readonly asked: SpawnAsked;
  readonly folder: string;
  readonly circle: string;
  readonly spawn_id: string;
  /** Whoever asked: the id of a peer, or the name that stands for none. */
  readonly from: string;
  readonly socket: string;
  readonly pane: Pane;
  /** Whoever registered on the pane before is another. */
  readonly at: number;
}

/** The pane that a caller is in. */
export interface SourcePane {
  readonly socket: string;
  readonly pane: Pane;
}
