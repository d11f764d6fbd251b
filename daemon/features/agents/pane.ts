/** The pane rung: types a message into a tmux pane, and only ever into the agent it is for. */

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
import { commandLine, type Tmux, type Tmuxes } from "../../host/tmux/tmux.ts";
import { isPaneId, type Pane } from "../../host/tmux/pane.ts";
import type { Addressee, Parcel, Readiness, Receipt, Rung } from "./adapter.ts";
import { DIALOG_PATTERN, dialogRow, plain, type Screen, type View } from "./screens.ts";

/** Between paste and Enter: the shortest that all five agents took at all sizes (agents 2.0). */
export const SETTLE_MS = 300;
/** How often the composer is read for the pasted text, one settling time apart. */
const READS_MAX = 4;
/** Rows above the screen in which a long line may have begun. */
const HISTORY_ROWS = 60;

/** Peers of which it is kept since when they are ready; the others warm up once more. */
const WARM_MAX = 200;

export interface PaneOptions {
  readonly tmuxes: Tmuxes;
  readonly clock: Clock;
  readonly log: Log;
  readonly screen: Screen;
  readonly settle_ms?: number;
  /** How long a process shows a composer before it is sure to read what is pasted there. */
  readonly warm_up_ms?: number;
  /** Whether the agent's process lives, as looks ask it again and again. */
  readonly isAlive?: IsAlive;
  /** Evidence of an open dialog that is better than the screen, e.g. the agent's own registry. */
  readonly dialogKnown?: (peer: Addressee) => Promise<boolean>;
  /** What a shell reads it executes: nothing is typed at its prompt unless this says `typed`. */
  readonly shells?: "refused" | "typed";
}

/** Why nothing may be typed now. Not one byte goes out for any of these. */
type Refusal =
  | "bad_frame" // No `[mesh] ` in front, or the id by which the text is found again is not in it.
  | "no_pane" // The agent is in no tmux pane.
  | "no_process" // Nobody has registered the agent's process.
  | "tmux_unreachable"
  | "pane_missing"
  | "pane_dead"
  | "copy_mode" // Also any other mode in which keys are tmux's, such as a menu.
  | "agent_gone"
  | "agent_elsewhere" // Its process runs, but not in this pane.
  | "not_foreground" // Suspended, or another job of the same shell has the terminal.
  | "shell_prompt"
  | "dialog_open"
  | "draft_present"
  | "starting" // Its composer was not there for long enough.
  | "screen_unknown" // The screen shows no composer that this rung can read.
  | "changed"; // What the guards saw was no longer so when the server was about to paste.

/** A pane in which the registered agent reads what is typed. */
interface Seen {
  readonly ok: true;
  readonly tmux: Tmux;
  /** The server compares it again at the moment of typing. */
  readonly pane: Pane;
  readonly view: View;
}

type Sight = Seen | { ok: false; reason: Refusal };

export function paneRung(options: PaneOptions): Rung {
  return new PaneRung(options);
}

class PaneRung implements Rung {
  readonly name = "pane";
  readonly #options: PaneOptions;
  /** Since when a peer's process is known to be ready, where it has to warm up. */
  readonly #ready = new Map<string, { readonly process: string; readonly since: number }>();
  /** What is typed for a message, worked out once: a message that waits is looked at for hours. */
  readonly #typed = new WeakMap<Parcel, { readonly text: string | undefined }>();

  constructor(options: PaneOptions) {
    this.#options = options;
  }

  async check(peer: Addressee, parcel: Parcel): Promise<Readiness> {
    if (this.#textOf(parcel) === undefined) return unready("bad_frame");
    const sight = await this.#inspect(peer);
    return sight.ok ? { ready: true } : unready(sight.reason);
  }

  async deliver(peer: Addressee, parcel: Parcel): Promise<Receipt> {
    const { tmuxes } = this.#options;
    const text = this.#textOf(parcel);
    if (text === undefined) return refused("bad_frame");
    if (peer.tmux_socket === null || peer.pane_id === null) return refused("no_pane");
    const tmux = tmuxes.at(peer.tmux_socket);
    return await tmux.inTurn(peer.pane_id, async () => {
      const receipt = await this.#paste(tmux, peer, text);
      return receipt ?? await this.#submit(peer, parcel.delivery_id, text);
    });
  }

  #textOf(parcel: Parcel): string | undefined {
    const known = this.#typed.get(parcel) ?? { text: typedText(parcel, this.#options.screen) };
    this.#typed.set(parcel, known);
    return known.text;
  }

