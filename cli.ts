/** The command table of `mesh`, and the function that runs one command line. */

import { type Clock, systemClock } from "kit/core/clock.ts";
import { VERSION } from "kit/http/contract.ts";
import type { Env } from "./daemon/host/paths.ts";
import { ASK_COMMANDS } from "./cli/commands/asks/asks.ts";
import { UPLOAD_COMMAND } from "./cli/commands/upload.ts";
import { ATTACH_COMMAND } from "./cli/commands/attach.ts";
import { type Command, CommandContext } from "./cli/command/command.ts";
import { reportError } from "./cli/command/errors.ts";
import { withNearMisses } from "./cli/command/near_misses.ts";
import { buildParser, printHelpOf } from "./cli/command/parser.ts";
import { completeIds } from "./cli/command/short_ids.ts";
import { getHealth } from "./cli/client/daemon_process.ts";
import { EXIT } from "./cli/client/failures.ts";
import { DAEMON_COMMANDS } from "./cli/commands/daemon/daemon.ts";
import { DOCTOR } from "./cli/doctor/doctor_command.ts";
import { INBOX_COMMANDS } from "./cli/commands/inbox/inbox.ts";
import { JOB_COMMANDS } from "./cli/commands/jobs.ts";
import { SPAWN_COMMANDS } from "./cli/commands/spawn.ts";
import { processTerminal } from "./cli/output/process_terminal.ts";
import type { Terminal } from "./cli/output/terminal.ts";
import { OPEN_COMMANDS } from "./cli/commands/daemon/open.ts";
import { PEERS } from "./cli/commands/peer_list.ts";
import { PEER_COMMANDS } from "./cli/commands/peers.ts";
import { RUN_COMMANDS } from "./cli/commands/run/run.ts";
import { QUESTION_COMMANDS } from "./cli/commands/questions.ts";
import { ROLES } from "./cli/commands/roles.ts";
import { SCHEDULE_COMMANDS } from "./cli/commands/schedules.ts";
import { SEARCH_COMMANDS } from "./cli/commands/search.ts";
import { SELFTEST } from "./cli/selftest/selftest_command.ts";
import { SHARE_COMMANDS } from "./cli/commands/shares.ts";
import { showWelcome } from "./cli/commands/welcome.ts";

/** `main.ts` starts the roles itself, so these entries exist only for `--help` and completions. */
const ROLE_COMMANDS: readonly Command[] = [
  {
    usage: "daemon",
    summary: "Run the daemon in the foreground",
    example: "mesh daemon",
    run: async ({ env }) => await ROLES.daemon(env),
  },
  {
    usage: "relay",
    summary: "Run the relay, which gives remote clients access to daemons",
    example: "RELAY_PORT=8378 mesh relay",
    run: async ({ env }) => await ROLES.relay(env),
  },
  {
    usage: "mcp",
    summary: "Run an MCP server over stdio, for agents that cannot use the daemon's /mcp",
    example: "mesh mcp",
    run: async ({ env }) => (await ROLES.mcp(env), EXIT.done),
  },
  {
    usage: "hook [args...]",
    summary: "Handle an agent's hook event; `mesh setup` installs the hooks",
    example: "mesh hook claude-code UserPromptSubmit",
    run: async ({ env }) => await ROLES.hook(env, []),
  },
];

const SURFACE_COMMAND: Command = {
  usage: "surface telegram",
  summary: "Show your inbox in a Telegram chat and forward your replies, until Ctrl-C",
  example: "mesh surface telegram",
  run: async (context) => {
    const { runTelegram } = await import("./cli/surfaces/telegram/telegram_command.ts");
    return await runTelegram(context);
  },
};

const COMPLETIONS: readonly Command[] = [
  {
    usage: "completions <shell>",
    summary: "Print completions for bash, zsh or fish",
    details:
      "bash: source <(mesh completions bash) in ~/.bashrc. zsh: the same with zsh, in ~/.zshrc. " +
      "fish: mesh completions fish > ~/.config/fish/completions/mesh.fish",
    example: "source <(mesh completions bash)",
    run: async ({ terminal }, args) => {
      const { completionsFor } = await import("./cli/commands/completions/completions.ts");
      terminal.device.out(completionsFor(args.text("shell"), COMMANDS));
      return EXIT.done;
    },
  },
  {
    usage: "complete <kind>",
    summary: "Print the values of a kind, for the completion scripts",
    example: "mesh complete peers",
    hidden: true,
    run: async (context, args) => {
      const { valuesNow } = await import("./cli/commands/completions/values.ts");
      const values = await valuesNow(args.text("kind"), () => context.call);
      for (const value of values) context.terminal.print(value);
      return EXIT.done;
    },
  },
];

export const COMMANDS: readonly Command[] = [
  ...DAEMON_COMMANDS,
  ...OPEN_COMMANDS,
  DOCTOR,
  SELFTEST,
  PEERS,
  ...ASK_COMMANDS,
  ...PEER_COMMANDS,
  ...QUESTION_COMMANDS,
  ...SEARCH_COMMANDS,
  ...INBOX_COMMANDS,
  ...JOB_COMMANDS,
  ...SCHEDULE_COMMANDS,
  ...SPAWN_COMMANDS,
  ...SHARE_COMMANDS,
  UPLOAD_COMMAND,
  ATTACH_COMMAND,
  ...RUN_COMMANDS,
  SURFACE_COMMAND,
  ...ROLE_COMMANDS,
  ...COMPLETIONS,
];

/** The description and version that `mesh --help` and `mesh --version` print. */
export const PROGRAM = {
  summary: "Agent Mesh lets coding agents, and you, ask each other questions.",
  version: VERSION,
};

/** Runs one command line and returns its exit code. */
export async function runCli(
  given: readonly string[],
  env: Env,
  terminal: Terminal = processTerminal(env),
  clock: Clock = systemClock,
): Promise<number> {
  const { args, verbose } = withoutVerbose(given);
  const context = new CommandContext({ args, env, terminal, clock, verbose });
  let code: number = EXIT.done;
  let running: Command | undefined;
  try {
    if (args.length === 0) return await runWithoutCommand(context);
    const parser = buildParser(
      COMMANDS,
      { ...PROGRAM, device: terminal.device },
      async (command, args) => {
        running = command;
        code = await command.run(context, await completeIds(() => context.call, command, args));
      },
    );
    if (args[0] === "help") printHelpOf(parser, args.slice(1));
    else await parser.parseAsync(args[0] === "version" ? ["--version"] : args, { from: "user" });
    return code;
  } catch (error) {
    const near = await withNearMisses(error, context);
    return reportError(near, terminal, { json: args.includes("--json"), command: running });
  }
}

/** `mesh` alone: a live view on a terminal while the daemon runs, else its status and next steps. */
async function runWithoutCommand(context: CommandContext): Promise<number> {
  const { screen, keys } = context.terminal.device;
  const isLive = screen && keys && !context.verbose && await getHealth(context.daemon);
  if (!isLive) return await showWelcome(context);
  const { runLive } = await import("./cli/live/live.ts");
  return await runLive(context, { screen, keys });
}

/** `--verbose` may stand anywhere before `--`. */
function withoutVerbose(given: readonly string[]): { args: readonly string[]; verbose: boolean } {
  const end = given.indexOf("--");
  const isFlag = (arg: string, at: number) => arg === "--verbose" && (end < 0 || at < end);
  return { args: given.filter((arg, at) => !isFlag(arg, at)), verbose: given.some(isFlag) };
}
