/** Gemini CLI: its pane is the only way in; its hooks and its screen tell of its turns. */

import { isAlive } from "../../../host/processes.ts";
import type { Tmuxes } from "../../../host/tmux/tmux.ts";
import type { Adapter, Addressee, Sighting } from "../adapter.ts";
import { type PaneOptions, paneRung } from "../pane.ts";
import { geminiScreen, turnShown } from "./screen.ts";
import { resumeOf } from "./sessions.ts";

/**
 * For 40 ms after a paste Enter is a line break (0.61.0). That time ends with a screen drawn anew,
 * which took longer than the 300 ms that are enough elsewhere, on a machine under load.
 */
const SETTLE_MS = 1_000;

/**
 * A session that is taken up again shows its composer, takes it away while it reads its records,
 * and shows it again: what is pasted at first sight of it can be lost (0.61.0).
 */
const WARM_UP_MS = 2_000;

export interface GeminiOptions extends Omit<PaneOptions, "screen"> {
  /** Gemini CLI's configuration folder, e.g. `~/.gemini`. */
  readonly config_dir: string;
}

export function geminiAdapter(options: GeminiOptions): Adapter {
  const pace = { settle_ms: SETTLE_MS, warm_up_ms: WARM_UP_MS };
  const pane = paneRung({ ...pace, ...options, screen: geminiScreen });
  return {
    backend: "gemini",
    rungs: () => [pane],
    transport: ({ pane_id }) => pane_id === null ? "none" : "pane",
    sight: (peer) => sight(peer, options),
    resume: (session) => Promise.resolve(resumeOf(options.config_dir, session)),
  };
}

/**
 * No hook tells that a dialog was dismissed, so that what the screen shows stands against what a
 * hook said of a dialog. Between idle and working the hooks are the better witness.
 */
async function sight(
  peer: Addressee,
  { tmuxes, isAlive: lives = isAlive }: GeminiOptions,
): Promise<Sighting | undefined> {
  const { agent_pid, agent_started, turn_state } = peer;
  if (agent_pid === null) return undefined;
  const alive = lives(agent_pid, agent_started ?? undefined);
  const shown = alive ? await shownIn(peer, tmuxes) : undefined;
  if (shown === "awaiting_input" || (shown && turn_state === "awaiting_input")) {
    return { alive, turn_state: shown, source: "screen" };
  }
  return { alive, turn_state: null, source: "process table" };
}

async function shownIn({ tmux_socket, pane_id }: Addressee, tmuxes: Tmuxes) {
  if (tmux_socket === null || pane_id === null) return undefined;
  const captured = await tmuxes.at(tmux_socket).looks.screen(pane_id);
  if (!captured.ok) return undefined;
  return turnShown({ above: [], lines: captured.lines, cursor_x: 0, cursor_y: 0 });
}
