/** The commands around the daemon itself: up, down, status, watch, setup, demo and others. */

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
    summary: "Start the daemon, unless it is running",
    flags: JSON_FLAG,
    example: "mesh up",
    run: up,
  },
  {
    usage: "down",
    summary: "Stop the daemon, and wait until it has exited",
    flags: JSON_FLAG,
    example: "mesh down",
    run: down,
  },
  {
    usage: "status",
    summary: "Show the daemon's status",
    flags: JSON_FLAG,
    example: "mesh status",
    run: status,
  },
  LOGS_COMMAND,
  BACKUP_COMMAND,
  {
    usage: "setup",
    summary: "Connect the coding agents on this machine to mesh",
    flags: {
      "--agent <name>": "set up only this agent",
      "--relay <url>": "register with this relay, and save its secret in the configuration",
      "--dry-run": "show what would change, without changing anything",
      "--uninstall": "remove mesh from the agents' configuration",
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
    summary: "Show events as they happen, until Ctrl-C",
    flags: {
      "--since <id>": "start after this event",
      "--replay <count>": "start with this many past events",
      ...JSON_FLAG,
    },
    example: "mesh watch --replay 20",
    run: watch,
  },
  TOP_COMMAND,
  {
    usage: "demo",
    summary: "Watch two demo agents talk, in a temporary mesh",
    example: "mesh demo",
    run: async (context) => await (await import("../../demo/demo.ts")).runDemo(context),
  },
  {
    usage: "demo-peer <name>",
    summary: "Run one of the demo's two agents",
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
  print(
    terminal,
    styled("green", state.started ? "Started" : "Already running"),
    ` at ${state.url}`,
  );
  printFields(terminal, { "process": String(state.pid), "log file": state.log_file });
  return EXIT.done;
}

async function down({ env, terminal, clock, daemon }: CommandContext, args: Args): Promise<number> {
  const stopped = await stopDaemon(env, clock, daemon);
  if (args.flag("json")) printJson(terminal, { stopped: stopped?.pid ?? null });
  else if (stopped) {
    print(terminal, styled("green", "Stopped"), `: process ${stopped.pid} has exited`);
  } else print(terminal, "No daemon is running.");
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
      styled("yellow", change === "lost" ? "Lost the daemon; waiting for it" : "Reconnected"),
    );
  await interruptible(async (signal) => {
    for await (const event of watchEvents({ daemon, clock, signal, query, onConnectionChange })) {
      if (args.flag("json")) printJson(terminal, eventRecord(event), 0);
      else showEvent(terminal, event);
    }
  });
  return EXIT.done;
}
