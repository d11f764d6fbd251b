/** Dependencies of spawns and restarts, and the record of a started agent before it is stored. */

import type { Terminals } from "../../host/tmux/terminals.ts";
import type { ProcessTable } from "../../host/processes.ts";
import type { Hooks } from "../agents/adapter.ts";
import type { Backend } from "protocol/agents/contract.ts";
import type { SessionFiles } from "../agents/sessions/session_files.ts";
import type { AgentTransports } from "../agents/transports.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { Notifications } from "../notifications/notifications.ts";
import type { Origins } from "../origins/origins.ts";
import type { AgentPeers } from "../peers/agent_peers.ts";
import type { Directory } from "../peers/directory.ts";
import type { SupersededExecutions } from "../peers/identity/superseded.ts";
import type { Peers } from "../peers/peers.ts";
import type { PeerProfiles } from "../peers/profiles.ts";
import type { PeerTurns } from "../peers/turns.ts";
import type { PeerWaits } from "../peers/waits.ts";
import type { Leases } from "../leases/leases.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { Pane } from "../../host/tmux/pane.ts";
import type { PaneObserver } from "../../host/tmux/pane_observer.ts";
import type { SpawnSettings } from "./commands.ts";
import type { FolderScope } from "./folders.ts";
import type { SpawnRequest } from "protocol/spawn/contract.ts";
import type { Spawn } from "./store.ts";

export interface SpawnDeps {
  readonly budgets: Budgets;
  readonly terminals: Terminals;
  readonly settings: SpawnSettings;
  /** The folders in which agents may start. */
  readonly folders: FolderScope;
  /** The name of this machine. */
  readonly machine: string;
  readonly processes: ProcessTable;
  readonly transports: AgentTransports;
  /** The backends whose hooks register their agents. */
  readonly hooks: Hooks;
  readonly agentPeers: AgentPeers;
  /** The reader of an agent's own session files; undefined if the agent keeps none. */
  sessionFilesOf(backend: Backend): Promise<SessionFiles | undefined>;
  readonly directory: Directory;
  readonly peers: Peers;
  readonly profiles: PeerProfiles;
  readonly leases: Leases;
  readonly superseded: SupersededExecutions;
  readonly turns: PeerTurns;
  readonly waits: PeerWaits;
  readonly inbox: Inbox;
  readonly paneObserver: Pick<PaneObserver, "screen">;
  readonly notifications: Notifications;
  readonly origins: Pick<Origins, "includeCopy">;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
  readonly effects: SpawnEffects;
}

/** Effects of a spawn on higher features. */
export interface SpawnEffects {
  /** Registers a spawned agent that does not register before its first prompt. */
  silent(
    spawned: Pick<
      Spawn,
      "spawn_id" | "backend" | "tmux_socket" | "pane_id" | "resumed_peer_id"
    >,
  ): Promise<void>;
  /** A spawned agent has registered as this peer, after the commit. */
  registered(spawn_id: string, peer_id: string): void;
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
  /** The session that the agent resumes, and the peer that had it. */
  readonly resumes?: { readonly session_id: string; readonly peer_id: string | null };
  /** The peer whose session the agent begins with a copy of. */
  readonly copies?: string;
  /** When the pane was opened. An earlier registration on this pane belongs to another agent. */
  readonly at: number;
}
