/**
 * Reads a command line that is complete and without mistakes, and finds the command that a request
 * for help names. All other lines are for the parser, which takes a command longer to load than to
 * do its work.
 */

import { Args, type CommandSpec } from "./command.ts";

export interface ParsedLine<C extends CommandSpec> {
  readonly command: C;
  readonly args: Args;
}

/** Undefined if the line is for the parser: a mistake, a request for help, or a rare form. */
export function readPlainLine<C extends CommandSpec>(
  table: readonly C[],
  line: readonly string[],
): ParsedLine<C> | undefined {
  const { words, command } = findCommand(table, line);
  if (!command) return undefined;
  const read = readWords(command, line.slice(words.length));
  if (!read) return undefined;
  // The word may be a mistyped command of the group.
  if (read.given.length > 0 && isGroup(table, words)) return undefined;
  const args = toArguments(command, read.given);
  return args && { command, args: new Args(new Map([...args, ...read.flags])) };
}

/** The words of the command or group whose help the line asks for, by their first names. */
export function readHelpRequest(
  table: readonly CommandSpec[],
  line: readonly string[],
): readonly string[] | undefined {
  const isRequest = line.at(-1) === "--help" || line.at(-1) === "-h";
  const asked = line[0] === "help" ? line.slice(1) : isRequest ? line.slice(0, -1) : undefined;
  if (asked === undefined) return undefined;
  const { words } = findCommand(table, asked);
  return words.length === asked.length ? words : undefined;
}

/** The words at the beginning of the line that name a command or a group, by their first names. */
export function findCommand<C extends CommandSpec>(table: readonly C[], line: readonly string[]) {
  let words: readonly string[] = [];
  for (const given of line) {
    const name = nextNames(table, words).get(given);
    if (name === undefined) break;
    words = [...words, name];
  }
  return {
    words,
    command: table.find(({ usage }) => wordsOf(usage).join(" ") === words.join(" ")),
  };
}

/** The names that may follow the words, with their aliases, each with the first name. */
function nextNames(table: readonly CommandSpec[], words: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { usage, aliases = [] } of table) {
    const path = wordsOf(usage);
    const name = path[words.length];
    if (name === undefined || words.some((word, at) => word !== path[at])) continue;
    names.set(name, name);
    if (path.length > words.length + 1) continue;
    for (const alias of aliases) names.set(alias, name);
  }
  return names;
}

export function isGroup(table: readonly CommandSpec[], words: readonly string[]): boolean {
  return nextNames(table, words).size > 0;
}

export function wordsOf(usage: string): string[] {
  return usage.replace(/ ?[<[].*$/s, "").split(" ");
}

interface ReadWords {
  readonly given: string[];
  readonly flags: Map<string, unknown>;
}

function readWords(command: CommandSpec, words: readonly string[]): ReadWords | undefined {
  const declared = flagsOf(command);
  if (!declared) return undefined;
  const given: string[] = [];
  const flags = new Map<string, unknown>();
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (!word.startsWith("-") || word === "-") {
      if (command.takesProgram) return { given: [...given, ...words.slice(at)], flags };
      given.push(word);
      continue;
    }
    const [, name = word, attached] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
    const flag = declared.get(name);
    if (!flag || (attached !== undefined && flag.kind === "switch")) return undefined;
    const value = flag.kind === "switch" ? true : attached ?? words[++at];
    if (value === undefined) return undefined;
    const earlier = flags.get(flag.key);
    const values = Array.isArray(earlier) ? [...earlier, value] : [value];
    flags.set(flag.key, flag.kind === "list" ? values : value);
  }
  return { given, flags };
}

interface Flag {
  /** Such as `--from <peer>`. */
  readonly declared: string;
  readonly key: string;
  readonly kind: "switch" | "value" | "list";
}

/** The flags of a command by name; undefined if a flag is on by default (`--no-…`). */
export function flagsOf({ flags = {} }: CommandSpec): Map<string, Flag> | undefined {
  const found = new Map<string, Flag>();
  for (const declared of Object.keys(flags)) {
    const [, name, value, more] = /^(?:-\w, )?(--[a-z-]+)( <[^>]+>)?( \.\.\.)?$/.exec(declared) ??
      [];
    if (name === undefined || name.startsWith("--no-")) return undefined;
    const key = name.slice(2).replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    const kind = more ? "list" : value ? "value" : "switch";
    found.set(name, { declared: declared.replace(/ \.\.\.$/, ""), key, kind });
  }
  return found;
}

/** The arguments by name; undefined if some are missing or left over. */
function toArguments(
  { usage }: CommandSpec,
  given: readonly string[],
): Map<string, unknown> | undefined {
  const args = new Map<string, unknown>();
  const declared = [...usage.matchAll(/([<[])([^<>[\].]+)(\.\.\.)?[>\]]/g)];
  for (const [at, [, bracket, name = "", isRest]] of declared.entries()) {
    if (bracket === "<" && given[at] === undefined) return undefined;
    args.set(name, isRest ? given.slice(at) : given[at]);
    if (isRest) return args;
  }
  return given.length > declared.length ? undefined : args;
}
