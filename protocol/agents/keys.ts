/** Input for a pane: texts, pastes and keys that write nothing. Safe in a browser. */

export const KEY_NAMES = [
  "Enter",
  "Tab",
  "BackTab",
  "Escape",
  "Backspace",
  "Delete",
  "Up",
  "Down",
  "Left",
  "Right",
  "Home",
  "End",
  "PageUp",
  "PageDown",
] as const;
export type KeyName = typeof KEY_NAMES[number];

/** A letter that is typed while Control is held, e.g. `Ctrl-c`. */
export type ControlKeyName = `Ctrl-${string}`;

export type Keystroke =
  | { readonly text: string }
  /** Marked as a paste for programs that ask for it (bracketed paste). */
  | { readonly paste: string }
  | { readonly key: KeyName | ControlKeyName };

export function isControlKey(key: KeyName | ControlKeyName): key is ControlKeyName {
  return key.startsWith("Ctrl-");
}
