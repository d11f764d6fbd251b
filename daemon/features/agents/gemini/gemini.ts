/** Gemini CLI's adapter: only the pane. Hooks and the screen report turns. */

import type { TerminalServers } from "../../../host/terminals/terminal_server.ts";
import type { Adapter, AgentPeer, Observation } from "../adapter.ts";
import { observeProcess, paneAdapter } from "../pane_adapter.ts";
import { type PaneOptions, PaneTransport } from "../pane_transport.ts";
import { withEnd } from "../sessions/last_end.ts";
import { geminiEnds } from "./turn_ends.ts";
import { geminiScreen, turnStateShown } from "./screen.ts";
import { resumeOf } from "./sessions.ts";

/**
 * The pause between paste and Enter. For 40 ms after a paste, Gemini CLI takes Enter as a line
 * break (0.61.0). That time ends when the screen is redrawn, which on a busy machine took longer
 * than the usual 300 ms.
 */
const SETTLE_MS = 1_000;

/**
 * Time for which a composer must be shown before a paste. A resumed session shows its composer,
 * hides it while it reads its records, and shows it again. A text that is pasted into the first
 * composer can be lost (0.61.0).
 */
const WARM_UP_MS = 2_000;

interface GeminiOptions extends Omit<PaneOptions, "screen"> {
  /** Gemini CLI's configuration folder, e.g. `~/.gemini`. */
  readonly config_dir: string;
}

export function geminiAdapter(options: GeminiOptions): Adapter {
  const timing = { settle_ms: SETTLE_MS, warm_up_ms: WARM_UP_MS };
  const pane = new PaneTransport({
    ...timing,
    ...options,
    screen: geminiScreen,
    waits_for_turn_end: true,
  });
  const ends = geminiEnds(options.config_dir);
  return paneAdapter(pane, {
    backend: "gemini",
    observe: async (peer) => withEnd(await observe(peer, options), peer, ends),
    resume: (session) => resumeOf(options.config_dir, session),
  });
}

/**
 * No hook reports that a dialog was dismissed, so for dialogs the screen overrules the hooks. To
 * distinguish idle from working, the hooks are more reliable.
 */
async function observe(
  peer: AgentPeer,
  { terminalServers, isAlive }: GeminiOptions,
): Promise<Observation | undefined> {
  const observed = observeProcess(peer, isAlive);
  const turn_state = observed?.alive ? await turnStateOnScreen(peer, terminalServers) : undefined;
  const isDialogNews = turn_state === "awaiting_input" || peer.turn_state === "awaiting_input";
  return turn_state && isDialogNews ? { alive: true, turn_state, source: "screen" } : observed;
}

async function turnStateOnScreen(
  { tmux_socket, pane_id }: AgentPeer,
  terminalServers: TerminalServers,
) {
  if (tmux_socket === null || pane_id === null) return undefined;
  const captured = await terminalServers.at(tmux_socket).cache.screen(pane_id);
  if (!captured.ok) return undefined;
  return turnStateShown({ above: [], lines: captured.lines, cursor_x: 0, cursor_y: 0 });
}
