/**
 * Reads a command line by the table of commands: its command, flags and arguments, or the command
 * whose help it asks for. It loads no package, because every command waits for it.
 */

import { nearest } from "kit/core/near_words.ts";
import { UsageError } from "../client/failures.ts";
import { Args, type CommandSpec } from "./command.ts";
import { meaningOf } from "./meanings.ts";
import type { Env } from "../../daemon/host/paths.ts";

export interface ParsedLine<C extends CommandSpec> {
  readonly command: C;
  readonly args: Args;
}

/** The first names of the command or group whose help is asked for; empty for all commands. */
interface HelpRequest {
  readonly help: readonly string[];
}

/** The flags of `mesh` itself. `readGlobalOptions` and `cli.ts` read them before the command. */
export const PROGRAM_FLAGS: Readonly<Record<string, string>> = {
  "-V, --version": "output the version number",
  "--verbose": "print each request to the daemon, to standard error",
  "--machine <name>": "talk to this machine of yours (or set MESH_MACHINE)",
};

/** The flag of every command that shows its help. */
export const HELP_FLAG = ["-h, --help", "display help for command"] as const;
const HELP_FLAGS = HELP_FLAG[0].split(", ");
const NEGATIVE_NUMBER = /^-(\d+|\d*\.\d+)(e[+-]?\d+)?$/i;

/** Throws `UsageError` if the table does not allow the line. */
export function parseLine<C extends CommandSpec>(
  table: readonly C[],
  line: readonly string[],
): ParsedLine<C> | HelpRequest {
  if (line[0] === "help") return { help: mustFindWords(table, line.slice(1)) };
  const place = findCommand(table, line);
  const { words, command } = place;
  const rest = line.slice(words.length);
  const { given, flags, unknown, asksHelp, subcommandAt } = readWords(place, rest);
  if (subcommandAt !== undefined) {
    // Flags may stand before the subcommand to which they belong.
    const subcommand = rest.slice(subcommandAt, subcommandAt + 1);
    return parseLine(table, [...words, ...subcommand, ...rest.toSpliced(subcommandAt, 1)]);
  }
  if (asksHelp) return { help: words };
  if (!command && given[0] !== undefined) throw unknownCommand(place, given[0]);
  if (unknown !== undefined) throw usageError(place, unknownFlag(place, unknown));
  if (!command) {
    throw new UsageError(`${pathOf(words)} needs another word: ${place.shown.join(", ")}`);
  }
  const named = toArguments(place, command, given);
  const twice = flags.keys().find((name) => named.get(name) !== undefined);
  if (twice !== undefined) throw usageError(place, `[${twice}] and --${twice}: give one of them`);
  return { command, args: new Args(new Map([...named, ...flags])) };
}

/** A command or group: its words by their first names, and the names that may follow them. */
interface Place<C extends CommandSpec> {
  readonly words: readonly string[];
  /** Undefined for words that are only the beginning of commands. */
  readonly command: C | undefined;
  /** The names that may follow, with their aliases, each with the first name. */
  readonly next: ReadonlyMap<string, string>;
  /** The names that may follow, without those of hidden commands. */
  readonly shown: readonly string[];
}

/** The words at the beginning of the line that name a command or a group. */
export function findCommand<C extends CommandSpec>(
  table: readonly C[],
  line: readonly string[],
): Place<C> {
  let place = placeOf(table, []);
  for (const given of line) {
    const name = place.next.get(given);
    if (name === undefined) break;
    place = placeOf(table, [...place.words, name]);
  }
  return place;
}

function placeOf<C extends CommandSpec>(table: readonly C[], words: readonly string[]): Place<C> {
  const next = new Map<string, string>();
  const shown = new Set<string>();
  let command: C | undefined;
  for (const entry of table) {
    const path = wordsOf(entry.usage);
    if (words.some((word, at) => word !== path[at])) continue;
    const [name, ...more] = path.slice(words.length);
    if (name === undefined) {
      command = entry;
      continue;
    }
    for (const known of more.length > 0 ? [name] : [name, ...entry.aliases ?? []]) {
      next.set(known, name);
      if (!entry.hidden) shown.add(known);
    }
  }
  return { words, command, next, shown: [...shown] };
}

