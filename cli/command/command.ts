/** What a command of the CLI is, how its words are parsed, and what its exit code says. */

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

/** One line of the table. */
export interface Command {
  /** As it is typed, with its arguments: `ack <id> [text]`. */
  readonly usage: string;
  readonly summary: string;
  /** What its own help says besides. */
  readonly details?: string;
  /** Flags and what they mean: `--timeout <seconds>`; `--attach <file> ...` may be said again. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly example: string;
  readonly hidden?: true;
  /** The exit code. */
  run(context: CommandContext, args: Args): Promise<number>;
}

interface ApiCommand<A> extends Omit<Command, "run"> {
  /** True where something is said, so that `--from` may say by whom. */
  readonly hasSender?: true;
  readonly call: (context: CommandContext, args: Args) => Promise<A>;
  readonly show: (answer: A, context: CommandContext, args: Args) => void | Promise<void>;
}

/** A command that asks the daemon: `--json` prints the answer unchanged, else `show` does. */
export function apiCommand<A>({ hasSender, call, show, flags, ...rest }: ApiCommand<A>): Command {
  return {
    ...rest,
    flags: { ...flags, ...(hasSender && { "--from <peer>": "who speaks" }), ...JSON_FLAG },
    async run(context, args) {
      const answer = await call(context, args);
      if (args.flag("json")) printJson(context.terminal, answer);
      else await show(answer, context, args);
      return EXIT.done;
    },
  };
}

export const JSON_FLAG = { "--json": "print the answer as JSON" } as const;

/** The arguments and flags of one call, by name. */
export class Args {
  readonly #values: ReadonlyMap<string, unknown>;

  constructor(values: ReadonlyMap<string, unknown>) {
    this.#values = values;
  }

  /** An argument that the parser has made sure of. */
  text(name: string): string {
    const value = this.get(name);
    if (value === undefined) throw new UsageError(`Missing argument: ${name}`);
    return value;
  }

  /** Several words count as one text. */
  get(name: string): string | undefined {
    const raw = this.#values.get(name);
    const value = Array.isArray(raw) ? raw.join(" ") : raw;
    return typeof value === "string" ? value : undefined;
  }

  /** All that was said with a flag that may be said again. */
  list(name: string): string[] {
    const value = this.#values.get(name);
    return Array.isArray(value) ? value.map(String) : [];
  }

  flag(name: string): boolean {
    return this.#values.get(name) === true;
  }

  number(name: string): number | undefined {
    const text = this.get(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
    throw new UsageError(`--${name}: not a number: "${text}"`);
  }
}

interface CommandContextOptions {
  readonly args: readonly string[];
  readonly env: Env;
  readonly terminal: Terminal;
  readonly clock: Clock;
}

/** What a command works with. */
export class CommandContext {
  /** The whole command line, for what reads its own flags. */
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

  /** An argument that may be `-` for the standard input. */
  async readText(text: string): Promise<string> {
    return text === "-" ? (await this.terminal.read()).replace(/\r?\n$/, "") : text;
  }
}

interface ProgramInfo {
  readonly summary: string;
  readonly version: string;
  readonly terminal: Pick<Terminal, "out" | "err">;
}

/** The parser of a table. A word before the last is a group: `inbox` of `inbox read <id>`. */
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

/** So that `--help` is the same everywhere, and can be a golden file. */
const HELP_COLUMNS = 90;

/** What groups are for that are no command themselves. */
const GROUPS: Readonly<Record<string, string>> = { surface: "Show your inbox somewhere else" };

/** The group `name`, made where it is met first. A command of the same name is its default. */
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

/** Says what went wrong, and answers the exit code for it; a program reads the refusal itself. */
export function reportError(error: unknown, to: Terminal, { json }: { json: boolean }): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usageError;
  if (error instanceof ApiError) {
    if (json) printJson(to, error.problem);
    return reportRefusal(error, to);
  }
  // Whoever read us, as `head` does, has seen enough.
  if (error instanceof Deno.errors.BrokenPipe) return EXIT.done;
  const code = exitCodeOf(error);
  if (code === undefined || !(error instanceof Error)) throw error;
  for (const line of error.message.split("\n")) printError(to, styled("red", "mesh: "), line);
  if (code === EXIT.unreachable) printError(to, "Start it with: ", styled("bold", "mesh up"));
  return code;
}

/** Undefined for a fault of ours. */
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

/** Runs `work`; Ctrl-C (or SIGTERM) aborts its signal instead of ending us at once. */
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
