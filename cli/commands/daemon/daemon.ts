/** The commands that concern the daemon itself: up, down, status, watch, config, setup, demo. */

import { BACKUP_COMMAND } from "./backup.ts";
import {
  type Args,
  type Command,
  type CommandContext,
  interruptible,
  JSON_FLAG,
} from "../../command/command.ts";
import { EXIT } from "../../client/failures.ts";
import { CONFIG_COMMANDS } from "./config.ts";
import { createDaemonClient } from "../../client/daemon_client.ts";
import { mustGetHealth, startDaemon, stopDaemon } from "../../client/daemon_process.ts";
import { LOGS_COMMAND } from "./logs.ts";
import { print, printError, printFields, printJson, styled } from "../../output/terminal.ts";
import { eventRecord, showEvent, showHealth } from "../../output/views.ts";
import { TOP_COMMAND } from "./top.ts";
import { watchEvents } from "../../client/event_stream.ts";

export const DAEMON_COMMANDS: readonly Command[] = [
  {
    usage: "up",
    summary: "Start the daemon, unless it is up",
    flags: JSON_FLAG,
    example: "mesh up",
    run: up,
  },
  {
    usage: "down",
    summary: "Stop the daemon, and wait until it is gone",
    flags: JSON_FLAG,
    example: "mesh down",
    run: down,
  },
  {
    usage: "status",
    summary: "Say how the daemon is",
    flags: JSON_FLAG,
    example: "mesh status",
    run: status,
  },
  LOGS_COMMAND,
  BACKUP_COMMAND,
  {
    usage: "setup",
    summary: "Connect the coding agents of this machine",
    flags: {
      "--agent <name>": "only this one",
      "--relay <url>": "join this relay: draws a secret there and writes it down",
      "--dry-run": "say what would change, and change nothing",
      "--uninstall": "take everything out again",
      ...JSON_FLAG,
    },
    example: "mesh setup --agent claude-code --dry-run",
    run: async ({ args, env }) => {
      const { runSetup } = await import("../../setup/setup_command.ts");
      return await runSetup(args.slice(1), env);
    },
  },
  {
    usage: "watch",
    summary: "Show events as they happen; Ctrl-C ends it",
    flags: {
      "--since <id>": "begin after this event",
      "--replay <count>": "begin with the last so many",
      ...JSON_FLAG,
    },
    example: "mesh watch --replay 20",
    run: watch,
  },
  TOP_COMMAND,
  {
    usage: "demo",
    summary: "See two agents talk, in a throw-away mesh of their own",
    example: "mesh demo",
    run: async (context) => await (await import("../../demo/demo.ts")).runDemo(context),
  },
  {
    usage: "demo-peer <name>",
    summary: "One of the two agents of the demo",
    example: "mesh demo-peer api",
    hidden: true,
    run: async (context, args) =>
      await (await import("../../demo/peer.ts")).runDemoPeer(context, args.text("name")),
  },
  ...CONFIG_COMMANDS,
];

async function up({ env, terminal, clock }: CommandContext, args: Args): Promise<number> {
  const state = await startDaemon(env, clock, () => createDaemonClient(env, terminal.interactive));
  if (args.flag("json")) {
    printJson(terminal, state);
    return EXIT.done;
  }
  print(terminal, styled("green", state.started ? "Up" : "Up already"), ` at ${state.url}`);
  printFields(terminal, { "process": String(state.pid), "log file": state.log_file });
  return EXIT.done;
}

async function down({ env, terminal, clock, daemon }: CommandContext, args: Args): Promise<number> {
  const stopped = await stopDaemon(env, clock, daemon);
  if (args.flag("json")) printJson(terminal, { stopped: stopped?.pid ?? null });
  else if (stopped) print(terminal, styled("green", "Down"), `: process ${stopped.pid} has ended`);
  else print(terminal, "No daemon is up.");
  return EXIT.done;
}

async function status({ daemon, terminal }: CommandContext, args: Args): Promise<number> {
  const health = await mustGetHealth(daemon);
  if (args.flag("json")) printJson(terminal, health);
  else showHealth(terminal, daemon.url, health);
  return EXIT.done;
}

async function watch({ daemon, clock, terminal }: CommandContext, args: Args): Promise<number> {
  const since = args.number("since"), replay = args.number("replay");
  const query = {
    ...(since !== undefined && { since: String(since) }),
    ...(replay !== undefined && { replay: String(replay) }),
  };
  const onConnectionChange = (change: "lost" | "resumed") =>
    printError(
      terminal,
      styled("yellow", change === "lost" ? "The daemon is away; waiting" : "It is back"),
    );
  await interruptible(async (signal) => {
    for await (const event of watchEvents({ daemon, clock, signal, query, onConnectionChange })) {
      if (args.flag("json")) printJson(terminal, eventRecord(event), 0);
      else showEvent(terminal, event);
    }
  });
  return EXIT.done;
}
