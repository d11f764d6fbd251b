/** The adapters and hook readers of production, and what they stand on: tmux and the clock. */

import { join } from "node:path";
import type { Clock, Ids } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { Panes, type Terminals } from "../host/tmux/terminals.ts";
import { LivenessCache } from "../host/liveness_cache.ts";
import type { IsAlive } from "../host/processes.ts";
import { TmuxServers } from "../host/tmux/tmux.ts";
import type { Adapter, HookReader, Hooks } from "../features/agents/adapter.ts";
import { AGENTS } from "../features/agents/registry.ts";
import type { Backend } from "../features/agents/contract.ts";
import { ownSocket, type PaneObserver, paneObserverOf } from "../host/tmux/pane_observer.ts";

export interface AgentsPlatform extends AsyncDisposable {
  readonly isAlive: IsAlive;
  readonly adapters: readonly Adapter[];
  readonly hooks: Hooks;
  readonly paneObserver: PaneObserver;
  readonly terminals: Terminals;
  /** The name of the tmux session that a pane is in. */
  sessionOf(tmux_socket: string, pane_id: string): Promise<string | undefined>;
  /** Lets go of what nobody uses any more. */
  tick(now: number): void;
}

export interface PlatformOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
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
  const livenessCache = new LivenessCache();
  const { isAlive } = livenessCache;
  const host = { tmuxServers, clock, log, isAlive, env };
  const runtimes = await Promise.all(AGENTS.map((agent) => agent.open(host)));
  const hooks: { [B in Backend]?: HookReader } = {};
  for (const runtime of runtimes) {
    if (runtime.hooks) hooks[runtime.adapter.backend] = runtime.hooks;
  }
  return {
    isAlive,
    adapters: runtimes.map(({ adapter }) => adapter),
    hooks,
    paneObserver: paneObserverOf(tmuxServers, ownSocket(env)),
    terminals: new Panes({ tmuxServers, log, env }),
    async sessionOf(tmux_socket, pane_id) {
      const found = await tmuxServers.at(tmux_socket).panes();
      return found.ok ? found.panes.find((pane) => pane.pane_id === pane_id)?.session : undefined;
    },
    tick: (now) => tmuxServers.tick(now),
    async [Symbol.asyncDispose]() {
      livenessCache[Symbol.dispose]();
      await tmuxServers[Symbol.asyncDispose]();
    },
  };
}
