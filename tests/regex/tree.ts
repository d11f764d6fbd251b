/** A regular expression as a tree: enough of ECMAScript's grammar to find its repetitions. */

export type Node =
  | { readonly type: "char"; readonly source: string } // One character, class or escape.
  | { readonly type: "empty" } // An assertion: it matches without a character.
  | { readonly type: "group"; readonly body: Node; readonly isLookaround: boolean }
  | { readonly type: "sequence"; readonly parts: readonly Node[] }
  | { readonly type: "choice"; readonly options: readonly Node[] }
  | { readonly type: "repeat"; readonly body: Node; readonly min: number; readonly max: number };

/** Throws on syntax that it cannot parse, so that no pattern is skipped. */
export function toTree({ source }: RegExp): Node {
  const reader = new Reader(source);
  const tree = reader.choice();
  if (!reader.done) throw new SyntaxError(`Unread rest of /${source}/: ${reader.rest}`);
  return tree;
}

const CLASS = /^\[(?:[^\]\\]|\\.)*\]/s;
const ESCAPE = /^\\(?:u\{[0-9a-f]+\}|u[0-9a-f]{4}|x[0-9a-f]{2}|[pP]\{\w+(?:=\w+)?\}|.)/is;
const GROUP = /^\((?:\?(?:<?[=!]|:|<\w+>))?/;
const QUANTIFIER = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/;

class Reader {
  rest: string;

  constructor(source: string) {
    this.rest = source;
  }

  get done(): boolean {
    return this.rest === "";
  }

  choice(): Node {
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    return options.length === 1 && options[0] ? options[0] : { type: "choice", options };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (!this.done && !/^[|)]/.test(this.rest)) parts.push(this.#repeated(this.#atom()));
    return { type: "sequence", parts };
  }

  #atom(): Node {
    const open = GROUP.exec(this.rest)?.[0];
    if (open !== undefined) {
      this.#take(open);
      const body = this.choice();
      if (!this.#take(")")) throw new SyntaxError("A group is not closed");
      return { type: "group", body, isLookaround: /[=!]$/.test(open) };
    }
    const source = CLASS.exec(this.rest)?.[0] ?? ESCAPE.exec(this.rest)?.[0] ??
      [...this.rest][0] ?? "";
    this.#take(source);
    return /^(?:[\^$]|\\[bB1-9])$/.test(source) ? { type: "empty" } : { type: "char", source };
  }

  #repeated(body: Node): Node {
    const found = QUANTIFIER.exec(this.rest);
    if (!found) return body;
    const [whole, sign, from = "", comma, to = ""] = found;
    this.#take(whole);
    const min = sign === undefined ? Number(from) : sign === "+" ? 1 : 0;
    const max = sign === "?"
      ? 1
      : sign !== undefined || (comma && to === "")
      ? Infinity
      : Number(to || from);
    return { type: "repeat", body, min, max };
  }

  #take(what: string): boolean {
    const found = what !== "" && this.rest.startsWith(what);
    if (found) this.rest = this.rest.slice(what.length);
    return found;
  }
}
