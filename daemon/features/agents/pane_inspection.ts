/** Inspects a pane before anything is typed: who reads it, and what its screen shows. */

import type { Reason } from "kit/core/reasons.ts";
import {
  argumentsOf,
  foregroundOf,
  groupOf,
  isAlive,
  isDescendant,
  isStopped,
} from "../../host/processes.ts";
import type { Failure } from "../../host/tmux/connection.ts";
import type { Tmux, TmuxServers } from "../../host/tmux/tmux.ts";
import { isPaneId, type Pane } from "../../host/tmux/pane.ts";
import type { AgentPeer } from "./adapter.ts";
import { isShellPrompt } from "./shells.ts";
import { DIALOG_PATTERN, dialogRow, type Screen, stripEscapes, type View } from "./screens.ts";

/** How many rows above the screen are read, because a long line may begin there. */
const HISTORY_ROWS = 60;

export interface InspectionOptions {
  readonly tmuxServers: TmuxServers;
  readonly screen: Screen;
  /** Better evidence of an open dialog than the screen, e.g. the agent's own registry. */
  readonly hasOpenDialog?: (peer: AgentPeer) => Promise<boolean>;
  /**
   * What to do at a shell's prompt. A shell executes what it reads, so nothing is typed there
   * unless this is `typed`.
   */
  readonly shells?: "refused" | "typed";
}

/** A pane that passed the checks, as it was then. */
export interface InspectedPane {
  readonly ok: true;
  readonly tmux: Tmux;
  readonly pane: Pane;
  readonly view: View;
  /** The objections that the caller overrules. */
  readonly overruled: readonly Reason[];
}

export type Inspection = InspectedPane | { ok: false; reason: Reason };

/** What the caller accepts of a pane in which nothing would be typed otherwise. */
export type Accepted = ReadonlySet<Reason>;

const NOTHING: Accepted = new Set();

export class PaneInspector {
  readonly #options: InspectionOptions;

  constructor(options: InspectionOptions) {
    this.#options = options;
  }

  /** All checks: the agent is in the foreground, no dialog is open, and the composer is empty. */
  async inspect(peer: AgentPeer, accepted = NOTHING): Promise<Inspection> {
    const inspection = await this.inspectForeground(peer, accepted);
    if (!inspection.ok) return inspection;
    const isEmpty = this.#options.screen.composerEmpty(inspection.view);
    if (isEmpty) return inspection;
    const reason = isEmpty === undefined ? "screen_unknown" : "draft_present";
    if (!accepted.has(reason)) return { ok: false, reason };
    const overruled = new Set(inspection.overruled).add(reason);
    return { ...inspection, overruled: [...overruled] };
  }

  /** The checks that also apply after a paste: the agent is in the foreground, without a dialog. */
  async inspectForeground(peer: AgentPeer, accepted = NOTHING): Promise<Inspection> {
    const { tmuxServers, screen, shells, hasOpenDialog } = this.#options;
    const { tmux_socket, pane_id } = peer;
    if (tmux_socket === null || pane_id === null) return { ok: false, reason: "no_pane" };
    const has_dialog = await hasOpenDialog?.(peer) ?? false;
    if (has_dialog && !accepted.has("dialog_open")) return { ok: false, reason: "dialog_open" };
    const tmux = tmuxServers.at(tmux_socket);
    const pane = await readPane(tmux, pane_id);
    if (typeof pane === "string") return { ok: false, reason: pane };
    const captured = await tmux.capture(pane_id, HISTORY_ROWS);
    if (!captured.ok) return { ok: false, reason: "tmux_unreachable" };
    const above = Math.max(0, captured.lines.length - pane.height);
    const view: View = {
      above: captured.lines.slice(0, above),
      lines: captured.lines.slice(above),
      cursor_x: pane.cursor_x,
      cursor_y: pane.cursor_y,
    };
    const reasons = [
      foregroundRefusal(peer, pane.pane_pid, shells),
      dialogRefusal(has_dialog || screen.dialogOpen(view)),
    ].filter((reason) => reason !== undefined);
    const refused = reasons.find((reason) => !accepted.has(reason));
    if (refused !== undefined) return { ok: false, reason: refused };
    return { ok: true, tmux, pane, view, overruled: reasons };
  }
}

