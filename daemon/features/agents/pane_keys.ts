/** Types keys into a pane, as a person at its terminal does. */

import type { Failure } from "../../host/tmux/connection.ts";
import type { Tmux } from "../../host/tmux/tmux.ts";
import type { KeyResult } from "./adapter.ts";
import type { ControlKey, Key, NamedKey } from "./contract.ts";
import { type Inspection, typeIfUnchanged } from "./pane_inspection.ts";

/** A program draws while a person types, so the pane may change between a check and the keys. */
const TRIES_MAX = 5;

export interface Typing {
  /** If there are none, the pane is only checked. */
  readonly keys: readonly Key[];
  /** Whether the person accepts a draft, which then may change at any time. */
  readonly draft_may_change: boolean;
}

/** Types all keys or none. Call it with the pane locked. */
export async function typeKeys(
  tmux: Tmux,
  inspect: () => Promise<Inspection>,
  { keys, draft_may_change }: Typing,
): Promise<KeyResult> {
  const first = await inspect();
  if (!first.ok) return { state: "refused", reason: first.reason };
  if (keys.length === 0) return { state: "typed", overruled: first.overruled };
  const loaded = await loadTexts(tmux, keys);
  if (!loaded.ok) return { state: "refused", reason: "tmux_unreachable" };
  const { buffers } = loaded;
  const result = await tryToType(inspect, { keys, buffers, draft_may_change });
  // A buffer that was pasted is gone: tmux deletes it with the paste.
  if (result.state !== "typed") await deleteBuffers(tmux, buffers);
  return result;
}

async function tryToType(
  inspect: () => Promise<Inspection>,
  { keys, buffers, draft_may_change }: Typing & { readonly buffers: readonly string[] },
): Promise<KeyResult> {
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    const inspection = await inspect();
    if (!inspection.ok) return { state: "refused", reason: inspection.reason };
    const commands = commandsFor(keys, buffers, inspection.pane.pane_id);
    const typed = await typeIfUnchanged(inspection, { commands, draft_may_change });
    if (typed === "done") return { state: "typed", overruled: inspection.overruled };
    if (typed !== "changed") return resultOfFailure(typed);
  }
  return { state: "refused", reason: "changed" };
}

/** After an error of one command, the commands before it have run. */
function resultOfFailure({ reason }: Failure): KeyResult {
  const mayHaveRun = reason === "lost" || reason === "timeout" || reason === "error";
  return mayHaveRun
    ? { state: "unclear", reason: "tmux_lost" }
    : { state: "refused", reason: "tmux_unreachable" };
}

/** One buffer for each text, in their order: tmux would write a command's arguments to its log. */
async function loadTexts(
  tmux: Tmux,
  keys: readonly Key[],
): Promise<{ ok: true; buffers: readonly string[] } | Failure> {
  const buffers: string[] = [];
  for (const text of keys.flatMap(textOf)) {
    const loaded = await tmux.load(text);
    if (!loaded.ok) {
      await deleteBuffers(tmux, buffers);
      return loaded;
    }
    buffers.push(loaded.buffer);
  }
  return { ok: true, buffers };
}

function textOf(key: Key): string[] {
  if ("key" in key) return [];
  return ["text" in key ? key.text : key.paste];
}

/** `-p` marks a paste for programs that ask for it; `-d` deletes the buffer. */
function commandsFor(
  keys: readonly Key[],
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

/** tmux sends what the program expects: applications may ask for other sequences of an arrow. */
const TMUX_NAMES: Readonly<Record<NamedKey, string>> = {
  Enter: "Enter",
  Tab: "Tab",
  BackTab: "BTab",
  Escape: "Escape",
  Backspace: "BSpace",
  Delete: "DC",
  Up: "Up",
  Down: "Down",
  Left: "Left",
  Right: "Right",
  Home: "Home",
  End: "End",
  PageUp: "PPage",
  PageDown: "NPage",
};

function tmuxName(key: NamedKey | ControlKey): string {
  return isControl(key) ? key.replace("Ctrl-", "C-") : TMUX_NAMES[key];
}

function isControl(key: NamedKey | ControlKey): key is ControlKey {
  return key.startsWith("Ctrl-");
}

async function deleteBuffers(tmux: Tmux, buffers: readonly string[]): Promise<void> {
  for (const buffer of buffers) await tmux.run(["delete-buffer", "-b", buffer]);
}
