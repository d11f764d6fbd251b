/** The machine that the daemon runs on: agents' adapters, tmux, processes, files and the clock. */

import { join } from "kit/core/path.ts";
import type { Clock, Ids, Monotonic } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { Panes, type Terminals } from "../host/tmux/terminals.ts";
import { LivenessCache } from "../host/liveness_cache.ts";
import type { ProcessTable } from "../host/processes.ts";
import { TmuxServers } from "../host/tmux/tmux.ts";
import { KittyServers } from "../host/kitty/kitty.ts";
import type { TerminalServers } from "../host/terminal_server.ts";
import { kindOf, kittyAddressOf } from "../host/terminal_addresses.ts";
import type { Adapter, HookReader, Hooks } from "../features/agents/adapter.ts";
import type { SessionFiles } from "../features/agents/sessions/session_files.ts";
import { ToolClients } from "../features/agents/tool_clients.ts";
import { AGENTS } from "../features/agents/registry.ts";
import type { Backend } from "protocol/agents/contract.ts";
import type { RunCommandLine } from "protocol/api/command_lines.ts";
import type { PaneRoot } from "../host/tmux/pane.ts";
import { ownSocket, type PaneObserver, paneObserverOf } from "../host/tmux/pane_observer.ts";
import type { PublicFetch } from "kit/net/outgoing/public_fetch.ts";
import type { CallerFacts } from "../host/sockets/caller_facts.ts";
import type { PortTable } from "../host/sockets/ports.ts";
import type { Files } from "../host/files.ts";
import type { ProgramRunner } from "../host/programs.ts";
import type { GitHost } from "../features/changes/git/git.ts";
import type { KnownFailures } from "../features/agents/selftest/known_failures.ts";
import type { BusAccess, OpenMachines } from "../machines/machines.ts";
import type { IdCodec } from "../features/messages/id_codec.ts";
import type { Markers } from "../features/messages/urgent_messages.ts";
import type { OpenSocket } from "../api/relay/relay_client.ts";
import type { PeerIds } from "../features/peers/identity/peer_ids.ts";
import type { OpenTelemetry } from "../api/telemetry/telemetry.ts";
import type { ConfigInForce } from "./config.ts";

/** The parts of the machine that the daemon uses. Tests pass their own. */
export interface Platform {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly machine: string;
  /** Where the settings come from. */
  readonly settings: Pick<ConfigInForce, "path" | "origins">;
  /** Makes message ids with the daemon's key. */
  idCodec(key: string): IdCodec;
  /** Makes the ids of this daemon's peers. */
  peerIds(daemon_id: string): PeerIds;
  readonly processes: ProcessTable;
  /** Reads the panes of this machine's terminals. */
  readonly paneObserver: PaneObserver;
  readonly pid: number;
  adapters(): readonly Adapter[];
  readonly hooks: Hooks;
  readonly toolClients: ToolClients;
  /** Files that show hooks that an urgent message waits. */
  readonly markers: Markers;
  /** The transports that failed their last selftest. */
  readonly knownFailures: KnownFailures;
  /** Starts and ends agents in tmux. */
  readonly terminals: Terminals;
  /** Stores attachments. */
  readonly files: Files;
  /** Runs acceptance checks of jobs. */
  readonly programs: ProgramRunner;
  /** Runs git, for what changed in folders. */
  readonly git: GitHost;
  /** The folder in which work trees are joined and checked. */
  readonly joining_folder: string;
  /** Opens a socket to the relay; undefined without a relay. */
  readonly openSocket: OpenSocket | undefined;
  /** The network of machines; undefined without a bus. */
  readonly machines: MachinesPlatform | undefined;
  /** Why the network of machines cannot be used although a bus is set; undefined if it can. */
  readonly bus_fault?: string | undefined;
  /** Builds traces; undefined without a collector. */
  readonly openTelemetry: OpenTelemetry | undefined;
  /** Sends an HTTP request to the relay, or to the collector of traces. */
  readonly send: (request: Request) => Promise<Response>;
  /** Sends an HTTP request to an address that somebody else has given. */
  readonly sendPublicly: PublicFetch;
  /** The ports of this machine. */
  readonly ports: PortTable;
  /** Runs the command lines of processes that start no runtime; absent without a command line. */
  readonly runCommandLine?: RunCommandLine;
  /** Identifies callers by the kernel's tables. */
  readonly callers: CallerFacts;
  /** Loads the reader of an agent's session files; undefined if it keeps none. */
  sessionFilesOf(backend: string): Promise<SessionFiles | undefined>;
  /** The session and the first process of a pane in tmux; undefined in another terminal. */
  paneOf(tmux_socket: string, pane_id: string): Promise<PaneRoot | undefined>;
}

/** The service that reaches other machines, which is loaded only where it is needed. */
export interface MachinesPlatform {
  readonly open: OpenMachines;
  readonly access: BusAccess;
  readonly membership: { readonly url: string; readonly name: string };
}

/** The parts that reach agents. */
export interface AgentsPlatform
  extends
    AsyncDisposable,
    Pick<Platform, "hooks" | "toolClients" | "paneObserver" | "terminals" | "paneOf"> {
  readonly processes: Pick<ProcessTable, "isAlive" | "parentOf" | "startTimeOf">;
  readonly adapters: readonly Adapter[];
  /** Closes unused tmux connections. */
  tick(now: Monotonic): void;
}

export interface PlatformOptions extends Pick<Platform, "clock" | "ids" | "log"> {
  readonly state: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Loads every agent's adapter. */
export async function loadAgents(
  { clock, ids, log, state, env }: PlatformOptions,
): Promise<AgentsPlatform> {
  const state_dir = join(state, "tmux");
  Deno.mkdirSync(state_dir, { recursive: true, mode: 0o700 });
  const tmuxServers = new TmuxServers({
    clock,
    ids,
    log,
    state_dir,
    search_path: env["PATH"] ?? "",
  });
  const kittyServers = new KittyServers({ clock, log, state_dir: join(state, "kitty") });
  const terminalServers: TerminalServers = {
    at: (address) => (kindOf(address) === "kitty" ? kittyServers : tmuxServers).at(address),
  };
  const livenessCache = new LivenessCache();
  const toolClients = new ToolClients(livenessCache);
  const hasTools = (agent_pid: number) => toolClients.has(agent_pid);
  const host = { terminalServers, clock, log, isAlive: livenessCache.isAlive, hasTools, env };
  const runtimes = await Promise.all(AGENTS.map((agent) => agent.open(host)));
  const hooks: { [B in Backend]?: HookReader } = {};
  for (const runtime of runtimes) {
    if (runtime.hooks) hooks[runtime.adapter.backend] = runtime.hooks;
  }
  return {
    processes: livenessCache,
    adapters: runtimes.map(({ adapter }) => adapter),
    hooks,
    toolClients,
    paneObserver: paneObserverOf(terminalServers, ownSocket(env), kittyAddressOf(env)),
    terminals: new Panes({ tmuxServers, clock, log, env }),
    async paneOf(tmux_socket, pane_id) {
      if (kindOf(tmux_socket) !== "tmux") return undefined;
      const found = await tmuxServers.at(tmux_socket).panes();
      return found.ok ? found.panes.find((pane) => pane.pane_id === pane_id) : undefined;
    },
    tick: (now) => tmuxServers.tick(now),
    async [Symbol.asyncDispose]() {
      livenessCache[Symbol.dispose]();
      await tmuxServers[Symbol.asyncDispose]();
    },
  };
}
