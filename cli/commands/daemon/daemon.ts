/** The commands that concern the daemon itself: up, down, status, watch, config, setup, demo. */

import { BACKUP_COMMAND } from "./backup.ts";
import {
  type Command,
  interruptible,
  JSON_FLAG,
  type Session,
  type Words,
} from "../../command/command.ts";
import { EXIT } from "../../client/failures.ts";
import { CONFIG_COMMANDS } from "./config.ts";
import { findDaemon } from "../../client/daemon_client.ts";
import { healthOf, startDaemon, stopDaemon } from "../../client/lifecycle.ts";
import { LOGS_COMMAND } from "./logs.ts";
import { complain, ink, print, printFields, printJson } from "../../output/print.ts";
import { eventRecord, showEvent, showHealth } from "../../output/show.ts";
import { TOP_COMMAND } from "./top.ts";
import { watchEvents } from "../../client/event_stream.ts";

export const DAEMON_COMMANDS: readonly Command[] = [
  {
    words: "up",
    summary: "Start the daemon, unless it is up",
    flags: JSON_FLAG,
    example: "mesh up",
    run: up,
  },
  {
    words: "down",
    summary: "Stop the daemon, and wait until it is gone",
    flags: JSON_FLAG,
    example: "mesh down",
    run: down,
  },
  {
    words: "status",
    summary: "Say how the daemon is",
    flags: JSON_FLAG,
    example: "mesh status",
    run: status,
  },
  LOGS_COMMAND,
  BACKUP_COMMAND,
  {
    words: "setup",
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
    words: "watch",
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
    words: "demo",
    summary: "See two agents talk, in a throw-away mesh of their own",
    example: "mesh demo",
    run: async (session) => await (await import("../../demo/demo.ts")).runDemo(session),
  },
  {
    words: "demo-peer <name>",
    summary: "One of the two agents of the demo",
    example: "mesh demo-peer api",
    hidden: true,
    run: async (session, words) =>
      await (await import("../../demo/peer.ts")).runDemoPeer(session, words.text("name")),
  },
  ...CONFIG_COMMANDS,
];

async function up({ env, terminal, clock }: Session, words: Words): Promise<number> {
  const state = await startDaemon(env, clock, () => findDaemon(env, terminal.person));
  if (words.flag("json")) {
    printJson(terminal, state);
    return EXIT.done;
  }
  print(terminal, ink("green", state.started ? "Up" : "Up already"), ` at ${state.url}`);
  printFields(terminal, { "process": String(state.pid), "log file": state.log_file });
  return EXIT.done;
}

async function down({ env, terminal, clock, daemon }: Session, words: Words): Promise<number> {
  const stopped = await stopDaemon(env, clock, daemon);
  if (words.flag("json")) printJson(terminal, { stopped: stopped?.pid ?? null });
  else if (stopped) print(terminal, ink("green", "Down"), `: process ${stopped.pid} has ended`);
  else print(terminal, "No daemon is up.");
  return EXIT.done;
}

async function status({ daemon, terminal }: Session, words: Words): Promise<number> {
  const health = await healthOf(daemon);
  if (words.flag("json")) printJson(terminal, health);
  else showHealth(terminal, daemon.url, health);
  return EXIT.done;
}

async function watch({ daemon, clock, terminal }: Session, words: Words): Promise<number> {
  const since = words.number("since"), replay = words.number("replay");
  const query = {
    ...(since !== undefined && { since: String(since) }),
    ...(replay !== undefined && { replay: String(replay) }),
  };
  const notice = (what: "lost" | "resumed") =>
    complain(
      terminal,
      ink("yellow", what === "lost" ? "The daemon is away; waiting" : "It is back"),
    );
  await interruptible(async (signal) => {
    for await (const event of watchEvents({ daemon, clock, signal, query, notice })) {
      if (words.flag("json")) printJson(terminal, eventRecord(event), 0);
      else showEvent(terminal, event);
    }
  });
  return EXIT.done;
}
