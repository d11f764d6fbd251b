/** The model of the completions: the command table in the form that the shells' scripts need. */

import type { CommandSpec } from "../../command/command.ts";
import { HELP_FLAG, parseFlag, PROGRAM_FLAGS } from "../../command/line.ts";
import { SETTINGS } from "../../../daemon/app/config.ts";
import type { ValueKind } from "./values.ts";

/** The values of an argument or option. A list is fixed; a kind is asked of the daemon. */
export type Values =
  | { readonly from: "list"; readonly words: readonly string[] }
  | { readonly from: "daemon"; readonly kind: ValueKind }
  | { readonly from: "files" | "nothing" };

interface CompletedOption {
  readonly name: string;
  /** The short form, such as `-y`. */
  readonly short: string | undefined;
  readonly summary: string;
  /** Undefined for an option without a value. */
  readonly values: Values | undefined;
}

interface CompletedCommand {
  /** The words of the command: `inbox reply`. An alias is a command of its own. */
  readonly path: string;
  readonly summary: string;
  readonly args: readonly Values[];
  readonly options: readonly CompletedOption[];
}

/** A word after other words: `reply` after `inbox`. */
interface NextWord {
  readonly after: string;
  readonly word: string;
  readonly summary: string;
}

export interface CompletionModel {
  readonly commands: readonly CompletedCommand[];
  readonly next: readonly NextWord[];
}

export function modelOf(table: readonly CommandSpec[]): CompletionModel {
  const commands = table.filter(({ hidden }) => !hidden).flatMap(completedCommands);
  const program = { path: "", summary: "", args: [], options: optionsOf(PROGRAM_FLAGS, "") };
  return { commands: [program, ...commands], next: nextWords(commands) };
}

function completedCommands(command: CommandSpec): CompletedCommand[] {
  const { usage, aliases = [], summary, flags = {} } = command;
  const words = usage.replace(/ [<[][^]*/, "").split(" ");
  const group = words.slice(0, -1);
  const args = [...usage.matchAll(/[<[]([^<>[\]]+)[>\]]/g)].map(([, name = ""]) =>
    valuesOf(name.replace(/\.\.\.$/, ""), { group: words[0] ?? "", help: "" })
  );
  const options = optionsOf(flags, words[0] ?? "");
  return [words.at(-1) ?? "", ...aliases].map((last) => {
    const path = [...group, last].join(" ");
    return { path, summary, args, options };
  });
}

function optionsOf(flags: Readonly<Record<string, string>>, group: string): CompletedOption[] {
  return [...Object.entries(flags), HELP_FLAG].map(([declared, help]) => {
    const { short, name, value } = parseFlag(declared);
    const values = value === undefined ? undefined : valuesOf(value, { group, help });
    return { name, short, summary: help, values };
  });
}

/** The forms of an option: `-n` and `--count`. */
export function formsOf({ short, name }: CompletedOption): string[] {
  return short === undefined ? [name] : [short, name];
}

/** The commands whose ids do not name asks. No list has those of the last ones. */
const ID_KINDS = new Map<string, ValueKind | undefined>([
  ["inbox", "inbox"],
  ["jobs", "jobs"],
  ["schedule", "schedules"],
  ["share", "shares"],
  ["devices", undefined],
  ["push", undefined],
  ["when", undefined],
]);

function valuesOf(name: string, { group, help }: { group: string; help: string }): Values {
  const [, listed] = /\bone of ([\w-]+(?:, [\w-]+)+)/.exec(help) ?? [];
  if (listed !== undefined) return { from: "list", words: listed.split(", ") };
  if (name === "peer" || name === "peers") return { from: "daemon", kind: "peers" };
  if (name === "name" && help.includes("circle")) return { from: "daemon", kind: "circles" };
  if (name === "id" && help === "") {
    const kind = ID_KINDS.has(group) ? ID_KINDS.get(group) : "asks";
    return kind ? { from: "daemon", kind } : { from: "nothing" };
  }
  if (name === "key" && group === "config") return { from: "list", words: Object.keys(SETTINGS) };
  if (name === "shell") return { from: "list", words: ["bash", "zsh", "fish"] };
  return { from: ["file", "path", "folder"].includes(name) ? "files" : "nothing" };
}

/** The next words in the order of the table, each once. */
function nextWords(commands: readonly CompletedCommand[]): NextWord[] {
  const found = new Map<string, NextWord>();
  for (const { path, summary } of commands) {
    const words = path.split(" ");
    words.forEach((word, at) => {
      const after = words.slice(0, at).join(" ");
      const isLast = at === words.length - 1;
      const key = `${after} ${word}`;
      if (isLast || !found.has(key)) {
        found.set(key, { after, word, summary: isLast ? summary : `${word} …` });
      }
    });
  }
  return [...found.values()];
}

/** Every sequence of words that begins a command, such as `inbox` and `inbox reply`. */
export function pathsOf({ next }: CompletionModel): string[] {
  return next.map(({ after, word }) => after === "" ? word : `${after} ${word}`);
}

/** The names of all options that take a value. */
export function optionsWithValue({ commands }: CompletionModel): string[] {
  const names = commands.flatMap(({ options }) =>
    options.flatMap((option) => option.values ? formsOf(option) : [])
  );
  return [...new Set(names)].sort();
}
