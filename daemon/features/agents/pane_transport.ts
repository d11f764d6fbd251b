/** The pane transport: types a message into a tmux pane, provided that the right agent reads it. */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import {
  argumentsOf,
  foregroundOf,
  groupOf,
  type IsAlive,
  isAlive,
  isDescendant,
  isStopped,
} from "../../host/processes.ts";
import type { Failure } from "../../host/tmux/connection.ts";
import type { Tmux, TmuxServers } from "../../host/tmux/tmux.ts";
import { isPaneId, type Pane } from "../../host/tmux/pane.ts";
import type { AgentPeer, AgentTransport, OutgoingMessage, Readiness, Receipt } from "./adapter.ts";
import { textToType } from "./pane_text.ts";
import { DIALOG_PATTERN, dialogRow, type Screen, stripEscapes, type View } from "./screens.ts";

/**
 * The pause between paste and Enter: the shortest one that worked for all agents and text sizes
 * (agents 2.0).
 */
export const SETTLE_MS = 300;
/** How often the composer is read for the pasted text, `SETTLE_MS` apart. */
const READS_MAX = 4;
/** How many rows above the screen are read, because a long line may begin there. */
const HISTORY_ROWS = 60;

/**
 * How many peers' ready times are remembered. If there are more peers, all of them warm up again.
 */
const WARM_MAX = 200;

export interface PaneOptions {
  readonly tmuxServers: TmuxServers;
  readonly clock: Clock;
  readonly log: Log;
  readonly screen: Screen;
  readonly settle_ms?: number;
  /** How long a composer must be shown before the process reliably reads a paste. */
  readonly warm_up_ms?: number;
  /** Whether the agent's process is running. This is called often. */
  readonly isAlive?: IsAlive;
  /** Better evidence of an open dialog than the screen, e.g. the agent's own registry. */
  readonly hasOpenDialog?: (peer: AgentPeer) => Promise<boolean>;
  /**
   * What to do at a shell's prompt. A shell executes what it reads, so nothing is typed there
   * unless this is `typed`.
   */
  readonly shells?: "refused" | "typed";
}

/** Why nothing may be typed now. In all of these cases, not one byte is sent. */
type Refusal =
  | "bad_frame" // The text lacks the prefix `[mesh] ` or the id by which it is found again.
  | "no_pane" // The agent is not in a tmux pane.
  | "no_process" // The agent was registered without a process.
  | "tmux_unreachable"
  | "pane_missing"
  | "pane_dead"
  | "copy_mode" // Copy mode, or another mode in which tmux itself reads the keys.
  | "agent_gone"
  | "agent_elsewhere" // The agent's process runs, but not in this pane.
  | "not_foreground" // The agent is suspended, or another job of the same shell has the terminal.
  | "shell_prompt"
  | "dialog_open"
  | "draft_present"
  | "starting" // The agent's composer has not been shown for long enough.
  | "screen_unknown" // The screen shows no composer that the adapter can read.
  | "changed"; // The pane changed between the check and the paste.

/** A pane that passed the checks. */
interface InspectedPane {
  readonly ok: true;
  readonly tmux: Tmux;
  /** The pane as it was inspected. tmux compares it with the current pane before it types. */
  readonly pane: Pane;
  readonly view: View;
}

type Inspection = InspectedPane | { ok: false; reason: Refusal };

export function createPaneTransport(options: PaneOptions): AgentTransport {
  return new PaneTransport(options);
}

class PaneTransport implements AgentTransport {
  readonly name = "pane";
  readonly #options: PaneOptions;
  /** Since when each peer's process has been ready, for agents that warm up. */
  readonly #ready = new Map<string, { readonly process: string; readonly since: number }>();
  /**
   * The text to type for each message. It is computed once, because a queued message may be checked
   * for hours.
   */
  readonly #texts = new WeakMap<OutgoingMessage, { readonly text: string | undefined }>();

  constructor(options: PaneOptions) {
    this.#options = options;
  }

