/** Gemini CLI's adapter: only the pane. Hooks and the screen report turns. */

import type { TerminalServers } from "../../../host/terminal_server.ts";
import { receivedBytes } from "../../../host/processes.ts";
import type { Adapter, AgentPeer, Observation } from "../adapter.ts";
import { observeProcess, paneAdapter } from "../pane_adapter.ts";
import { interruptInPane } from "../pane_interrupt.ts";
import { type PaneOptions, PaneTransport } from "../pane_transport.ts";
import { withEnd } from "../sessions/last_end.ts";
import { geminiEnds } from "./turn_ends.ts";
import { resumeOf } from "./sessions.ts";
import { composerScreen, type View, visibleAscii } from "../screens.ts";

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

/**
 * At a daily quota, after a turn that ended well, Gemini CLI sends 250 requests a second to the
 * model that chooses its model, and no hook runs (0.61.0).
 */
const STORM_AFTER_MS = 10_000;

interface GeminiOptions extends Omit<PaneOptions, "screen"> {
  /** Gemini CLI's configuration folder, e.g. `~/.gemini`. */
  readonly config_dir: string;
}

export function geminiAdapter(options: GeminiOptions): Adapter {
  const timing = { settle_ms: SETTLE_MS, warm_up_ms: WARM_UP_MS };
  const inspected = { ...options, screen: geminiScreen };
  const pane = new PaneTransport({ ...timing, ...inspected, waits_for_turn_end: true });
  const ends = geminiEnds(options.config_dir);
  return paneAdapter(pane, {
    backend: "gemini",
    observe: async (peer) => withEnd(await observe(peer, options), peer, ends),
    interrupt: (peer) => interruptInPane(inspected, peer),
    lastEnd: ends,
    storm: {
      after_ms: STORM_AFTER_MS,
      receivedBytes: ({ agent_pid }) => agent_pid === null ? undefined : receivedBytes(agent_pid),
    },
    account: () => ({ home: options.config_dir }),
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
  const shown = observed?.alive ? await shownOnScreen(peer, terminalServers) : undefined;
  const turn_state = shown?.turn_state;
  const isDialogNews = turn_state === "awaiting_input" || peer.turn_state === "awaiting_input";
  return turn_state && isDialogNews
    ? { ...shown, alive: true, turn_state, source: "screen" }
    : observed;
}

async function shownOnScreen(
  { tmux_socket, pane_id }: AgentPeer,
  terminalServers: TerminalServers,
): Promise<Partial<Observation> | undefined> {
  if (tmux_socket === null || pane_id === null) return undefined;
  const captured = await terminalServers.at(tmux_socket).cache.screen(pane_id);
  if (!captured.ok) return undefined;
  const view: View = { above: [], lines: captured.lines, cursor_x: 0, cursor_y: 0 };
  const turn_state = turnStateShown(view);
  return turn_state === "awaiting_input"
    ? { turn_state, waits_for: geminiScreen.dialogShown(view) }
    : turn_state && { turn_state };
}

/** A rule. The composer is below the lowest one. A dialog's box begins with a corner instead. */
const RULE = /^─{20}/;
/**
 * The composer's first row. Only `>` takes prompts. A `!` in its place means the shell mode, whose
 * lines are commands.
 */
const PROMPT = /^ > /;
const PLACEHOLDER = "Type your message or @path/to/file";
/** The cursor's column in an empty composer. */
const FIRST_COLUMN = 3;
/** The head of the table below the composer; users may hide it or choose other columns. */
const FOOTER = /^ workspace \(\/directory\)/;
/** The text that is shown while a turn runs, with the elapsed seconds. */
const RUNNING = "\\(esc to cancel. [0-9]+";

/** Tested with 0.61.0: idle, busy, with drafts, at dialogs, in shell mode. */
export const geminiScreen = composerScreen({
  find(rows) {
    const rule = rows.findLastIndex((row) => RULE.test(row));
    const top = rows.findIndex((row, at) => at > rule && PROMPT.test(`${row} `));
    if (rule < 0 || top < 0) return undefined;
    const footer = rows.findLastIndex((row) => FOOTER.test(row));
    const bottom = footer > top ? footer : rows.length;
    const [first = "", ...rest] = rows.slice(top, bottom);
    return { top, bottom, text: [first.slice(2), ...rest].join("\n") };
  },
  isEmpty({ top, text }, { cursor_x, cursor_y }) {
    if (text.trim() === "") return true;
    return text.trim() === PLACEHOLDER && cursor_x === FIRST_COLUMN && cursor_y === top;
  },
  work: { hints: [RUNNING], side: "above" },
  isCollapsed: ({ text }) => /^\[PastedText:\d+(chars|lines)\]$/.test(visibleAscii(text)),
});

/** The turn state that the screen shows; undefined if it cannot be read. */
export function turnStateShown(view: View): "idle" | "working" | "awaiting_input" | undefined {
  const dialog = geminiScreen.dialogOpen(view);
  if (dialog === undefined) return undefined;
  if (dialog) return "awaiting_input";
  return geminiScreen.work?.rowOf(view, RUNNING) !== undefined ? "working" : "idle";
}
