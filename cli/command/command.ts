/** What a command of the CLI is, how its words are parsed, and what its exit code says. */

import { Command as Parser, CommanderError } from "commander";
import type { Clock } from "kit/core/clock.ts";
import { type Call, Refused } from "kit/http/client.ts";
import type { Env } from "../../daemon/host/paths.ts";
import {
  type Daemon,
  findDaemon,
  Misconfigured,
  type Sender,
  senderOf,
  Unreachable,
} from "../client/daemon_client.ts";
import { complain, ink, printJson, type Terminal } from "../output/print.ts";
import { EXIT, Failed, Misused } from "../client/failures.ts";

/** One line of the table. */
export interface Command {
  /** As it is typed, with its arguments: `ack <id> [text]`. */
  readonly words: string;
  readonly summary: string;
  /** What its own help says besides. */
  readonly about?: string;
  /** Flags and what they mean: `--timeout <seconds>`; `--attach <file> ...` may be said again. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly example: string;
  readonly hidden?: true;
  /** The exit code. */
  run(session: Session, words: Words): Promise<number>;
}

interface Verb<A> extends Omit<Command, "run"> {
  /** True where something is said, so that `--from` may say by whom. */
  readonly speaks?: true;
  readonly call: (session: Session, words: Words) => Promise<A>;
  readonly show: (answer: A, session: Session, words: Words) => void | Promise<void>;
}

/** A command that asks the daemon: `--json` prints the answer unchanged, else `show` does. */
export function verb<A>({ speaks, call, show, flags, ...rest }: Verb<A>): Command {
  return {
    ...rest,
    flags: { ...flags, ...(speaks && { "--from <peer>": "who speaks" }), ...JSON_FLAG },
    async run(session, words) {
      const answer = await call(session, words);
      if (words.flag("json")) printJson(session.terminal, answer);
      else await show(answer, session, words);
      return EXIT.done;
    },
  };
}

export const JSON_FLAG = { "--json": "print the answer as JSON" } as const;

/** The arguments and flags of one call, by name. */
export class Words {
  readonly #values: ReadonlyMap<string, unknown>;

  constructor(values: ReadonlyMap<string, unknown>) {
    this.#values = values;
  }

  /** An argument that the parser has made sure of. */
  text(name: string): string {
    const value = this.maybe(name);
    if (value === undefined) throw new Misused(`Missing argument: ${name}`);
    return value;
  }

  /** Several words count as one text. */
  maybe(name: string): string | undefined {
    const given = this.#values.get(name);
    const value = Array.isArray(given) ? given.join(" ") : given;
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
    const text = this.maybe(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
    throw new Misused(`--${name}: not a number: "${text}"`);
  }
}

interface SessionParts {
  readonly args: readonly string[];
  readonly env: Env;
  readonly terminal: Terminal;
  readonly clock: Clock;
}

/** What a command works with. */
export class Session {
  /** The whole command line, for what reads its own flags. */
  readonly args: readonly string[];
  readonly env: Env;
  readonly terminal: Terminal;
  readonly clock: Clock;
  #daemon: Daemon | undefined;

  constructor({ args, env, terminal, clock }: SessionParts) {
    this.args = args;
    this.env = env;
    this.terminal = terminal;
    this.clock = clock;
  }

  get daemon(): Daemon {
    return this.#daemon ??= findDaemon(this.env, this.terminal.person);
  }

  get call(): Call {
    return this.daemon.call;
  }

  sender(words: Words): Promise<Sender> {
    const { person } = this.terminal;
    return senderOf(this.daemon, this.env, { from: words.maybe("from"), person });
  }

