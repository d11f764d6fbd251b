/** The type of a CLI command, the parser of the command table, and error reporting. */

import { Command as Parser, CommanderError } from "commander";
import type { Clock } from "kit/core/clock.ts";
import { ApiError, type Call } from "kit/http/client.ts";
import type { Env } from "../../daemon/host/paths.ts";
import {
  ConfigError,
  createDaemonClient,
  type DaemonClient,
  DaemonUnreachable,
  resolveSender,
  type Sender,
} from "../client/daemon_client.ts";
import { printError, printJson, styled, type Terminal } from "../output/terminal.ts";
import { CommandError, EXIT, UsageError } from "../client/failures.ts";

/** One entry of the command table. */
export interface Command {
  /** The command as it is typed, with its arguments: `ack <id> [text]`. */
  readonly usage: string;
  readonly summary: string;
  /** More text for the command's own help. */
  readonly details?: string;
  /** Flags and their help, such as `--timeout <seconds>`; `--attach <file> ...` is repeatable. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly example: string;
  readonly hidden?: true;
  /** Runs the command and returns its exit code. */
  run(context: CommandContext, args: Args): Promise<number>;
}

interface ApiCommand<A> extends Omit<Command, "run"> {
  /** Adds the flag `--from`, for commands that send something. */
  readonly hasSender?: true;
  readonly call: (context: CommandContext, args: Args) => Promise<A>;
  readonly show: (answer: A, context: CommandContext, args: Args) => void | Promise<void>;
}

/**
 * A command that calls the daemon. With `--json` the answer is printed unchanged; otherwise `show`
 * prints it.
 */
export function apiCommand<A>({ hasSender, call, show, flags, ...rest }: ApiCommand<A>): Command {
  return {
    ...rest,
    flags: { ...flags, ...(hasSender && FROM_FLAG), ...JSON_FLAG },
    async run(context, args) {
      const answer = await call(context, args);
      if (args.flag("json")) printJson(context.terminal, answer);
      else await show(answer, context, args);
      return EXIT.done;
    },
  };
}

export const JSON_FLAG = { "--json": "print the answer as JSON" } as const;
export const FROM_FLAG = { "--from <peer>": "send as this peer" } as const;
export const CIRCLE_FLAG = { "--circle <name>": "look up the peer's name in this circle" } as const;

/** The arguments and flags of one command line, by name. */
export class Args {
  readonly #values: ReadonlyMap<string, unknown>;

  constructor(values: ReadonlyMap<string, unknown>) {
    this.#values = values;
  }

  /** A required argument. */
  text(name: string): string {
    const value = this.get(name);
    if (value === undefined) throw new UsageError(`Missing argument: ${name}`);
    return value;
  }

  /** An argument or flag; several words are joined with spaces. */
  get(name: string): string | undefined {
    const raw = this.#values.get(name);
    const value = Array.isArray(raw) ? raw.join(" ") : raw;
    return typeof value === "string" ? value : undefined;
  }

  /** All values of a repeatable flag. */
  list(name: string): string[] {
    const value = this.#values.get(name);
    return Array.isArray(value) ? value.map(String) : [];
  }

  flag(name: string): boolean {
    return this.#values.get(name) === true;
  }

  /** A flag whose value must be one of `options`. */
  choice<T extends string>(name: string, options: readonly T[]): T | undefined {
    const value = this.get(name);
    const chosen = options.find((option) => option === value);
    if (value === undefined || chosen !== undefined) return chosen;
    throw new UsageError(`--${name}: "${value}" is not one of ${options.join(", ")}`);
  }

  /** A required flag whose value must be one of `options`. */
  requiredChoice<T extends string>(name: string, options: readonly T[]): T {
    const chosen = this.choice(name, options);
    if (chosen !== undefined) return chosen;
    throw new UsageError(`--${name} is required: one of ${options.join(", ")}`);
  }

  number(name: string): number | undefined {
    const text = this.get(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
    throw new UsageError(`--${name}: "${text}" is not a number of 0 or more`);
  }
}

/** Makes a relative path absolute, because the daemon has another working directory. Keeps `~`. */
export function absolutePath(path: string): string {
  return /^[/~]/.test(path) ? path : `${Deno.cwd()}/${path}`;
}

export function localTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

interface CommandContextOptions {
  readonly args: readonly string[];
  readonly env: Env;
  readonly terminal: Terminal;
  readonly clock: Clock;
}

/** What a command runs with: its environment, terminal, clock and daemon client. */
export class CommandContext {
  /** The whole command line, for commands that parse their own flags. */
  readonly args: readonly string[];
  readonly env: Env;
  readonly terminal: Terminal;
  readonly clock: Clock;
  #daemon: DaemonClient | undefined;

  constructor({ args, env, terminal, clock }: CommandContextOptions) {
    this.args = args;
    this.env = env;
    this.terminal = terminal;
    this.clock = clock;
  }

  get daemon(): DaemonClient {
    return this.#daemon ??= createDaemonClient(this.env, this.terminal.interactive);
  }

  get call(): Call {
    return this.daemon.call;
  }

  sender(args: Args): Promise<Sender> {
    const { interactive } = this.terminal;
    return resolveSender(this.daemon, this.env, { from: args.get("from"), interactive });
  }