  async check(peer: AgentPeer, outgoing: OutgoingMessage): Promise<Readiness> {
    if (this.#textOf(outgoing) === undefined) return notReady("bad_frame");
    const inspection = await this.#inspect(peer);
    return inspection.ok ? { ready: true } : notReady(inspection.reason);
  }

  async deliver(peer: AgentPeer, outgoing: OutgoingMessage): Promise<Receipt> {
    const { tmuxServers } = this.#options;
    const text = this.#textOf(outgoing);
    if (text === undefined) return refused("bad_frame");
    if (peer.tmux_socket === null || peer.pane_id === null) return refused("no_pane");
    const tmux = tmuxServers.at(peer.tmux_socket);
    return await tmux.runExclusive(peer.pane_id, async () => {
      const receipt = await this.#paste(tmux, peer, text);
      return receipt ?? await this.#submit(peer, outgoing.delivery_id, text);
    });
  }

  #textOf(outgoing: OutgoingMessage): string | undefined {
    const known = this.#texts.get(outgoing) ?? { text: textToType(outgoing, this.#options.screen) };
    this.#texts.set(outgoing, known);
    return known.text;
  }

  /** Pastes the text. Undefined once the text is in the pane; otherwise the receipt to return. */
  async #paste(tmux: Tmux, peer: AgentPeer, text: string): Promise<Receipt | undefined> {
    const ready = await this.#inspect(peer);
    if (!ready.ok) return refused(ready.reason);
    if (this.#isStarting(peer)) return refused("starting");
    const loaded = await tmux.load(text);
    if (!loaded.ok) return this.#failed(loaded, "nothing pasted");
    const target = ["-b", loaded.buffer];
    const inspection = await this.#inspect(peer);
    if (!inspection.ok) {
      await tmux.run(["delete-buffer", ...target]);
      return refused(inspection.reason);
    }
    const paste = ["paste-buffer", "-p", "-d", ...target, "-t", inspection.pane.pane_id];
    const pasted = await runIfUnchanged(inspection, paste, ["delete-buffer", ...target]);
    if (pasted === "done") return undefined;
    if (pasted === "changed") return refused("changed");
    if (pasted.reason === "error") await tmux.run(["delete-buffer", ...target]);
    const mayHaveRun = pasted.reason === "lost" || pasted.reason === "timeout";
    return this.#failed(pasted, mayHaveRun ? "maybe pasted" : "nothing pasted");
  }

  /** Presses Enter only if the composer shows exactly the text; otherwise leaves the text there. */
  async #submit(peer: AgentPeer, delivery_id: string, text: string): Promise<Receipt> {
    const { clock, log, screen, settle_ms = SETTLE_MS } = this.#options;
    let found: string = "not_shown";
    for (let read = 0; read < READS_MAX; read++) {
      await clock.sleep(settle_ms);
      const inspection = await this.#inspectForeground(peer);
      if (!inspection.ok) {
        found = inspection.reason;
        break;
      }
      const { view } = inspection;
      if (!screen.composerHolds(view, text) && !screen.collapsedPaste?.(view)) continue;
      const enter = ["send-keys", "-t", inspection.pane.pane_id, "Enter"];
      const submitted = await runIfUnchanged(inspection, enter);
      if (submitted === "done") return { state: "sent" };
      if (submitted !== "changed") {
        found = `tmux_${submitted.reason}`;
        break;
      }
      found = "changed";
    }
    log.warn("A message was typed but not submitted", { delivery_id, pane: peer.pane_id, found });
    return { state: "unclear", reason: "typed_not_submitted" };
  }

  #isStarting({ peer_id, agent_pid, agent_started }: AgentPeer): boolean {
    const { clock, warm_up_ms } = this.#options;
    if (warm_up_ms === undefined) return false;
    const process = `${agent_pid} ${agent_started}`;
    const known = this.#ready.get(peer_id);
    if (known?.process === process) return clock.now() - known.since < warm_up_ms;
    if (this.#ready.size >= WARM_MAX) this.#ready.clear();
    this.#ready.set(peer_id, { process, since: clock.now() });
    return true;
  }

  #failed({ reason, message }: Failure, state: "maybe pasted" | "nothing pasted"): Receipt {
    this.#options.log.warn("tmux did not type a message", { reason, message, state });
    return state === "maybe pasted"
      ? { state: "unclear", reason: "tmux_lost" }
      : refused("tmux_unreachable");
  }

  /** All checks: the agent is in the foreground, no dialog is open, and the composer is empty. */
  async #inspect(peer: AgentPeer): Promise<Inspection> {
    const inspection = await this.#inspectForeground(peer);
    if (!inspection.ok) return inspection;
    const empty = this.#options.screen.composerEmpty(inspection.view);
    if (empty === undefined) return { ok: false, reason: "screen_unknown" };
    return empty ? inspection : { ok: false, reason: "draft_present" };
  }

  /**
   * The checks that also apply after the paste: the agent is in the foreground, and no dialog is
   * open.
   */
  async #inspectForeground(peer: AgentPeer): Promise<Inspection> {
    const { tmuxServers, screen, shells, hasOpenDialog } = this.#options;
    const { tmux_socket, pane_id } = peer;
    if (tmux_socket === null || pane_id === null) return { ok: false, reason: "no_pane" };
    if (await hasOpenDialog?.(peer)) return { ok: false, reason: "dialog_open" };
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
    const dialog = screen.dialogOpen(view);
    const reason = foregroundRefusal(peer, pane.pane_pid, shells) ??
      (dialog ? "dialog_open" : dialog === undefined ? "screen_unknown" : undefined);
    return reason ? { ok: false, reason } : { ok: true, tmux, pane, view };
  }
}

