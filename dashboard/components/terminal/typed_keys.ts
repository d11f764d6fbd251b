/** The keys in xterm.js's reports of typed text: texts and escape sequences. */

import type { ControlKey, Key, NamedKey } from "protocol/agents/contract.ts";

const NAMED: Readonly<Record<string, NamedKey>> = {
  "\r": "Enter",
  "\t": "Tab",
  "\x1b[Z": "BackTab",
  "\x1b": "Escape",
  "\x7f": "Backspace",
  "\x1b[3~": "Delete",
  "\x1b[A": "Up",
  "\x1b[B": "Down",
  "\x1b[C": "Right",
  "\x1b[D": "Left",
  "\x1b[H": "Home",
  "\x1b[F": "End",
  "\x1b[5~": "PageUp",
  "\x1b[6~": "PageDown",
};

/** A sequence; a control; any other text. */
const TOKENS =
  // deno-lint-ignore no-control-regex
  /\x1b\[[\d;]*[A-Za-z~]|\x1bO[A-Z]|[\x00-\x1f\x7f-\x9f]|[^\x00-\x1f\x7f-\x9f\u2028\u2029]+/g;

/** The other form of an arrow, of Home and of End. */
// deno-lint-ignore no-control-regex
const APPLICATION_KEY = /^\x1bO/;

const CONTROLS = /[^\P{Cc}\t\n]/gu;

/** Leaves out keys that have no name here, such as keys with two modifiers. */
export function keysOf(data: string): Key[] {
  return (data.match(TOKENS) ?? []).flatMap((token): Key[] => {
    const named = NAMED[token.replace(APPLICATION_KEY, "\x1b[")];
    if (named) return [{ key: named }];
    const code = token.charCodeAt(0);
    if (token.length === 1 && code >= 1 && code <= 26) return [{ key: controlKey(code) }];
    return code < 32 || code >= 127 && code <= 159 ? [] : [{ text: token }];
  });
}

/** A pasted text, with the line ends of Unix and without other controls. */
export function pasteOf(text: string): Key[] {
  const paste = text.replaceAll(/\r\n?/g, "\n").replaceAll(CONTROLS, "");
  return paste === "" ? [] : [{ paste }];
}

function controlKey(code: number): ControlKey {
  return `Ctrl-${String.fromCharCode(code + 96)}`;
}