  /** Returns the text, or standard input when the text is `-`. */
  async readText(text: string): Promise<string> {
    return text === "-" ? (await this.terminal.read()).replace(/\r?\n$/, "") : text;
  }
}

interface ProgramInfo {
  readonly summary: string;
  readonly version: string;
  readonly terminal: Pick<Terminal, "out" | "err">;
}

/**
 * Builds the parser. All words of a command before the last one are groups, such as `inbox` in
 * `inbox read <id>`.
 */
export function buildParser(
  commands: readonly Command[],
  { summary, version, terminal }: ProgramInfo,
  run: (command: Command, args: Args) => Promise<void>,
): Parser {
  const root = new Parser("mesh").description(summary).version(version).enablePositionalOptions()
    .exitOverride().configureHelp({ helpWidth: HELP_COLUMNS })
    .showHelpAfterError("See: mesh --help")
    .configureOutput({
      writeOut: terminal.out,
      writeErr: terminal.err,
      outputError: (text, write) => write(text.replace(/^error: /, "mesh: ")),
    });
  for (const command of commands) {
    const [, group, rest = ""] = /^((?:[a-z-]+ )*)([a-z-].*)$/s.exec(command.usage) ?? [];
    const parent = (group ?? "").trim().split(" ").filter(Boolean).reduce(ensureGroup, root);
    const parser = parent.command(rest, { hidden: command.hidden ?? false });
    const { details } = command;
    if (details !== undefined) parser.summary(command.summary);
    parser.description(
      details === undefined ? command.summary : `${command.summary}\n\n${details}`,
    );
    parser.addHelpText("after", `\nExample:\n  ${command.example}`);
    for (const [flag, meaning] of Object.entries(command.flags ?? {})) {
      const flagSpec = flag.replace(/ \.\.\.$/, "");
      if (flagSpec === flag) parser.option(flag, meaning);
      else {parser.option(
          flagSpec,
          meaning,
          (one: string, previous: string[] = []) => [...previous, one],
        );}
    }
    parser.action(() => run(command, argsOf(parser)));
  }
  return root;
}

/**
 * A fixed width makes `--help` the same everywhere, so that it can be compared with a golden file.
 */
const HELP_COLUMNS = 90;

/** Descriptions of groups that are not commands themselves. */
const GROUPS: Readonly<Record<string, string>> = {
  peer: "Show, rename, restart or remove a peer",
  surface: "Connect your inbox to a chat",
};

/**
 * Returns the group `name`, and creates it if needed. A command with the group's name becomes the
 * default command of the group.
 */
function ensureGroup(parent: Parser, name: string): Parser {
  const existing = parent.commands.find((existing) => existing.name() === name);
  return existing ?? parent.command(name).description(GROUPS[name] ?? "");
}

function argsOf(parser: Parser): Args {
  const raw: unknown[] = parser.processedArgs;
  const names = parser.registeredArguments.map((argument) => argument.name());
  const values = new Map(names.map((name, at) => [name, raw[at]]));
  const flags = parser.opts<Record<string, unknown>>();
  for (const [name, value] of Object.entries(flags)) values.set(name, value);
  return new Args(values);
}

/** Prints the error and returns its exit code; with `json`, prints the refusal as JSON too. */
export function reportError(error: unknown, to: Terminal, { json }: { json: boolean }): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usageError;
  if (error instanceof ApiError) {
    if (json) printJson(to, error.problem);
    return reportRefusal(error, to);
  }
  // The program that reads our output has closed the pipe, as `head` does.
  if (error instanceof Deno.errors.BrokenPipe) return EXIT.done;
  const code = exitCodeOf(error);
  if (code === undefined || !(error instanceof Error)) throw error;
  for (const line of error.message.split("\n")) printError(to, styled("red", "mesh: "), line);
  if (code === EXIT.unreachable) printError(to, "Start it with: ", styled("bold", "mesh up"));
  return code;
}

/** The exit code of an error; undefined for an unexpected error, which the caller rethrows. */
function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof DaemonUnreachable) return EXIT.unreachable;
  if (error instanceof UsageError || error instanceof ConfigError) return EXIT.usageError;
  return error instanceof CommandError ? EXIT.refused : undefined;
}

function reportRefusal({ problem, status }: ApiError, to: Terminal): number {
  const detail = typeof problem.detail === "string" ? problem.detail : `HTTP ${status}`;
  printError(to, styled("red", "mesh: "), detail);
  if (typeof problem.hint === "string") printError(to, styled("dim", "hint: "), problem.hint);
  for (const { name, peer_id, circle } of parseCandidates(problem)) {
    printError(to, `  ${name}  ${peer_id}  in ${circle}`);
  }
  return EXIT.refused;
}

interface Candidate {
  readonly name: unknown;
  readonly peer_id: unknown;
  readonly circle: unknown;
}

function parseCandidates({ candidates }: Record<string, unknown>): Candidate[] {
  if (!Array.isArray(candidates)) return [];
  return candidates.filter((one) => typeof one === "object" && one !== null);
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Runs `work`; Ctrl-C or SIGTERM aborts its signal instead of ending the process. */
export async function interruptible<A>(work: (signal: AbortSignal) => Promise<A>): Promise<A> {
  const interrupt = new AbortController();
  const abort = () => interrupt.abort(new Error("Interrupted"));
  for (const signal of SIGNALS) Deno.addSignalListener(signal, abort);
  try {
    return await work(interrupt.signal);
  } finally {
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, abort);
  }
}
