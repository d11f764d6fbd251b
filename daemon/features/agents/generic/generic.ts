/** The adapter for any program in a pane: no hooks, no known dialogs, no proof of delivery. */

import { kindOf } from "../../../host/terminal_addresses.ts";
import type { TerminalServers } from "../../../host/terminal_server.ts";
import type { Pane } from "../../../host/tmux/pane.ts";
import type { Adapter, AgentPeer, Observation } from "../adapter.ts";
import { observeProcess, paneAdapter } from "../pane_adapter.ts";
import { type PaneOptions, PaneTransport } from "../pane_transport.ts";
import {
  dialogIn,
  drawnCursor,
  looksLikeDialog,
  type Screen,
  stripEscapes,
  type View,
  visibleAscii,
} from "../screens.ts";

export function genericAdapter(options: Omit<PaneOptions, "screen">): Adapter {
  const pane = new PaneTransport({ ...options, screen: genericScreen });
  return paneAdapter(pane, { backend: "generic", observe: (peer) => observe(peer, options) });
}

/**
 * Checks if the program is alive. Its process decides, unless the terminal reports the pane as
 * dead. Turns cannot be observed.
 */
async function observe(
  peer: AgentPeer,
  { terminalServers, isAlive }: Pick<PaneOptions, "terminalServers" | "isAlive">,
): Promise<Observation | undefined> {
  const observed = observeProcess(peer, isAlive);
  if (observed?.alive === false) return observed;
  const pane = await paneOf(peer, terminalServers);
  const terminal = kindOf(peer.tmux_socket ?? "");
  if (pane === "missing") return observed ?? { alive: false, turn_state: null, source: terminal };
  return pane ? { alive: !pane.dead, turn_state: null, source: `${terminal} pane` } : observed;
}

/** The peer's pane; `missing` if its terminal has none or is gone, undefined without an answer. */
async function paneOf(
  peer: AgentPeer,
  terminalServers: TerminalServers,
): Promise<Pane | "missing" | undefined> {
  if (peer.tmux_socket === null || peer.pane_id === null) return undefined;
  const listed = await terminalServers.at(peer.tmux_socket).cache.panes();
  if (!listed.ok) return listed.reason === "no_server" ? "missing" : undefined;
  return listed.panes.get(peer.pane_id) ?? "missing";
}

/** A terminal in line mode keeps 4,095 bytes of a line and drops the rest (n_tty). */
const LINE_BYTES_MAX = 3_500;

/**
 * The composer is the line at the cursor. It counts as empty if it is blank or ends in a prompt
 * sign (`$ # % > ❯ › »`). Any other line counts as a draft: text after the first sign, text right
 * of the cursor, a question (`[Y/n]`, `Password:`), a line without a sign. Not detected: text typed
 * without echo, a draft of spaces, a draft above the cursor's line, a program that is busy.
 *
 * Many programs hide the terminal's cursor, leave it on a blank line below, and draw their own.
 * Then the composer reaches from the line with the sign to that cursor. A placeholder, which is
 * faint or coloured text with the cursor at its start, is no draft.
 */
export const genericScreen: Screen = {
  bytes_max: LINE_BYTES_MAX,
  newlines: "marked",
  dialogShown: ({ lines }) => dialogIn(lines.map(stripEscapes)) ?? { kind: "dialog" },
  dialogOpen({ lines }) {
    return looksLikeDialog(lines.map(stripEscapes));
  },
  composerEmpty(view) {
    const drawn = drawnComposer(view);
    if (drawn) return drawn.text.trim() === "";
    const line = stripEscapes(view.lines[view.cursor_y] ?? "");
    const prompt = /^.*?([$#>❯›»]|(?<!\d)%)(?=\s|$)/.exec(line)?.[0] ?? "";
    return line.slice(prompt.length).trim() === "";
  },
  composerHolds(view, text) {
    const { above, lines, cursor_y } = view;
    const bottom = drawnComposer(view)?.bottom ?? cursor_y;
    const rows = [...above, ...lines.slice(0, bottom + 1)].map(stripEscapes);
    return visibleAscii(rows.join("")).endsWith(visibleAscii(text));
  },
};

/** A prompt sign at the start of a line, in a box or not. */
const SIGN = /^[\s│┃|]*[$#>❯›»%]\s/;

/** The composer of a program that draws its own cursor: its text, and the row of the cursor. */
function drawnComposer({ lines, cursor_y }: View): { text: string; bottom: number } | undefined {
  if (stripEscapes(lines[cursor_y] ?? "").trim() !== "") return undefined;
  const drawn = drawnCursor(lines);
  if (!drawn) return undefined;
  const rows = [...lines.slice(0, drawn.row).map(stripEscapes), drawn.before];
  const top = rows.findLastIndex((row) => SIGN.test(row));
  if (top === -1) return undefined;
  const text = rows.slice(top).join("\n").replace(SIGN, "");
  return { text: `${text}${drawn.typed}`, bottom: drawn.row };
}
