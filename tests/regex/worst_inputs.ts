/** Inputs that make a regular expression work as hard as possible, derived from its own pattern. */

import { type Node, toTree } from "./tree.ts";

/** An input as a recipe, which can be rendered at any length. */
export interface Recipe {
  readonly head: string;
  readonly pump: string;
  readonly tail: string;
}

export function make({ head, pump, tail }: Recipe, length: number): string {
  return head + pump.repeat(Math.ceil(length / pump.length)) + tail;
}

/** Candidates for what a class matches; blanks and line ends first, as they repeat. */
const CANDIDATES = [
  ..." \n\ta0A.-_/\"'<>[](){}:;,=&#%\\*+?!|$^~`@\r\0\u00e9\u00a0\u2028\u200b\ufe0f\ud83d",
  ..."abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  ..."\u001b\u009b\u000b❯›●│┃─╭╰╹▀△…日😀🇩",
];
/** Maximum characters tried of a class; characters named in the pattern come first. */
const SAMPLE_CHARS_MAX = 7;
/** Endings: with none, a pattern that ends in `$` matches; the others make it fail at the very end. */
const TAILS = ["", "\0", "\nx"];

/** Repeats each repetition behind its prefix, and the whole again and again. */
export function worstInputs(regex: RegExp): Recipe[] {
  const recipes = new Map<string, Recipe>();
  const add = (head: string, pump: string) => {
    if (pump === "") return;
    for (const tail of TAILS) {
      const recipe = { head, pump, tail };
      recipes.set(JSON.stringify(recipe), recipe);
    }
  };
  const walker = new PatternWalker(regex);
  for (const { before, pumps } of walker.repeats()) {
    for (const pump of pumps) {
      for (const head of new Set(["", "a", before])) add(head, pump);
      add("", before + pump);
      add(before + pump, before);
      for (const other of pumps.slice(0, 3)) if (other !== pump) add(before, pump + other);
    }
    add("", before);
  }
  for (const text of [...walker.samples(), " ", "\n", "0", "a", '"', "<", "\\"]) add("", text);
  return [...recipes.values()];
}

interface Repeat {
  /** A text that the pattern matches up to the start of the repetition. */
  readonly before: string;
  readonly pumps: readonly string[];
}

class PatternWalker {
  readonly #regex: RegExp;
  readonly #tree: Node;
  readonly #literalChars: readonly string[];

  constructor(regex: RegExp) {
    this.#regex = regex;
    this.#tree = toTree(regex);
    this.#literalChars = [...new Set(regex.source.replaceAll(/\\[a-zA-Z]|\\/g, ""))];
  }

  samples(): string[] {
    return this.#samplesOf(this.#tree);
  }

  repeats(): Repeat[] {
    return [...this.#repeatsOf(this.#tree, "")];
  }

  *#repeatsOf(node: Node, before: string): Generator<Repeat> {
    if (node.type === "repeat") {
      if (node.max > 8) yield { before, pumps: this.#samplesOf(node.body) };
      yield* this.#repeatsOf(node.body, before);
    } else if (node.type === "group") yield* this.#repeatsOf(node.body, before);
    else if (node.type === "choice") {
      for (const option of node.options) yield* this.#repeatsOf(option, before);
    } else if (node.type === "sequence") {
      let read = before;
      for (const part of node.parts) {
        yield* this.#repeatsOf(part, read);
        read += this.#samplesOf(part)[0] ?? "";
      }
    }
  }

  /** Short texts that a node matches, the simplest first. */
  #samplesOf(node: Node): string[] {
    if (node.type === "char") return this.#sampleChars(node.source);
    if (node.type === "empty") return [""];
    if (node.type === "group") return node.isLookaround ? [""] : this.#samplesOf(node.body);
    if (node.type === "choice") {
      return [...new Set(node.options.flatMap((option) => this.#samplesOf(option).slice(0, 3)))];
    }
    if (node.type === "repeat") {
      const samples = this.#samplesOf(node.body);
      return samples.map((sample) => sample.repeat(Math.max(1, node.min)));
    }
    const parts = node.parts.map((part) => this.#samplesOf(part));
    const max = Math.min(4, Math.max(1, ...parts.map(({ length }) => length)));
    return Array.from(
      { length: max },
      (_, at) => parts.map((samples) => samples[at % samples.length] ?? "").join(""),
    );
  }

  #sampleChars(source: string): string[] {
    const flags = this.#regex.flags.replaceAll(/[gy]/g, "");
    const pattern = new RegExp(`^(?:${source})$`, flags);
    const found = [...this.#literalChars, ...CANDIDATES].filter((char) => pattern.test(char));
    if (found.length === 0) {
      for (let code = 0; code < 0x20000 && found.length === 0; code++) {
        if (pattern.test(String.fromCodePoint(code))) found.push(String.fromCodePoint(code));
      }
    }
    const named = found.slice(0, 3), common = CANDIDATES.filter((char) => found.includes(char));
    return [...new Set([...named, ...common])].slice(0, SAMPLE_CHARS_MAX);
  }
}