export function wordsOf(usage: string): string[] {
  return usage.replace(/ ?[<[].*$/s, "").split(" ");
}

/** The words of the command or group after `help`, by their first names. */
function mustFindWords(table: readonly CommandSpec[], asked: readonly string[]) {
  const place = findCommand(table, asked);
  const unknown = asked[place.words.length];
  if (unknown !== undefined) throw unknownCommand(place, unknown);
  return place.words;
}

interface ReadWords {
  readonly given: readonly string[];
  readonly flags: ReadonlyMap<string, unknown>;
  /** The first word that begins with a hyphen and is no flag. */
  readonly unknown?: string | undefined;
  readonly asksHelp?: boolean;
  /** The index of a word that names a subcommand. */
  readonly subcommandAt?: number;
}

function readWords(place: Place<CommandSpec>, words: readonly string[]): ReadWords {
  const declared = flagsOf(place);
  const given: string[] = [];
  const flags = new Map<string, unknown>();
  for (const { key, kind } of declared.values()) if (kind === "off") flags.set(key, true);
  let unknown: string | undefined, asksHelp = false, isLiteral = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (isLiteral || !isFlag(word, place)) {
      if (unknown === undefined && given.length === 0 && place.next.has(word)) {
        return { given, flags, subcommandAt: at };
      }
      const { takesProgram, flagsAfter } = place.command ?? {};
      if (takesProgram && (isLiteral || !flagsAfter?.includes(given[0] ?? word))) {
        return { given: [...given, ...words.slice(at)], flags, unknown, asksHelp };
      }
      // After an unknown flag, the word may be its value.
      if (unknown === undefined) given.push(word);
      continue;
    }
    if (word === "--") {
      isLiteral = true;
      continue;
    }
    const [, name = word, attached] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
    const flag = declared.get(name);
    const takesValue = flag?.kind === "value" || flag?.kind === "list";
    if (!flag || attached !== undefined && !takesValue) {
      unknown ??= word;
      asksHelp ||= HELP_FLAGS.includes(word);
      continue;
    }
    const value = takesValue ? attached ?? words[++at] : flag.kind === "on";
    if (value === undefined) {
      throw usageError(place, `option '${flag.declared}' argument missing`);
    }
    const earlier = flags.get(flag.key);
    const values = Array.isArray(earlier) ? [...earlier, value] : [value];
    flags.set(flag.key, flag.kind === "list" ? values : value);
  }
  return { given, flags, unknown, asksHelp };
}

/** A negative number is an argument of a command, but no word of a group. */
function isFlag(word: string, { next }: Place<CommandSpec>): boolean {
  return /^-./s.test(word) && !(next.size === 0 && NEGATIVE_NUMBER.test(word));
}

interface Flag {
  /** Such as `--from <peer>`. */
  readonly declared: string;
  /** The name in `Args`. `--no-wait` turns off the value `wait`, which is on by default. */
  readonly key: string;
  readonly kind: "on" | "off" | "value" | "list";
}

/** The flags of a command by their names, such as `-y` and `--yes`. */
function flagsOf({ words, command }: Place<CommandSpec>): Map<string, Flag> {
  const found = new Map<string, Flag>();
  const all = words.length === 0 ? PROGRAM_FLAGS : command?.flags ?? {};
  for (const declared of Object.keys(all)) {
    const { short, name, value, repeats } = parseFlag(declared);
    const kind = repeats ? "list" : value ? "value" : name.startsWith("--no-") ? "off" : "on";
    const flag: Flag = { declared: declared.replace(/ \.\.\.$/, ""), key: keyOf(name), kind };
    if (short !== undefined) found.set(short, flag);
    found.set(name, flag);
  }
  return found;
}

/** The parts of a declared flag, such as `-n, --count <count>` and `--tag <tag> ...`. */
export function parseFlag(declared: string) {
  const [, short, name = declared, value, more] =
    /^(?:(-\w), )?(--[a-z-]+)(?: <([^>]+)>)?( \.\.\.)?$/.exec(declared) ?? [];
  return { short, name, value, repeats: more !== undefined };
}

