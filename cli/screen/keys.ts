/** Key presses by name, from what a terminal sends for them. */

/** A key by its name, such as `a`, `up` or `ctrl-g`, or a text that was pasted. */
export type Input = string | { readonly pasted: string };

/** The names of the sequences that follow Escape. */
// deno-fmt-ignore
const SEQUENCES: Readonly<Record<string, string>> = {
  "[A": "up",    "OA": "up",    "[B": "down", "OB": "down",
  "[C": "right", "OC": "right", "[D": "left", "OD": "left",
  "[H": "home",  "OH": "home",  "[1~": "home", "[7~": "home",
  "[F": "end",   "OF": "end",   "[4~": "end",  "[8~": "end",
  "[3~": "delete", "[5~": "pageup", "[6~": "pagedown", "[Z": "shift-tab",
  "\r": "alt-enter", "\n": "alt-enter",
};
const CONTROLS: Readonly<Record<string, string>> = {
  "\r": "enter",
  "\t": "tab",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u001b": "escape",
};
const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";
/** The longest paste that is kept; the daemon refuses longer messages anyway. */
const PASTE_CHARS_MAX = 300_000;
// deno-lint-ignore no-control-regex -- Terminals send control characters for keys.
const UNFINISHED = /^\u001b(?:\[[0-9;]*|O)$/;
// deno-lint-ignore no-control-regex -- As above.
const SEQUENCE = /^\u001b(\[[0-?]*[ -/]*[@-~]|O[A-Za-z]|[\r\n])/;

/** Turns what a terminal sends into key presses; a sequence may arrive in two pieces. */
export class KeyReader {
  #rest = "";
  #pasted: string | undefined;

  read(chunk: string): Input[] {
    let text = this.#rest + chunk;
    this.#rest = "";
    const inputs: Input[] = [];
    while (text !== "") {
      if (this.#pasted !== undefined) {
        text = this.#paste(text, inputs);
      } else if (text.startsWith(PASTE_START)) {
        this.#pasted = "";
        text = text.slice(PASTE_START.length);
      } else if (UNFINISHED.test(text)) {
        this.#rest = text;
        return inputs;
      } else {
        const { key, length } = firstKey(text);
        if (key !== undefined) inputs.push(key);
        text = text.slice(length);
      }
    }
    return inputs;
  }

  /** Takes the part that belongs to the paste, and returns the rest. */
  #paste(text: string, inputs: Input[]): string {
    const all = (this.#pasted ?? "") + text;
    const end = all.indexOf(PASTE_END);
    if (end < 0) {
      this.#pasted = all.length > PASTE_CHARS_MAX ? all.slice(-PASTE_END.length) : all;
      return "";
    }
    this.#pasted = undefined;
    inputs.push({ pasted: all.slice(0, end).replaceAll(/\r\n?/g, "\n") });
    return all.slice(end + PASTE_END.length);
  }
}

/** The key at the start of a text; undefined for a sequence without a name. */
function firstKey(text: string): { key: string | undefined; length: number } {
  const [sequence = "", after = ""] = SEQUENCE.exec(text) ?? [];
  if (sequence !== "") return { key: SEQUENCES[after], length: sequence.length };
  const first = String.fromCodePoint(text.codePointAt(0) ?? 0);
  const code = first.codePointAt(0) ?? 0;
  const letter = code >= 1 && code <= 26 ? `ctrl-${String.fromCodePoint(code + 96)}` : undefined;
  const key = CONTROLS[first] ?? letter ?? (code < 32 ? undefined : first);
  return { key, length: first.length };
}
