/** Inspects a pane before anything is typed: its foreground process and its screen. */

import type { ReportedWait } from "protocol/peers/record.ts";
import type { Reason } from "protocol/reasons.ts";
import {
  argumentsOf,
  foregroundOf,
  groupOf,
  isAlive,
  isDescendant,
  isStopped,
} from "../../host/processes.ts";
import type {
  PreparedKeys,
  TerminalServer,
  TerminalServers,
  TypeResult,
} from "../../host/terminal_server.ts";
import type { Pane } from "../../host/tmux/pane.ts";
import type { AgentPeer } from "./adapter.ts";
import { isShellPrompt } from "./shells.ts";
import { DIALOG_PATTERN, dialogRow, type Screen, stripEscapes, type View } from "./screens.ts";

/** Rows above the screen that are read, because a long line may begin there. */
const HISTORY_ROWS = 60;

export interface InspectionOptions {
  readonly terminalServers: TerminalServers;
  readonly screen: Screen;
  /** Better evidence of an open dialog than the screen, e.g. the agent's own registry. */
  readonly hasOpenDialog?: (peer: AgentPeer) => Promise<boolean>;
  /** The action at a shell's prompt, which executes what it reads. Default: `refused`. */
  readonly shells?: "refused" | "typed";
}

/** A pane that passed the checks, in its state at that time. */
export interface InspectedPane {
  readonly ok: true;
  readonly server: TerminalServer;
  readonly pane: Pane;
  readonly view: View;
  /** The process group in the foreground; undefined if it is not known. */
  readonly foreground: number | undefined;
  /** The objections that the caller overrules. */
  readonly overruled: readonly Reason[];
}

export type Inspection = InspectedPane | {
  ok: false;
  reason: Reason;
  /** The dialog that the screen shows. */
  dialog?: ReportedWait | undefined;
};

/** The accepted reasons of a caller that accepts none. */
const NOTHING: ReadonlySet<Reason> = new Set();

/** All checks: the agent is in the foreground, no dialog is open, and the composer is empty. */
export async function inspect(
  options: InspectionOptions,
  peer: AgentPeer,
  accepted = NOTHING,
): Promise<Inspection> {
  const inspection = await inspectForeground(options, peer, accepted);
  if (!inspection.ok) return inspection;
  const isEmpty = options.screen.composerEmpty(inspection.view);
  if (isEmpty) return inspection;
  const reason = isEmpty === undefined ? "screen_unknown" : "draft_present";
  if (!accepted.has(reason)) return { ok: false, reason };
  const overruled = new Set(inspection.overruled).add(reason);
  return { ...inspection, overruled: [...overruled] };
}

/** The checks that also apply after a paste: the agent is in the foreground, without a dialog. */
export async function inspectForeground(
  { terminalServers, screen, shells, hasOpenDialog }: InspectionOptions,
  peer: AgentPeer,
  accepted = NOTHING,
): Promise<Inspection> {
  const { tmux_socket, pane_id } = peer;
  if (tmux_socket === null || pane_id === null) return { ok: false, reason: "no_pane" };
  const has_dialog = await hasOpenDialog?.(peer) ?? false;
  if (has_dialog && !accepted.has("dialog_open")) return { ok: false, reason: "dialog_open" };
  const server = terminalServers.at(tmux_socket);
  const pane = await readPane(server, pane_id);
  if (typeof pane === "string") return { ok: false, reason: pane };
  const captured = await server.capture(pane_id, HISTORY_ROWS);
  if (!captured.ok) return { ok: false, reason: unreachableReason(server) };
  const { cursor_x, cursor_y, height, pane_pid } = pane;
  const above = Math.max(0, captured.lines.length - height);
  const [history, lines] = [captured.lines.slice(0, above), captured.lines.slice(above)];
  const view: View = { above: history, lines, cursor_x, cursor_y };
  const foreground = foregroundOf(pane_pid);
  const reasons = [
    foregroundRefusal(peer, { pane_pid, foreground }, shells),
    dialogRefusal(has_dialog || screen.dialogOpen(view)),
  ].filter((reason) => reason !== undefined);
  const refused = reasons.find((reason) => !accepted.has(reason));
  if (refused !== undefined) {
    const dialog = refused === "dialog_open" ? screen.dialogShown(view) : undefined;
    return { ok: false, reason: refused, dialog };
  }
  return { ok: true, server, pane, view, foreground, overruled: reasons };
}

function dialogRefusal(isOpen: boolean | undefined): Reason | undefined {
  if (isOpen === undefined) return "screen_unknown";
  return isOpen ? "dialog_open" : undefined;
}

/** The reason why the registered agent would not read typed text; undefined if it would. */
function foregroundRefusal(
  { agent_pid, agent_started }: AgentPeer,
  { pane_pid, foreground }: { readonly pane_pid: number; readonly foreground: number | undefined },
  shells: InspectionOptions["shells"] = "refused",
): Reason | undefined {
  if (agent_pid === null || agent_started === null) return "no_process";
  if (!isAlive(agent_pid, agent_started)) return "agent_gone";
  if (!isDescendant(agent_pid, pane_pid)) return "agent_elsewhere";
  // The agent must be in the foreground group itself, not merely in the same process tree. A child
  // in its own group is an editor or a pager to which the agent lent the terminal. A parent is the
  // shell that suspended the agent.
  if (foreground === undefined || groupOf(agent_pid) !== foreground) return "not_foreground";
  if (isStopped(agent_pid)) return "not_foreground";
  return shells === "refused" && isShellPrompt(argumentsOf(agent_pid) ?? [])
    ? "shell_prompt"
    : undefined;
}

async function readPane(server: TerminalServer, pane_id: string): Promise<Pane | Reason> {
  if (!server.isPaneId(pane_id)) return "no_pane";
  const paneResult = await server.pane(pane_id);
  // tmux refuses a command for a pane that is gone.
  const isRefused = !paneResult.ok && paneResult.reason === "error" && server.kind === "tmux";
  if (isRefused) return "pane_missing";
  if (!paneResult.ok) return unreachableReason(server);
  if (!paneResult.pane) return "pane_missing";
  if (paneResult.pane.dead) return "pane_dead";
  if (paneResult.pane.synchronized) return "synchronized";
  return paneResult.pane.in_mode ? "copy_mode" : paneResult.pane;
}

/** Types unless the pane has changed since its inspection; the terminal does both in one step. */
export function typeIfUnchanged(
  { pane, view, foreground }: InspectedPane,
  prepared: PreparedKeys,
  { draft_may_change = false, shown_row }: {
    readonly draft_may_change?: boolean;
    /** A row of the screen that may not change either. */
    readonly shown_row?: number;
  } = {},
): Promise<TypeResult> {
  const textOf = (row: number) => stripEscapes(view.lines[row] ?? "");
  return prepared.typeIf({
    pane,
    foreground,
    dialog: { pattern: DIALOG_PATTERN, row: dialogRow(view) },
    shown: shown_row === undefined ? undefined : { row: shown_row, text: textOf(shown_row) },
    cursor_row: draft_may_change ? undefined : textOf(pane.cursor_y),
  });
}

/** The reason for a terminal that does not answer. */
export function unreachableReason({ kind }: Pick<TerminalServer, "kind">): Reason {
  return `${kind}_unreachable`;
}

/** The reason for a terminal whose connection broke while it typed. */
export function lostReason({ kind }: Pick<TerminalServer, "kind">): Reason {
  return `${kind}_lost`;
}