/** The name in `Args` of a flag: `perMinute` of `--per-minute`, and `wait` of `--no-wait`. */
export function keyOf(flag: string): string {
  return flag.replace(/^--(no-)?/, "")
    .replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The arguments by name. Throws `UsageError` if some are missing or left over. */
function toArguments(
  place: Place<CommandSpec>,
  { usage }: CommandSpec,
  given: readonly string[],
): Map<string, unknown> {
  const args = new Map<string, unknown>();
  const declared = [...usage.matchAll(/([<[])([^<>[\].]+)(\.\.\.)?[>\]]/g)];
  for (const [at, [, bracket, name = "", isRest]] of declared.entries()) {
    if (bracket === "<" && given[at] === undefined) {
      throw usageError(place, `missing required argument '${name}'`);
    }
    args.set(name, isRest ? given.slice(at) : given[at]);
    if (isRest) return args;
  }
  const [expected, found] = [declared.length, given.length];
  const more = given[expected];
  if (more === undefined) return args;
  // The word may be a mistyped subcommand.
  if (place.next.size > 0) throw unknownCommand(place, more);
  const words = `${expected} argument${expected === 1 ? "" : "s"}`;
  throw usageError(
    place,
    `too many arguments for '${place.words.at(-1)}'. Expected ${words} but got ${found}: ` +
      `${given.join(", ")}.`,
  );
}

/** The error for a word that is no command of the program or of a group. */
function unknownCommand({ words, shown }: Place<CommandSpec>, word: string): UsageError {
  const isRoot = words.length === 0;
  const path = pathOf(words);
  const meaning = isRoot ? meaningOf(word) : undefined;
  const near = meaning === undefined ? nearest(word, shown) : undefined;
  const hint = meaning === undefined ? near && `Did you mean: ${path} ${near}` : `Try: ${meaning}`;
  const all = isRoot ? "All commands: mesh --help" : `Allowed: ${shown.join(", ")}`;
  return new UsageError(
    `Unknown command: ${path} ${word}`,
    [hint, all].filter((line) => line !== undefined).join("\n"),
  );
}

/** The sentence on an unknown flag, with the flag that was probably meant. */
function unknownFlag(place: Place<CommandSpec>, flag: string): string {
  const names = flagsOf(place).keys().filter((name) => name.startsWith("--"));
  const meant = nearest(flag, names);
  const question = meant === undefined ? "" : `. Did you mean ${meant}?`;
  return `unknown option '${flag}'${question}`;
}

/** The error with the usage of the command or group, in two lines. */
function usageError({ words, command, next }: Place<CommandSpec>, message: string): UsageError {
  const path = pathOf(words);
  const args = command?.usage.slice(words.join(" ").length) ?? "";
  const subcommand = next.size > 0 ? " [command]" : "";
  return new UsageError(
    message,
    `Usage: ${path} [options]${subcommand}${args}\nMore: ${path} --help`,
  );
}

function pathOf(words: readonly string[]): string {
  return ["mesh", ...words].join(" ");
}

interface GlobalOptions {
  /** The line without these options. */
  readonly args: readonly string[];
  readonly verbose: boolean;
  /** The machine to talk to; undefined for this one, and empty if its name is missing. */
  readonly machine: string | undefined;
}

/**
 * Reads the options wherever they stand before `--`. Behind the name of a command that takes
 * another program, `--machine` is an option of that program.
 */
export function readGlobalOptions(
  table: readonly CommandSpec[],
  given: readonly string[],
  env: Env,
): GlobalOptions {
  const programs = new Set(
    table.filter(({ takesProgram }) => takesProgram).map(({ usage }) => wordsOf(usage)[0]),
  );
  const args: string[] = [];
  let [verbose, machine] = [false, env["MESH_MACHINE"] || undefined];
  for (let at = 0; at < given.length; at++) {
    const word = given[at] ?? "";
    if (word === "--") return { args: [...args, ...given.slice(at)], verbose, machine };
    const isOurs = !programs.has(args[0]);
    if (word === "--verbose") verbose = true;
    else if (isOurs && word === "--machine") machine = given[++at] ?? "";
    else if (isOurs && word.startsWith("--machine=")) machine = word.slice("--machine=".length);
    else args.push(word);
  }
  return { args, verbose, machine };
}

/** Refuses a command that works with this machine only, or with a stream of events. */
export function mustWorkElsewhere({ usage, needs }: CommandSpec, machine: string): void {
  if (needs === undefined) return;
  const name = `mesh ${wordsOf(usage).join(" ")}`;
  const what = needs === "stream"
    ? `${name} shows events as they come, which another machine cannot send`
    : `${name} works on this machine only`;
  const hint = `Run it on ${machine} itself, or without --machine and MESH_MACHINE`;
  throw new UsageError(what, hint);
}
