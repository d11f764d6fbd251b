/** Builds the parser of the command table, its help in groups, and its errors. */

import { Command as Parser, CommanderError } from "commander";
import { VERSION } from "kit/core/version.ts";
import { UsageError } from "../client/failures.ts";
import type { Device } from "../output/terminal.ts";
import { Args, type CommandSpec } from "./command.ts";
import { FIRST_WORDS, helpPlaceOf } from "./groups.ts";
import type { ParsedLine } from "./plain_line.ts";
import { unknownCommand, unknownOption } from "./plain_mistakes.ts";

type Output = Pick<Device, "out" | "err">;

export const SUMMARY = "Agent Mesh lets coding agents, and you, ask each other questions.";

/**
 * A fixed width makes `--help` the same everywhere, so that it can be compared with a golden file.
 */
const HELP_COLUMNS = 90;
const FOOTER = `
On a terminal, mesh without a command is a live view of peers, messages and what waits for you.
Each command has more: mesh help COMMAND. Errors of a command with --json are JSON, too.
Exit codes: 0 done; 1 refused, failed, or still open after --timeout; 2 wrong usage or
configuration; 3 no daemon answers; 130 Ctrl-C.`;

/**
 * Parses a command line. Undefined if it asked for the help or the version, which is then printed.
 * Throws `UsageError` if the table does not allow it.
 */
export function parseLine<C extends CommandSpec>(
  commands: readonly C[],
  device: Output,
  line: readonly string[],
): ParsedLine<C> | undefined {
  let parsed: ParsedLine<C> | undefined;
  const parser = buildParser(commands, device, (command, args) => {
    parsed = { command, args };
  });
  if (line[0] === "help") {
    printHelpOf(parser, line.slice(1));
    return undefined;
  }
  try {
    parser.parse(line[0] === "version" ? ["--version"] : line, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
  }
  return parsed;
}

/**
 * Builds the parser. All words of a command before the last one are groups, such as `inbox` in
 * `inbox read <id>`.
 */
export function buildParser<C extends CommandSpec>(
  commands: readonly C[],
  device: Output,
  run: (command: C, args: Args) => void,
): Parser {
  const root = new Parser("mesh").description(SUMMARY).version(VERSION).enablePositionalOptions()
    .option("--verbose", "print each request to the daemon, to standard error")
    .option("--machine <name>", "talk to this machine of yours (or set MESH_MACHINE)")
    .helpCommand(false).configureHelp({ helpWidth: HELP_COLUMNS, subcommandTerm })
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: device.out,
      writeErr: device.err,
      outputError: () => {}, // `reportError` prints the error.
    })
    .addHelpText("after", FOOTER);
  root.exitOverride((error) => explain(error, root));
  const placed = commands.map((command) => ({ command, ...helpPlaceOf(firstWordOf(command)) }));
  placed.sort((a, b) => a.rank === b.rank ? 0 : a.rank - b.rank);
  for (const { command } of placed) addCommand(root, command, run);
  return root;
}

/** A command in the list of its group: its names and arguments. */
function subcommandTerm(command: Parser): string {
  const args = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [[command.name(), ...command.aliases()].join("|"), ...args].join(" ");
}

function firstWordOf({ usage }: CommandSpec): string {
  return usage.split(" ")[0] ?? usage;
}

function addCommand<C extends CommandSpec>(
  root: Parser,
  command: C,
  run: (command: C, args: Args) => void,
): void {
  const [, group, rest = ""] = /^((?:[a-z-]+ )*)([a-z-].*)$/s.exec(command.usage) ?? [];
  const parent = (group ?? "").trim().split(" ").filter(Boolean).reduce(ensureGroup, root);
  const parser = parent.command(rest, { hidden: command.hidden ?? false });
  const { details, aliases = [], summary } = command;
  if (parent === root) parser.helpGroup(headingOf(parser.name()));
  if (details !== undefined) parser.summary(summary);
  parser.passThroughOptions(command.takesProgram ?? false);
  parser.aliases(aliases).description(details === undefined ? summary : `${summary}\n\n${details}`);
  parser.addHelpText("after", exampleText(command.example));
  parser.exitOverride((error) => explain(error, parser));
  for (const [flag, meaning] of Object.entries(command.flags ?? {})) {
    const flagSpec = flag.replace(/ \.\.\.$/, "");
    if (flagSpec === flag) parser.option(flag, meaning);
    else parser.option(flagSpec, meaning, collect);
  }
  parser.action(() => run(command, argsOf(parser)));
}