  /** Undefined once the text is in the pane; a receipt when this is where it ends. */
  async #paste(tmux: Tmux, peer: Addressee, text: string): Promise<Receipt | undefined> {
    const ready = await this.#inspect(peer);
    if (!ready.ok) return refused(ready.reason);
    if (this.#isStarting(peer)) return refused("starting");
    const loaded = await tmux.load(text);
    if (!loaded.ok) return this.#failed(loaded, "nothing pasted");
    const target = ["-b", loaded.buffer];
    const sight = await this.#inspect(peer);
    if (!sight.ok) {
      await tmux.run(["delete-buffer", ...target]);
      return refused(sight.reason);
    }
    const paste = ["paste-buffer", "-p", "-d", ...target, "-t", sight.pane.pane_id];
    const pasted = await guarded(sight, paste, ["delete-buffer", ...target]);
    if (pasted === "done") return undefined;
    if (pasted === "changed") return refused("changed");
    if (pasted.reason === "error") await tmux.run(["delete-buffer", ...target]);
    const mayHaveRun = pasted.reason === "lost" || pasted.reason === "timeout";
    return this.#failed(pasted, mayHaveRun ? "maybe pasted" : "nothing pasted");
  }

  /** Enter, but only behind the very text: whatever else is found, the text stays as it is. */
  async #submit(peer: Addressee, delivery_id: string, text: string): Promise<Receipt> {
    const { clock, log, screen, settle_ms = SETTLE_MS } = this.#options;
    let found: string = "not_shown";
    for (let read = 0; read < READS_MAX; read++) {
      await clock.sleep(settle_ms);
      const sight = await this.#present(peer);
      if (!sight.ok) {
        found = sight.reason;
        break;
      }
      const { view } = sight;
      if (!screen.holds(view, text) && !screen.collapsedPaste?.(view)) continue;
      const entered = await guarded(sight, ["send-keys", "-t", sight.pane.pane_id, "Enter"]);
      if (entered === "done") return { state: "sent" };
      if (entered !== "changed") {
        found = `tmux_${entered.reason}`;
        break;
      }
      found = "changed";
    }
    log.warn("A message was typed and not submitted", { delivery_id, pane: peer.pane_id, found });
    return { state: "unclear", reason: "typed_not_submitted" };
  }

  #isStarting({ peer_id, agent_pid, agent_started }: Addressee): boolean {
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

  /** All guards: the agent is in front, no dialog is open, and the composer is empty. */
  async #inspect(peer: Addressee): Promise<Sight> {
    const sight = await this.#present(peer);
    if (!sight.ok) return sight;
    const empty = this.#options.screen.composerEmpty(sight.view);
    if (empty === undefined) return { ok: false, reason: "screen_unknown" };
    return empty ? sight : { ok: false, reason: "draft_present" };
  }

  /** The guards that hold after the paste as well: the agent is in front, no dialog is open. */
  async #present(peer: Addressee): Promise<Sight> {
    const { tmuxes, screen, shells, dialogKnown } = this.#options;
    const { tmux_socket, pane_id } = peer;
    if (tmux_socket === null || pane_id === null) return { ok: false, reason: "no_pane" };
    if (await dialogKnown?.(peer)) return { ok: false, reason: "dialog_open" };
    const tmux = tmuxes.at(tmux_socket);
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
    const reason = absence(peer, pane.pane_pid, shells) ??
      (dialog ? "dialog_open" : dialog === undefined ? "screen_unknown" : undefined);
    return reason ? { ok: false, reason } : { ok: true, tmux, pane, view };
  }
}

/** Why the registered agent is not the one who would read what is typed; undefined if it is. */
function absence(
  { agent_pid, agent_started }: Addressee,
  pane_pid: number,
  shells: PaneOptions["shells"] = "refused",
): Refusal | undefined {
  if (agent_pid === null || agent_started === null) return "no_process";
  if (!isAlive(agent_pid, agent_started)) return "agent_gone";
  if (!isDescendant(agent_pid, pane_pid)) return "agent_elsewhere";
  const front = foregroundOf(pane_pid);
  // The same group, not merely the same tree: a child in a group of its own is an editor or a
  // pager that the agent has lent the terminal to, a parent is the shell that suspended it.
  if (front === undefined || groupOf(agent_pid) !== front) return "not_foreground";
  if (isStopped(agent_pid)) return "not_foreground";
  return shells === "refused" && isShellPrompt(agent_pid) ? "shell_prompt" : undefined;
}