/** Why the registered agent would not read what is typed; undefined if it would. */
function foregroundRefusal(
  { agent_pid, agent_started }: AgentPeer,
  pane_pid: number,
  shells: PaneOptions["shells"] = "refused",
): Refusal | undefined {
  if (agent_pid === null || agent_started === null) return "no_process";
  if (!isAlive(agent_pid, agent_started)) return "agent_gone";
  if (!isDescendant(agent_pid, pane_pid)) return "agent_elsewhere";
  const foreground = foregroundOf(pane_pid);
  // The agent must be in the foreground group itself, not merely in the same process tree. A child
  // in its own group is an editor or a pager to which the agent lent the terminal. A parent is the
  // shell that suspended the agent.
  if (foreground === undefined || groupOf(agent_pid) !== foreground) return "not_foreground";
  if (isStopped(agent_pid)) return "not_foreground";
  return shells === "refused" && isShellPrompt(agent_pid) ? "shell_prompt" : undefined;
}

/**
 * Whether the process is a shell at its prompt. A shell without a script or a command would execute
 * the message.
 */
function isShellPrompt(pid: number): boolean {
  const [program = "", ...rest] = argumentsOf(pid) ?? [];
  if (!/(^|[/-])(ba|da|a|z|k|mk|c|tc|fi|nu|pw)?sh$/.test(program)) return false;
  if (rest.some((argument) => /^-[a-z]*c/.test(argument))) return false;
  const takesOperand = /^(--rcfile|--init-file|[-+][oO])$/;
  const operands = rest.filter((argument, at) =>
    !/^[-+]/.test(argument) && !takesOperand.test(rest[at - 1] ?? "")
  );
  return operands.length === 0 || rest.includes("-s");
}

async function readPane(tmux: Tmux, pane_id: string): Promise<Pane | Refusal> {
  if (!isPaneId(pane_id)) return "no_pane";
  const paneResult = await tmux.pane(pane_id);
  if (!paneResult.ok) return paneResult.reason === "error" ? "pane_missing" : "tmux_unreachable";
  if (!paneResult.pane) return "pane_missing";
  if (paneResult.pane.dead) return "pane_dead";
  return paneResult.pane.in_mode ? "copy_mode" : paneResult.pane;
}

function runIfUnchanged(
  inspection: InspectedPane,
  command: readonly string[],
  otherwise?: readonly string[],
): Promise<"done" | "changed" | Failure> {
  const { tmux, pane } = inspection;
  return tmux.runIf(pane.pane_id, unchangedCondition(inspection), command, otherwise);
}

/** A condition in tmux's format language: the pane is still as it was when it was inspected. */
function unchangedCondition({ pane, view }: InspectedPane): string {
  const row = stripEscapes(view.lines[pane.cursor_y] ?? "");
  const conditions = [
    // tmux silently substitutes another pane for one that is gone, so the id is compared as well.
    equal("pane_id", pane.pane_id),
    equal("pane_pid", String(pane.pane_pid)),
    `#{m/r:^${pattern(pane.command)}$,#{pane_current_command}}`,
    equal("pane_dead", "0"),
    equal("pane_in_mode", "0"),
    equal("cursor_x", String(pane.cursor_x)),
    equal("cursor_y", String(pane.cursor_y)),
    `#{!=:#{C/r:^${pattern(row)}$},0}`,
    `#{==:#{C/ri:${DIALOG_PATTERN}},${dialogRow(view)}}`,
  ];
  return conditions.reduceRight((rest, condition) => `#{&&:${condition},${rest}}`);
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

function notReady(reason: Refusal): Readiness {
  return { ready: false, reason };
}

function refused(reason: Refusal): Receipt {
  return { state: "refused", reason };
}