function exampleText(example: string): string {
  return `\nExample:\n  ${example}`;
}

function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value];
}

/**
 * Returns the group `name`, and creates it if needed. A command with the group's name becomes the
 * default command of the group.
 */
function ensureGroup(parent: Parser, name: string): Parser {
  const existing = parent.commands.find((existing) => existing.name() === name);
  if (existing) return existing;
  const { summary = "", example } = FIRST_WORDS[name] ?? {};
  const group = parent.command(name).description(summary).helpCommand(false)
    .helpGroup(headingOf(name));
  if (example !== undefined) group.addHelpText("after", exampleText(example));
  return group.exitOverride((error) => explain(error, group));
}

function headingOf(name: string): string {
  return `${helpPlaceOf(name).group?.title ?? "Commands"}:`;
}

function argsOf(parser: Parser): Args {
  const raw: unknown[] = parser.processedArgs;
  const names = parser.registeredArguments.map((argument) => argument.name());
  const values = new Map(names.map((name, at) => [name, raw[at]]));
  const flags = parser.opts<Record<string, unknown>>();
  for (const [name, value] of Object.entries(flags)) values.set(name, value);
  return new Args(values);
}

/** Throws the parser's error as a usage error that names what this command allows. */
function explain(error: CommanderError, parser: Parser): never {
  if (error.exitCode === 0) throw error; // The help or the version was printed.
  const unknown = unknownWordOf(error, parser);
  if (unknown !== undefined) throw unknownIn(parser, unknown);
  if (error.code === "commander.help") {
    throw new UsageError(`${pathOf(parser)} needs another word: ${namesIn(parser).join(", ")}`);
  }
  const message = error.message.replace(/^error: /, "");
  const [, option] = /^unknown option '(--?[^']+)'/.exec(message) ?? [];
  const known = parser.options.flatMap(({ long }) => long ?? []);
  const text = option === undefined ? message : unknownOption(option, known);
  throw new UsageError(text, usageOf(parser));
}

/** The word that is neither a command of this group nor its argument. */
function unknownWordOf({ code }: CommanderError, parser: Parser): string | undefined {
  if (code === "commander.unknownCommand") return parser.args[0];
  if (code !== "commander.excessArguments" || parser.commands.length === 0) return undefined;
  return parser.args[parser.registeredArguments.length];
}

function unknownIn(parser: Parser, word: string): UsageError {
  const isRoot = parser.parent === null;
  return unknownCommand(word, { path: pathOf(parser), names: namesIn(parser), isRoot });
}

function namesIn(parser: Parser): string[] {
  const visible = parser.createHelp().visibleCommands(parser);
  return visible.flatMap((command) => [command.name(), ...command.aliases()]);
}

function pathOf(parser: Parser): string {
  return parser.parent === null ? parser.name() : `${pathOf(parser.parent)} ${parser.name()}`;
}

/** The usage of a command, in two lines. */
function usageOf(parser: Parser): string {
  return `Usage: ${pathOf(parser)} ${parser.usage()}\nMore: ${pathOf(parser)} --help`;
}

/** Prints the help of the command that the words name. Throws `UsageError` for an unknown one. */
function printHelpOf(root: Parser, words: readonly string[]): void {
  let parser = root;
  for (const word of words) {
    const next = parser.commands.find((command) =>
      command.name() === word || command.aliases().includes(word)
    );
    if (!next) throw unknownIn(parser, word);
    parser = next;
  }
  parser.outputHelp();
}
