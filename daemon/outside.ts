/** The adapters and hook readers of production, and what they stand on: tmux and the clock. */

import { join } from "node:path";
import type { Clock, Ids } from "kit/clock.ts";
import type { Log } from "kit/log.ts";
import { Panes, type Terminals } from "./panes.ts";
import { type IsAlive, Pulses } from "./processes.ts";
import { Tmuxes } from "./tmux.ts";
import type { Adapter, Hooks } from "./agents/contract.ts";
import { claudeCodeAdapter } from "./agents/claude_code/claude_code.ts";
import { claudeCodeHooks } from "./agents/claude_code/hooks.ts";
import { codexAdapter } from "./agents/codex/codex.ts";
import { codexHooks } from "./agents/codex/hooks.ts";
import { codexHome } from "./agents/codex/threads.ts";
import { geminiAdapter } from "./agents/gemini/gemini.ts";
import { geminiReader } from "./agents/gemini/hooks.ts";
import { configDir as geminiDir } from "./agents/gemini/sessions.ts";
import { copilotAdapter } from "./agents/copilot/copilot.ts";
import { copilotReader } from "./agents/copilot/hooks.ts";
import { configDir as copilotDir } from "./agents/copilot/sessions.ts";
import { genericAdapter } from "./agents/generic/generic.ts";
import { ownSocket, type PaneSights, sightsOf } from "./pane_sights.ts";
import { opencodeAdapter } from "./agents/opencode/opencode.ts";
import { dataDir } from "./agents/opencode/sessions.ts";

export interface AgentsOutside extends AsyncDisposable {
  readonly isAlive: IsAlive;
  readonly adapters: readonly Adapter[];
  readonly hooks: Hooks;
  readonly sights: PaneSights;
  readonly terminals: Terminals;
  /** The name of the tmux session that a pane is in. */
  sessionOf(tmux_socket: string, pane_id: string): Promise<string | undefined>;
  /** Lets go of what nobody uses any more. */
  beat(now: number): void;
}

export interface OutsideOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly state: string;
  readonly env: Readonly<Record<string, string>>;
}

/** One folder an agent; this is the list of them. */
export function agentsOf({ clock, ids, log, state, env }: OutsideOptions): AgentsOutside {
  const state_dir = join(state, "tmux");
  Deno.mkdirSync(state_dir, { recursive: true, mode: 0o700 });
  const tmuxes = new Tmuxes({ clock, ids, log, state_dir, search_path: env["PATH"] ?? "" });
  const pulses = new Pulses();
  const { isAlive } = pulses;
  const ground = { tmuxes, clock, log, isAlive };
  return {
    isAlive,
    adapters: [
      claudeCodeAdapter({ ...ground, config_dirs: claudeDirs(env) }),
      codexAdapter({ ...ground, codex_home: codexHome(env), env }),
      copilotAdapter({ ...ground, config_dir: copilotDir(env) }),
      geminiAdapter({ ...ground, config_dir: geminiDir(env) }),
      genericAdapter(ground),
      opencodeAdapter({ ...ground, data_dir: dataDir(env) }),
    ],
    hooks: {
      "claude-code": claudeCodeHooks,
      codex: codexHooks(),
      copilot: copilotReader({ config_dir: copilotDir(env), clock }),
      gemini: geminiReader(geminiDir(env)),
    },
    sights: sightsOf(tmuxes, ownSocket(env)),
    terminals: new Panes({ tmuxes, log, env }),
    async sessionOf(tmux_socket, pane_id) {
      const found = await tmuxes.at(tmux_socket).panes();
      return found.ok ? found.panes.find((pane) => pane.pane_id === pane_id)?.session : undefined;
    },
    beat: (now) => tmuxes.beat(now),
    async [Symbol.asyncDispose]() {
      pulses[Symbol.dispose]();
      await tmuxes[Symbol.asyncDispose]();
    },
  };
}

/** Where Claude Code keeps what it knows of its sessions. */
function claudeDirs(env: Readonly<Record<string, string>>): string[] {
  const home = join(env["HOME"] ?? "/", ".claude");
  const named = env["CLAUDE_CONFIG_DIR"];
  return named ? [named, home] : [home];
}