function dialogRefusal(isOpen: boolean | undefined): Reason | undefined {
  if (isOpen === undefined) return "screen_unknown";
  return isOpen ? "dialog_open" : undefined;
}

/** Why the registered agent would not read what is typed; undefined if it would. */
function foregroundRefusal(
  { agent_pid, agent_started }: AgentPeer,
  pane_pid: number,
  shells: InspectionOptions["shells"] = "refused",
): Reason | undefined {
  if (agent_pid === null || agent_started === null) return "no_process";
  if (!isAlive(agent_pid, agent_started)) return "agent_gone";
  if (!isDescendant(agent_pid, pane_pid)) return "agent_elsewhere";
  const foreground = foregroundOf(pane_pid);
  // The agent must be in the foreground group itself, not merely in the same process tree. A child
  // in its own group is an editor or a pager to which the agent lent the terminal. A parent is the
  // shell that suspended the agent.
  if (foreground === undefined || groupOf(agent_pid) !== foreground) return "not_foreground";
  if (isStopped(agent_pid)) return "not_foreground";
  return shells === "refused" && isShellPrompt(argumentsOf(agent_pid) ?? [])
    ? "shell_prompt"
    : undefined;
}

async function readPane(tmux: Tmux, pane_id: string): Promise<Pane | Reason> {
  if (!isPaneId(pane_id)) return "no_pane";
  const paneResult = await tmux.pane(pane_id);
  if (!paneResult.ok) return paneResult.reason === "error" ? "pane_missing" : "tmux_unreachable";
  if (!paneResult.pane) return "pane_missing";
  if (paneResult.pane.dead) return "pane_dead";
  if (paneResult.pane.synchronized) return "synchronized";
  return paneResult.pane.in_mode ? "copy_mode" : paneResult.pane;
}

export interface Keystrokes {
  /** Commands of tmux, which run one after the other. */
  readonly commands: readonly (readonly string[])[];
  /** What to run instead in a pane that has changed. */
  readonly otherwise?: readonly (readonly string[])[];
  /** Whether the cursor and its row may have changed: the author knows of a draft there. */
  readonly draft_may_change?: boolean;
}

/** Types, unless the pane has changed since it was inspected; tmux does both in one step. */
export function typeIfUnchanged(
  inspection: InspectedPane,
  { commands, otherwise, draft_may_change = false }: Keystrokes,
): Promise<"done" | "changed" | Failure> {
  const { tmux, pane } = inspection;
  const conditions = [
    ...samePane(inspection),
    ...(draft_may_change ? [] : sameComposer(inspection)),
  ];
  const condition = conditions.reduceRight((rest, one) => `#{&&:${one},${rest}}`);
  return tmux.runIf(pane.pane_id, condition, commands, otherwise);
}

/** Conditions in tmux's format language: the same program reads, and no other dialog is open. */
function samePane({ pane, view }: InspectedPane): string[] {
  return [
    // tmux silently substitutes another pane for one that is gone, so the id is compared as well.
    equal("pane_id", pane.pane_id),
    equal("pane_pid", String(pane.pane_pid)),
    `#{m/r:^${pattern(pane.command)}$,#{pane_current_command}}`,
    equal("pane_dead", "0"),
    equal("pane_in_mode", "0"),
    equal("pane_synchronized", "0"),
    `#{==:#{C/ri:${DIALOG_PATTERN}},${dialogRow(view)}}`,
  ];
}

function sameComposer({ pane, view }: InspectedPane): string[] {
  const row = stripEscapes(view.lines[pane.cursor_y] ?? "");
  return [
    equal("cursor_x", String(pane.cursor_x)),
    equal("cursor_y", String(pane.cursor_y)),
    `#{!=:#{C/r:^${pattern(row)}$},0}`,
  ];
}

function equal(name: string, value: string): string {
  return `#{==:#{${name}},${value}}`;
}

/**
 * The text as an extended regular expression. `.` replaces each ASCII sign, because most signs are
 * special.
 */
function pattern(text: string): string {
  return text.replace(/[\x20-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]/g, ".");
}
