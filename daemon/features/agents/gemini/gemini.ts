/**
 * Gemini CLI's adapter. The pane is the only transport. Turns are reported by hooks and the screen.
 */

import { isAlive } from "../../../host/processes.ts";
import type { TmuxServers } from "../../../host/tmux/tmux.ts";
import type { Adapter, AgentPeer, Observation } from "../adapter.ts";
import { createPaneTransport, type PaneOptions } from "../pane_transport.ts";
import { geminiScreen, turnStateShown } from "./screen.ts";
import { resumeOf } from "./sessions.ts";

/**
 * The pause between paste and Enter. For 40 ms after a paste, Gemini CLI takes Enter as a line
 * break (0.61.0). That time ends when the screen is redrawn, which on a busy machine took longer
 * than the usual 300 ms.
 */
const SETTLE_MS = 1_000;

/**
 * How long a composer must be shown before a paste. A resumed session shows its composer, hides it
 * while it reads its records, and shows it again. A text that is pasted into the first composer can
 * be lost (0.61.0).
 */
const WARM_UP_MS = 2_000;

export interface GeminiOptions extends Omit<PaneOptions, "screen"> {
  /** Gemini CLI's configuration folder, e.g. `~/.gemini`. */
  readonly config_dir: string;
}

export function geminiAdapter(options: GeminiOptions): Adapter {
  const timing = { settle_ms: SETTLE_MS, warm_up_ms: WARM_UP_MS };
  const pane = createPaneTransport({ ...timing, ...options, screen: geminiScreen });
  return {
    backend: "gemini",
    transports: () => [pane],
    transport: ({ pane_id }) => pane_id === null ? "none" : "pane",
    observe: (peer) => observe(peer, options),
    resume: (session) => Promise.resolve(resumeOf(options.config_dir, session)),
  };
}

/**
 * No hook reports that a dialog was dismissed, so the screen overrules what a hook reported about a
 * dialog. To tell idle from working, the hooks are more reliable.
 */
async function observe(
  peer: AgentPeer,
  { tmuxServers, isAlive: checkAlive = isAlive }: GeminiOptions,
): Promise<Observation | undefined> {
  const { agent_pid, agent_started, turn_state } = peer;
  if (agent_pid === null) return undefined;
  const alive = checkAlive(agent_pid, agent_started ?? undefined);
  const shownState = alive ? await turnStateOnScreen(peer, tmuxServers) : undefined;
  if (shownState === "awaiting_input" || (shownState && turn_state === "awaiting_input")) {
    return { alive, turn_state: shownState, source: "screen" };
  }
  return { alive, turn_state: null, source: "process table" };
}

async function turnStateOnScreen({ tmux_socket, pane_id }: AgentPeer, tmuxServers: TmuxServers) {
  if (tmux_socket === null || pane_id === null) return undefined;
  const captured = await tmuxServers.at(tmux_socket).cache.screen(pane_id);
  if (!captured.ok) return undefined;
  return turnStateShown({ above: [], lines: captured.lines, cursor_x: 0, cursor_y: 0 });
}
