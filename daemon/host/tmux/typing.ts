/** Types keys into a tmux pane: the server compares the pane and types in one step. */

import {
  type ControlKeyName,
  isControlKey,
  type KeyName,
  type Keystroke,
} from "protocol/agents/keys.ts";
import type { PaneGuard, PreparedKeys, TypeResult } from "../terminal_server.ts";
import type { Answer, Failure, Result } from "./connection.ts";

/** The commands of a tmux server that typing needs. */
interface TypingCommands {
  run(command: readonly string[]): Promise<Result>;
  runIf(
    pane_id: string,
    condition: string,
    commands: readonly (readonly string[])[],
  ): Promise<"done" | "changed" | Failure>;
  load(text: string): Promise<Answer<{ buffer: string }>>;
}

/** One buffer for each text, in their order: tmux would write a command's arguments to its log. */
export async function prepareKeys(
  tmux: TypingCommands,
  keys: readonly Keystroke[],
): Promise<Answer<{ prepared: PreparedKeys }>> {
  const buffers: string[] = [];
  for (const text of keys.flatMap(textOf)) {
    const loaded = await tmux.load(text);
    if (!loaded.ok) {
      await deleteBuffers(tmux, buffers);
      return loaded;
    }
    buffers.push(loaded.buffer);
  }
  return { ok: true, prepared: new TmuxKeys(tmux, keys, buffers) };
}

class TmuxKeys implements PreparedKeys {
  readonly #tmux: TypingCommands;
  readonly #keys: readonly Keystroke[];
  readonly #buffers: readonly string[];

  constructor(tmux: TypingCommands, keys: readonly Keystroke[], buffers: readonly string[]) {
    this.#tmux = tmux;
    this.#keys = keys;
    this.#buffers = buffers;
  }

  typeIf(guard: PaneGuard): Promise<TypeResult> {
    const conditions = [...samePane(guard), ...sameComposer(guard)];
    const condition = conditions.reduceRight((rest, first) => `#{&&:${first},${rest}}`);
    const { pane_id } = guard.pane;
    return this.#tmux.runIf(pane_id, condition, commandsFor(this.#keys, this.#buffers, pane_id));
  }

  discard(): Promise<void> {
    return deleteBuffers(this.#tmux, this.#buffers);
  }
}

async function deleteBuffers(tmux: TypingCommands, buffers: readonly string[]): Promise<void> {
  for (const buffer of buffers) await tmux.run(["delete-buffer", "-b", buffer]);
}

function textOf(key: Keystroke): string[] {
  if ("key" in key) return [];
  return ["text" in key ? key.text : key.paste];
}

/** `-p` marks a paste for programs that ask for it; `-d` deletes the buffer. */
function commandsFor(
  keys: readonly Keystroke[],
  buffers: readonly string[],
  pane_id: string,
): string[][] {
  const remaining = buffers.values();
  return keys.map((key) => {
    if ("key" in key) return ["send-keys", "-t", pane_id, tmuxName(key.key)];
    const { value: buffer = "" } = remaining.next();
    const marked = "paste" in key ? ["-p"] : [];
    return ["paste-buffer", ...marked, "-d", "-b", buffer, "-t", pane_id];
  });
}

/** The keys to which tmux gives other names. */
const TMUX_NAMES: Readonly<Partial<Record<KeyName, string>>> = {
  BackTab: "BTab",
  Backspace: "BSpace",
  Delete: "DC",
  PageUp: "PPage",
  PageDown: "NPage",
};

/** tmux sends what the program expects: applications may ask for other sequences of an arrow. */
function tmuxName(key: KeyName | ControlKeyName): string {
  return isControlKey(key) ? key.replace("Ctrl-", "C-") : TMUX_NAMES[key] ?? key;
}

/** Conditions in tmux's format language: the same program reads, and no other dialog is open. */
function samePane({ pane, dialog, shown }: PaneGuard): string[] {
  return [
    // tmux silently substitutes another pane for a missing pane, so the id is compared as well.
    equal("pane_id", pane.pane_id),
    equal("pane_pid", String(pane.pane_pid)),
    `#{m/r:^${pattern(pane.command)}$,#{pane_current_command}}`,
    equal("pane_dead", "0"),
    equal("pane_in_mode", "0"),
    equal("pane_synchronized", "0"),
    `#{==:#{C/ri:${dialog.pattern}},${dialog.row}}`,
    // tmux names the first row of this text, so a repeated text counts as a change.
    ...(shown ? [`#{==:#{C/r:^${pattern(shown.text)}$},${shown.row + 1}}`] : []),
  ];
}

function sameComposer({ pane, cursor_row }: PaneGuard): string[] {
  if (cursor_row === undefined) return [];
  return [
    equal("cursor_x", String(pane.cursor_x)),
    equal("cursor_y", String(pane.cursor_y)),
    `#{!=:#{C/r:^${pattern(cursor_row)}$},0}`,
  ];
}

function equal(name: string, value: string): string {
  return `#{==:#{${name}},${value}}`;
}

/** The text as an extended regular expression, with `.` for each ASCII sign: most are special. */
function pattern(text: string): string {
  return text.replace(/[\x20-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]/g, ".");
}
