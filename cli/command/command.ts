/** The type of a CLI command, its arguments, and what it runs with. */

import type { Clock } from "kit/core/clock.ts";
import { parseDuration } from "kit/core/duration.ts";
import { nearest } from "kit/core/near_words.ts";
import type { Call } from "kit/http/client.ts";
import type { Env } from "../../daemon/host/paths.ts";
import {
  type ClientSettings,
  createDaemonClient,
  type DaemonClient,
  resolveSender,
  type Sender,
} from "../client/daemon_client.ts";
import { type Device, type ScreenDevice, styled, type Terminal } from "../output/terminal.ts";
import { EXIT, UsageError } from "../client/failures.ts";

/** One entry of the command table, as help and completions show it. */
export interface CommandSpec {
  /** The command as it is typed, with its arguments: `ack <id> [text]`. */
  readonly usage: string;
  /** Other names of the command's last word. */
  readonly aliases?: readonly string[];
  readonly summary: string;
  /** More text for the command's own help. */
  readonly details?: string;
  /** Flags and their help, such as `--timeout <seconds>`; `--attach <file> ...` is repeatable. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly example: string;
  readonly hidden?: true;
  /** True if all words after the first argument are the command line of a program. */
  readonly takesProgram?: true;
  /** First arguments after which the command's own flags may follow, up to `--`. */
  readonly flagsAfter?: readonly string[];
  /**
   * Set to refuse `--machine`: the command needs this machine, or a stream that no call carries.
   */
  readonly needs?: "this machine" | "stream";
  /**
   * True if the daemon may run it for a process of this machine: it is brief, reads no file, and
   * prints no time of day.
   */
  readonly runsInDaemon?: true;
}

export interface Command extends CommandSpec {
  /** Runs the command and returns its exit code. */
  run(context: CommandContext, args: Args): Promise<number>;
}

interface AnswerCommand<A> extends Omit<Command, "run"> {
  /** Adds the flag `--from`, for commands that send something. */
  readonly hasSender?: true;
  readonly call: (context: CommandContext, args: Args) => A | Promise<A>;
  readonly show: (answer: A, context: CommandContext, args: Args) => void | Promise<void>;
  /** The exit code after this answer; 0 by default. */
  readonly exitCode?: (answer: A, args: Args) => number;
}

/** A command with one answer: `--json` prints it unchanged, otherwise `show` prints it. */
export function answerCommand<A>(spec: AnswerCommand<A>): Command {
  const { hasSender, call, show, exitCode = () => EXIT.done, flags, ...rest } = spec;
  return {
    ...rest,
    flags: { ...flags, ...(hasSender && FROM_FLAG), ...JSON_FLAG },
    async run(context, args) {
      const answer = await call(context, args);
      if (args.flag("json")) context.terminal.printJson(answer);
      else await show(answer, context, args);
      return exitCode(answer, args);
    },
  };
}

