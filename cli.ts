/** The function that runs one command line of `mesh`. */

import { type Clock, systemClock } from "kit/core/clock.ts";
import { VERSION } from "kit/core/version.ts";
import type { Env } from "./daemon/host/paths.ts";
import type { DaemonClient } from "./cli/client/daemon_client.ts";
import { readPlainSettings } from "./cli/client/plain_settings.ts";
import { EXIT, UsageError } from "./cli/client/failures.ts";
import { CommandContext } from "./cli/command/command.ts";
import { COMMANDS } from "./cli/commands/generated/table.ts";
import { loadCommand, type TableEntry } from "./cli/commands/modules.ts";
import {
  mustWorkElsewhere,
  type ParsedLine,
  parseLine,
  readGlobalOptions,
} from "./cli/command/line.ts";
import { completeIds } from "./cli/command/short_ids.ts";
import { processTerminal } from "./cli/output/process_terminal.ts";
import type { Terminal } from "./cli/output/terminal.ts";

const VERSION_WORDS: readonly string[] = ["--version", "-V", "version"];

const MISSING_COMMAND = "--machine needs a command";

/** Runs one command line and returns its exit code. Without `daemon`, the environment names it. */
export async function runCli(
  given: readonly string[],
  env: Env,
  terminal: Terminal = processTerminal(env),
  clock: Clock = systemClock,
  daemon?: DaemonClient,
): Promise<number> {
  const { args, verbose, machine } = readGlobalOptions(COMMANDS, given, env);
  let context: CommandContext | undefined;
  let running: TableEntry | undefined;
  const createContext = async () => {
    const readSettings = daemon
      ? () => ({ url: daemon.url, token: undefined })
      : await settingsReader(env);
    return context = new CommandContext({
      args,
      env,
      terminal,
      clock,
      verbose,
      machine,
      readSettings,
      ...(daemon && { daemon }),
      showInbox: async (...shown) => await (await import("./cli/live/live.ts")).runInbox(...shown),
    });
  };
  try {
    if (machine === "") throw new UsageError("--machine needs the name of a machine");
    if (args.length === 0 && machine !== undefined) throw new UsageError(MISSING_COMMAND);
    if (args.length === 0) return await runWithoutCommand(await createContext());
    const line = await parse(args, terminal);
    if (!line) return EXIT.done;
    running = line.command;
    if (machine !== undefined) mustWorkElsewhere(line.command, machine);
    const run = await createContext();
    const [command, completed] = await Promise.all([
      loadCommand(line.command),
      completeIds(() => run.call, line.command, line.args),
    ]);
    return await command.run(run, completed);
  } catch (error) {
    return await report(error, context, { terminal, args, command: running });
  }
}

/** Undefined if the line asked for the help or the version, which is then printed. */
async function parse(
  args: readonly string[],
  { device }: Terminal,
): Promise<ParsedLine<TableEntry> | undefined> {
  if (VERSION_WORDS.includes(args[0] ?? "")) return void device.out(`${VERSION}\n`);
  const line = parseLine(COMMANDS, args);
  if (!("help" in line)) return line;
  const { HELP } = await import("./cli/commands/generated/help.ts");
  return void device.out(HELP[line.help.join(" ")] ?? "");
}

/** Reads the configuration only if a client of the running daemon needs it. */
async function settingsReader(env: Env) {
  const plain = readPlainSettings(env);
  if (plain) return () => plain;
  return (await import("./cli/client/settings.ts")).readClientSettings;
}

async function report(
  error: unknown,
  context: CommandContext | undefined,
  { terminal, args, command }: {
    readonly terminal: Terminal;
    readonly args: readonly string[];
    readonly command: TableEntry | undefined;
  },
): Promise<number> {
  const { reportError, withNearMisses } = await import("./cli/command/errors.ts");
  const near = context ? await withNearMisses(error, context) : error;
  return reportError(near, terminal, { json: args.includes("--json"), command });
}

/** `mesh` alone: a live view on a terminal while the daemon runs, else its status and next steps. */
async function runWithoutCommand(context: CommandContext): Promise<number> {
  const { screen, keys } = context.terminal.device;
  const { getHealth } = await import("./cli/client/daemon_process.ts");
  const isLive = screen && keys && !context.verbose && await getHealth(context.daemon);
  if (!isLive) return await (await import("./cli/commands/welcome.ts")).showWelcome(context);
  const { runLive } = await import("./cli/live/live.ts");
  return await runLive(context, { screen, keys });
}