/** A shell that is given neither a script nor a command would execute the message. */
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
  const shown = await tmux.pane(pane_id);
  if (!shown.ok) return shown.reason === "error" ? "pane_missing" : "tmux_unreachable";
  if (!shown.pane) return "pane_missing";
  if (shown.pane.dead) return "pane_dead";
  return shown.pane.in_mode ? "copy_mode" : shown.pane;
}

/**
 * Guard and deed as one tmux command: the server compares, and acts in the same step. Only
 * `done` means that it acted; a failure may hide that it did (see `Failure`).
 */
async function guarded(
  sight: Seen,
  deed: readonly string[],
  otherwise?: readonly string[],
): Promise<"done" | "changed" | Failure> {
  const say = (word: string, command?: readonly string[]) =>
    [...(command ? [commandLine(command)] : []), `display-message -p ${word}`].join(" ; ");
  const result = await sight.tmux.run([
    "if-shell",
    "-F",
    "-t",
    sight.pane.pane_id,
    unchanged(sight),
    say("done", deed),
    say("changed", otherwise),
  ]);
  if (!result.ok) return result;
  return result.lines.includes("done") ? "done" : "changed";
}

/** The condition, in tmux's format language, that the pane is still what was seen. */
function unchanged({ pane, view }: Seen): string {
  const row = plain(view.lines[pane.cursor_y] ?? "");
  const conditions = [
    // A pane that is gone is replaced by another one, silently: its id must be asked for.
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

/** A text as an extended regular expression: `.` stands for each ASCII sign, most are special. */
function pattern(text: string): string {
  return text.replace(/[\x20-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]/g, ".");
}

/** How many times what is typed is read of a text: cleaning makes it shorter. */
const READ_TIMES = 8;

/** What is typed, or undefined when the text is none that may be typed. */
function typedText({ framed, proof_id }: Parcel, screen: Screen): string | undefined {
  const { bytes_max, newlines } = screen;
  const head = framed.slice(0, READ_TIMES * bytes_max);
  const clean = head.toWellFormed()
    .replace(/\r\n?/g, "\n")
    .replaceAll("\t", "    ")
    // deno-lint-ignore no-control-regex -- Control characters are what is taken out.
    .replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, "")
    .trimEnd();
  if (!clean.startsWith("[mesh] ") || proof_id === "") return undefined;
  const whole = newlines === "kept" ? clean : onOneLine(clean);
  const text = shortened(whole, proof_id, screen, head.length < framed.length);
  return text.includes(proof_id) ? text : undefined;
}

/** Its lines without the blanks around them; empty ones are left out. */
function onOneLine(text: string): string {
  return text.split("\n").map((line) => line.trim()).filter(Boolean).join(" ⏎ ");
}

/** The head of a long text, its frame closed again, and where the rest is to be had. */
export function shortened(
  text: string,
  proof_id: string,
  { bytes_max, newlines }: Pick<Screen, "bytes_max" | "newlines">,
  is_head = false,
): string {
  const encoder = new TextEncoder();
  const fits = !is_head && text.length <= bytes_max && encoder.encode(text).length <= bytes_max;
  if (fits) return text;
  const frame_end = text.startsWith("[mesh] <peer-message ") ? "</peer-message>" : "";
  const line_end = newlines === "kept" ? "\n" : " ⏎ ";
  const tail = `…${frame_end}${line_end}[mesh] cut here; the whole text: mesh show ${proof_id}`;
  const room = new Uint8Array(bytes_max - encoder.encode(tail).length);
  const { read } = encoder.encodeInto(text, room); // Never splits a character.
  return text.slice(0, read).replace(/&[a-z#0-9]{0,8}$/, "") + tail;
}

function unready(reason: Refusal): Readiness {
  return { ready: false, reason };
}

function refused(reason: Refusal): Receipt {
  return { state: "refused", reason };
}