export const JSON_FLAG = { "--json": "print the answer as JSON" } as const;
export const FROM_FLAG = { "--from <peer>": "send as this peer" } as const;
export const WAIT_FLAGS = {
  "--wait": "wait for the answer and print it",
  "--timeout <duration>": "stop waiting after this time, such as 90 (s) or 2m; the ask stays open",
} as const;
export const BUDGET_FLAG = {
  "--budget <amount>": "what it may use with all that it causes: 50k-tokens, 20-turns, 30m, 2usd",
} as const;
export const PROVE_FLAG = {
  "--prove <check> ...": "hold the answer until this check of jobs.checks has run; repeatable",
} as const;
/** The names of the checks; several are separated by commas or given one by one. */
export function readProve(args: Args): string[] | undefined {
  const names = args.list("prove").flatMap((list) => list.split(",")).map((name) => name.trim());
  return names.length > 0 ? names : undefined;
}
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

  /** The words of an argument: several, one, or none. */
  words(name: string): string[] {
    const value = this.#values.get(name);
    return typeof value === "string" ? [value] : this.list(name);
  }

  /** The same arguments, with the words of one of them replaced. */
  with(name: string, words: readonly string[]): Args {
    const isList = Array.isArray(this.#values.get(name));
    return new Args(new Map([...this.#values, [name, isList ? words : words[0]]]));
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
    const meant = nearest(value, options);
    const question = meant === undefined ? "" : `. Did you mean "${meant}"?`;
    throw new UsageError(
      `${flagOf(name)}: "${value}" is not one of ${options.join(", ")}${question}`,
    );
  }

  /** A required flag whose value must be one of `options`. */
  requiredChoice<T extends string>(name: string, options: readonly T[]): T {
    const chosen = this.choice(name, options);
    if (chosen !== undefined) return chosen;
    throw new UsageError(`${flagOf(name)} is required: one of ${options.join(", ")}`);
  }

  number(name: string): number | undefined {
    const text = this.get(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
    throw new UsageError(`${flagOf(name)}: "${text}" is not a number of 0 or more`);
  }

  /** A duration in seconds: a bare number, or `90s`, `2m`, `1h30m`. */
  seconds(name: string): number | undefined {
    const text = this.get(name)?.trim();
    if (text === undefined) return undefined;
    if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
    const ms = parseDuration(text);
    if (ms !== undefined) return ms / 1000;
    throw new UsageError(
      `${flagOf(name)}: "${text}" is not a duration of 0 or more; use 90, 90s, 2m or 1h30m`,
    );
  }

  /** A number for a query string. */
  numberText(name: string): string | undefined {
    return this.number(name)?.toString();
  }
}

/** The flag of an argument, such as `--per-minute` of `perMinute`. */
function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The text of a message, which the daemon refuses if it is empty. */
export function mustHaveText(text: string): string {
  if (text.trim() !== "") return text;
  throw new UsageError("<text> is empty; give the text of the message, or `-` to read it");
}

export function localTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Reads the settings for a client; throws `ConfigError`. */
type ReadSettings = (env: Env) => ClientSettings;

type CommandContextOptions =
  & Pick<CommandContext, "args" | "env" | "terminal" | "clock">
  & { readonly readSettings: ReadSettings }
  & Partial<Pick<CommandContext, "verbose" | "machine" | "showInbox" | "daemon">>;

/** A terminal that shows a view of the whole screen. */
export interface LiveTerminal {
  readonly screen: ScreenDevice;
  readonly keys: NonNullable<Device["keys"]>;
}

/** The context of a command: its environment, terminal, clock and daemon client. */
export class CommandContext {
  /** The whole command line, which for `mesh when` has another command in it. */
  readonly args: readonly string[];
  readonly env: Env;
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Prints the actions of the command, such as its requests, to standard error. */
  readonly verbose: boolean;
  /** The machine that the command is for; undefined for this one. */
  readonly machine: string | undefined;
  /** Shows what waits for the human, until the user quits or nothing waits. */
  readonly showInbox: ((context: CommandContext, at: LiveTerminal) => Promise<unknown>) | undefined;
  readonly #readSettings: ReadSettings;
  #daemon: DaemonClient | undefined;

  constructor(
    { args, env, terminal, clock, readSettings, machine, verbose = false, showInbox, daemon }:
      CommandContextOptions,
  ) {
    this.#daemon = daemon;
    this.args = args;
    this.verbose = verbose;
    this.machine = machine;
    this.showInbox = showInbox;
    this.env = env;
    this.terminal = terminal;
    this.clock = clock;
    this.#readSettings = readSettings;
  }

  /** The same context with other parts. */
  with(parts: Partial<CommandContextOptions>): CommandContext {
    return new CommandContext({ ...this, readSettings: this.#readSettings, ...parts });
  }

  get daemon(): DaemonClient {
    return this.#daemon ??= this.connect();
  }

  /** A new client; with `readSettings`, one that has read the configuration again. */
  connect(readSettings = this.#readSettings): DaemonClient {
    const { clock, machine, terminal } = this;
    const onRequest = (line: string) => terminal.printError(styled("dim", line));
    return createDaemonClient(this.env, terminal.device.interactive, readSettings(this.env), {
      clock,
      machine,
      ...(this.verbose && { onRequest }),
    });
  }

  get call(): Call {
    return this.daemon.call;
  }

  sender(args: Args): Promise<Sender> {
    const { interactive } = this.terminal.device;
    const { env, machine } = this;
    return resolveSender(this.daemon, env, { from: args.get("from"), interactive, machine });
  }

  /**
   * Makes a relative path absolute, because the daemon has another working directory. Keeps `~`.
   * Another machine does not have the folder of this process.
   */
  absolutePath(path: string): string {
    if (/^[/~]/.test(path)) return path;
    if (this.machine === undefined) return `${Deno.cwd()}/${path}`;
    throw new UsageError(`"${path}" is relative; give an absolute path on ${this.machine}`);
  }

  /** Returns the scope in which a peer's name is looked up: `--circle`, or the caller's circle. */
  async lookup(args: Args): Promise<Record<"circle" | "from_peer", string | undefined>> {
    const { peer, identifiedBy } = await this.sender(args);
    const from_peer = identifiedBy === "anonymous" ? undefined : peer;
    return { circle: args.get("circle"), from_peer };
  }

  /** The request for the peer of the argument `peer`: its name or id, and where to look it up. */
  async peerRequest(args: Args) {
    return { params: { id: args.text("peer") }, query: await this.lookup(args) };
  }

  /** The sender and the argument `text` of a command that sends a message. */
  async message(args: Args): Promise<{ from_peer: string; text: string }> {
    const text = mustHaveText(await this.readText(args.text("text")));
    return { from_peer: (await this.sender(args)).peer, text };
  }

  /** Returns the text, or standard input when the text is `-`. */
  async readText<T extends string | undefined>(text: T): Promise<T | string> {
    return text === "-" ? (await this.terminal.device.read()).replace(/\r?\n$/, "") : text;
  }
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
