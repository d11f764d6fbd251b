/**
 * Finds the common mistakes of a command line: an unknown command or option, and a missing word or
 * one too many. The parser finds every mistake, but takes longer to load than a command takes.
 */

import { UsageError } from "../client/failures.ts";
import type { CommandSpec } from "./command.ts";
import { meaningOf, nearest } from "./near_words.ts";
import { findCommand, flagsOf, isGroup, wordsOf } from "./plain_line.ts";

/** First words that are no commands of the table. */
const PARSED_WORDS: readonly string[] = ["help", "version"];

/** The mistake in a line, as the parser reports it; undefined if the parser must look for it. */
export function findPlainMistake(
  table: readonly CommandSpec[],
  line: readonly string[],
): UsageError | undefined {
  const { words, command } = findCommand(table, line);
  if (words.length === 0) return unknownFirstWord(table, line);
  if (!command || command.takesProgram || isGroup(table, words)) return undefined;
  return mistakeIn(command, line.slice(words.length));
}

function unknownFirstWord(
  table: readonly CommandSpec[],
  line: readonly string[],
): UsageError | undefined {
  const [word] = line;
  if (word === undefined || PARSED_WORDS.includes(word)) return undefined;
  if (line.some((word) => word.startsWith("-"))) return undefined;
  const names = table.filter(({ hidden }) => !hidden).flatMap(({ usage, aliases = [] }) => {
    const [first = "", ...more] = wordsOf(usage);
    return more.length > 0 ? [first] : [first, ...aliases];
  });
  return unknownCommand(word, { path: "mesh", names, isRoot: true });
}

/** The error for a word that is no command of the program or of a group. */
export function unknownCommand(
  word: string,
  { path, names, isRoot }: { path: string; names: readonly string[]; isRoot: boolean },
): UsageError {
  const meaning = isRoot ? meaningOf(word) : undefined;
  const near = meaning === undefined ? nearest(word, names) : undefined;
  const hint = meaning === undefined ? near && `Did you mean: ${path} ${near}` : `Try: ${meaning}`;
  const all = isRoot ? "All commands: mesh --help" : `Allowed: ${names.join(", ")}`;
  return new UsageError(
    `Unknown command: ${path} ${word}`,
    [hint, all].filter((line) => line !== undefined).join("\n"),
  );
}

function mistakeIn(command: CommandSpec, words: readonly string[]): UsageError | undefined {
  const flags = flagsOf(command);
  if (!flags) return undefined;
  const given: string[] = [];
  let unknown: string | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (!word.startsWith("-") || word === "-") {
      given.push(word);
      continue;
    }
    if (!/^--[a-z-]+$/.test(word) || word === "--help") return undefined;
    const flag = flags.get(word);
    if (!flag) unknown ??= word;
    else if (flag.kind !== "switch" && words[++at] === undefined) {
      return usageError(command, `option '${flag.declared}' argument missing`);
    }
  }
  return unknown === undefined
    ? mistakeInArguments(command, given)
    : usageError(command, unknownOption(unknown, [...flags.keys()]));
}

/** The sentence on an unknown option, with the one that was probably meant. */
export function unknownOption(option: string, known: readonly string[]): string {
  const meant = nearest(option, known);
  const question = meant === undefined ? "" : `. Did you mean ${meant}?`;
  return `unknown option '${option}'${question}`;
}

function mistakeInArguments(
  command: CommandSpec,
  given: readonly string[],
): UsageError | undefined {
  const declared = [...command.usage.matchAll(/([<[])([^<>[\].]+)(\.\.\.)?[>\]]/g)];
  const missing = declared.find(([, bracket], at) => bracket === "<" && given[at] === undefined);
  if (missing) return usageError(command, `missing required argument '${missing[2]}'`);
  const [expected, found] = [declared.length, given.length];
  if (found <= expected || declared.at(-1)?.[3]) return undefined;
  const name = wordsOf(command.usage).at(-1);
  return usageError(
    command,
    `too many arguments for '${name}'. Expected ${expected} argument${expected === 1 ? "" : "s"} ` +
      `but got ${found}: ${given.join(", ")}.`,
  );
}

/** The error with the command's usage, in two lines. */
function usageError({ usage }: CommandSpec, message: string): UsageError {
  const words = wordsOf(usage).join(" ");
  const path = `mesh ${words}`;
  const rest = usage.slice(words.length);
  return new UsageError(message, `Usage: ${path} [options]${rest}\nMore: ${path} --help`);
}