  /** An argument that may be `-` for the standard input. */
  async said(text: string): Promise<string> {
    return text === "-" ? (await this.terminal.read()).replace(/\r?\n$/, "") : text;
  }
}

interface About {
  readonly summary: string;
  readonly version: string;
  readonly terminal: Pick<Terminal, "out" | "err">;
}

/** The parser of a table. A word before the last is a group: `inbox` of `inbox read <id>`. */
export function parserOf(
  commands: readonly Command[],
  { summary, version, terminal }: About,
  run: (command: Command, words: Words) => Promise<void>,
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
    const [, group, rest = ""] = /^((?:[a-z-]+ )*)([a-z-].*)$/s.exec(command.words) ?? [];
    const above = (group ?? "").trim().split(" ").filter(Boolean).reduce(groupOf, root);
    const parser = above.command(rest, { hidden: command.hidden ?? false });
    const { about } = command;
    if (about !== undefined) parser.summary(command.summary);
    parser.description(about === undefined ? command.summary : `${command.summary}\n\n${about}`);
    parser.addHelpText("after", `\nExample:\n  ${command.example}`);
    for (const [flag, meaning] of Object.entries(command.flags ?? {})) {
      const once = flag.replace(/ \.\.\.$/, "");
      if (once === flag) parser.option(flag, meaning);
      else parser.option(once, meaning, (one: string, all: string[] = []) => [...all, one]);
    }
    parser.action(() => run(command, wordsOf(parser)));
  }
  return root;
}

/** So that `--help` is the same everywhere, and can be a golden file. */
const HELP_COLUMNS = 90;

/** What groups are for that are no command themselves. */
const GROUPS: Readonly<Record<string, string>> = { surface: "Show your inbox somewhere else" };

/** The group `name`, made where it is met first. A command of the same name is its default. */
function groupOf(above: Parser, name: string): Parser {
  const known = above.commands.find((known) => known.name() === name);
  return known ?? above.command(name).description(GROUPS[name] ?? "");
}

function wordsOf(parser: Parser): Words {
  const given: unknown[] = parser.processedArgs;
  const names = parser.registeredArguments.map((argument) => argument.name());
  const values = new Map(names.map((name, at) => [name, given[at]]));
  const flags = parser.opts<Record<string, unknown>>();
  for (const [name, value] of Object.entries(flags)) values.set(name, value);
  return new Words(values);
}

/** Says what went wrong, and answers the exit code for it; a program reads the refusal itself. */
export function explain(fault: unknown, to: Terminal, { json }: { json: boolean }): number {
  if (fault instanceof CommanderError) return fault.exitCode === 0 ? EXIT.done : EXIT.misused;
  if (fault instanceof Refused) {
    if (json) printJson(to, fault.problem);
    return refused(fault, to);
  }
  // Whoever read us, as `head` does, has seen enough.
  if (fault instanceof Deno.errors.BrokenPipe) return EXIT.done;
  const code = codeOf(fault);
  if (code === undefined || !(fault instanceof Error)) throw fault;
  for (const line of fault.message.split("\n")) complain(to, ink("red", "mesh: "), line);
  if (code === EXIT.unreachable) complain(to, "Start it with: ", ink("bold", "mesh up"));
  return code;
}

/** Undefined for a fault of ours. */
function codeOf(fault: unknown): number | undefined {
  if (fault instanceof Unreachable) return EXIT.unreachable;
  if (fault instanceof Misused || fault instanceof Misconfigured) return EXIT.misused;
  return fault instanceof Failed ? EXIT.refused : undefined;
}

function refused({ problem, status }: Refused, to: Terminal): number {
  const detail = typeof problem.detail === "string" ? problem.detail : `HTTP ${status}`;
  complain(to, ink("red", "mesh: "), detail);
  if (typeof problem.hint === "string") complain(to, ink("dim", "hint: "), problem.hint);
  for (const { name, peer_id, circle } of candidatesOf(problem)) {
    complain(to, `  ${name}  ${peer_id}  in ${circle}`);
  }
  return EXIT.refused;
}

interface Candidate {
  readonly name: unknown;
  readonly peer_id: unknown;
  readonly circle: unknown;
}

function candidatesOf({ candidates }: Record<string, unknown>): Candidate[] {
  if (!Array.isArray(candidates)) return [];
  return candidates.filter((one) => typeof one === "object" && one !== null);
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Runs `work`; Ctrl-C (or SIGTERM) aborts its signal instead of ending us at once. */
export async function interruptible<A>(work: (signal: AbortSignal) => Promise<A>): Promise<A> {
  const interrupt = new AbortController();
  const stop = () => interrupt.abort(new Error("Interrupted"));
  for (const signal of SIGNALS) Deno.addSignalListener(signal, stop);
  try {
    return await work(interrupt.signal);
  } finally {
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, stop);
  }
}
