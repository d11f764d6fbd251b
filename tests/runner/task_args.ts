/** The arguments of the long tests' tasks: `--help` lists them, and unknown ones are refused. */

import { nearest } from "kit/core/near_words.ts";

export interface TaskHelp {
  /** The name of the task, as `deno task` takes it. */
  readonly task: string;
  readonly summary: string;
  /** The meaning of each option by its declaration, such as `--seed S`, or `--write` for a flag. */
  readonly options: Readonly<Record<string, string>>;
  /** Words that may be given; a task without this takes none. */
  readonly words?: { readonly name: string; readonly known?: readonly string[] };
}

/** The arguments are not for a run: the task prints the lines and exits. */
interface Answer {
  readonly code: 0 | 2;
  readonly lines: readonly string[];
}

export class TaskArgs {
  readonly #values: ReadonlyMap<string, string>;
  readonly words: readonly string[];

  constructor(values: ReadonlyMap<string, string>, words: readonly string[]) {
    this.#values = values;
    this.words = words;
  }

  text(name: string): string | undefined {
    return this.#values.get(name);
  }

  /** The number of an option, which `parseTaskArgs` has checked. */
  number(name: string): number | undefined;
  number(name: string, fallback: number): number;
  number(name: string, fallback?: number): number | undefined {
    const text = this.#values.get(name);
    return text === undefined ? fallback : Number(text);
  }

  flag(name: string): boolean {
    return this.#values.has(name);
  }
}

/** Reads the arguments of this process. Exits after `--help`, and with 2 after a wrong one. */
export function readTaskArgs(help: TaskHelp): TaskArgs {
  const found = parseTaskArgs(help, Deno.args);
  if (found instanceof TaskArgs) return found;
  Deno.stdout.writeSync(new TextEncoder().encode(`${found.lines.join("\n")}\n`));
  Deno.exit(found.code);
}

export function parseTaskArgs(help: TaskHelp, args: readonly string[]): TaskArgs | Answer {
  if (args.includes("--help") || args.includes("-h")) return { code: 0, lines: helpLines(help) };
  const declared = new Map(
    Object.keys(help.options).map((option) => {
      const [name = "", value] = option.split(" ");
      return [name, value] as const;
    }),
  );
  const values = new Map<string, string>();
  const words: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    const [, name, attached] = /^(-[^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) {
      const known = help.words?.known;
      if (!help.words || known?.includes(word) === false) {
        return refusal(help, `unknown word "${word}"`, nearest(word, known ?? []));
      }
      words.push(word);
      continue;
    }
    if (!declared.has(name)) {
      return refusal(help, `unknown option ${name}`, nearest(name, declared.keys()));
    }
    const kind = declared.get(name);
    const value = kind === undefined ? "" : attached ?? args[++at];
    if (value === undefined) return refusal(help, `${name} needs a value: ${kind}`);
    if (kind === "N" && (value.trim() === "" || !(Number(value) >= 0))) {
      return refusal(help, `${name} needs a number, and is "${value}"`);
    }
    values.set(name.slice(2), value);
  }
  return new TaskArgs(values, words);
}

function refusal({ task }: TaskHelp, why: string, meant?: string): Answer {
  const question = meant === undefined ? "" : `; did you mean ${meant}?`;
  return { code: 2, lines: [`${why}${question}`, `All options: deno task ${task} --help`] };
}

function helpLines({ task, summary, options, words }: TaskHelp): string[] {
  const shown = words === undefined ? "" : ` [${words.name}…]`;
  const known = words?.known === undefined ? [] : [`${words.name}: ${words.known.join(", ")}`];
  const width = Math.max(...Object.keys(options).map(({ length }) => length));
  const lines = Object.entries(options).map(([option, meaning]) =>
    `  ${option.padEnd(width)}  ${meaning}`
  );
  return [`deno task ${task}${shown} [options]`, summary, ...known, "", ...lines];
}
