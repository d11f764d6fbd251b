/** The commands around the daemon itself: up, down, status, watch, setup, demo and others. */

import { BACKUP_COMMAND } from "./backup.ts";
import {
  answerCommand,
  type Args,
  type Command,
  type CommandContext,
  JSON_FLAG,
} from "../../command/command.ts";
import { quitHint, untilQuit } from "../../command/quit_key.ts";
import { EXIT } from "../../client/failures.ts";
import {
  mustGetHealth,
  restartDaemon,
  startDaemon,
  type StartResult,
  stopDaemon,
} from "../../client/daemon_process.ts";
import { LOGS_COMMAND } from "./logs.ts";
import { RESTORE_COMMAND } from "./restore.ts";
import { SETUP_COMMANDS } from "./setup.ts";
import { styled } from "../../output/terminal.ts";
import { eventRecord, showEvent, showHealth } from "../../output/views.ts";
import { TOP_COMMAND } from "./top.ts";
import { watchEvents } from "../../client/event_stream.ts";

export const DAEMON_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "up",
    needs: "this machine",
    aliases: ["start"],
    summary: "Start the daemon, unless it is running",
    example: "mesh up",
    call: startDaemon,
    show: (result, { terminal }) => {
      const { started, url, pid, log_file } = result;
      terminal.print(styled("green", started ? "Started" : "Already running"), ` at ${url}`);
      terminal.printFields({
        "process": String(pid),
        "log file": log_file,
        service: serviceText(result),
      });
    },
  }),
  answerCommand({
    usage: "down",
    needs: "this machine",
    aliases: ["stop"],
    summary: "Stop the daemon, and wait until it has exited",
    example: "mesh down",
    call: async (context) => {
      const stopped = await stopDaemon(context);
      return { stopped: stopped?.pid ?? null, service: stopped?.service ?? null };
    },
    show: ({ stopped, service }, { terminal }) => {
      if (stopped === null) return terminal.print("No daemon is running.");
      terminal.print(styled("green", "Stopped"), `: process ${stopped} has exited`);
      if (service !== null) {
        terminal.print(`Its service starts it again at the next login: ${service}`);
      }
    },
  }),
  answerCommand({
    usage: "restart",
    needs: "this machine",
    summary: "Stop the daemon and start it again, so that it reads its configuration",
    details: "To restart an agent in its pane: mesh peer restart PEER.",
    example: "mesh restart",
    call: restartDaemon,
    show: (result, { terminal }) => {
      const { stopped, url, pid } = result;
      terminal.print(styled("green", stopped === null ? "Started" : "Restarted"), ` at ${url}`);
      terminal.printFields({ "process": String(pid), service: serviceText(result) });
    },
  }),
  answerCommand({
    usage: "status",
    summary: "Show the daemon's status",
    example: "mesh status",
    call: ({ daemon }) => mustGetHealth(daemon),
    show: (health, { clock, daemon, machine, terminal }) =>
      showHealth(terminal, machine ?? daemon.url, health, clock),
  }),
  LOGS_COMMAND,
  BACKUP_COMMAND,
  RESTORE_COMMAND,
  ...SETUP_COMMANDS,
  {
    usage: "watch",
    needs: "stream",
    summary: "Show events as they happen, until you press q or Ctrl-C",
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
    needs: "this machine",
    summary: "Watch two demo agents talk, in a temporary mesh",
    example: "mesh demo",
    run: async (context) => await (await import("../../../tools/demo/demo.ts")).runDemo(context),
  },
  {
    usage: "demo-peer <name>",
    needs: "this machine",
    summary: "Run one of the demo's two agents",
    example: "mesh demo-peer api",
    hidden: true,
    run: async (context, args) =>
      await (await import("../../../tools/demo/peer.ts")).runDemoPeer(context, args.text("name")),
  },
];

/** The service that runs the daemon, or why an installed one does not; undefined without one. */
function serviceText({ service, service_unused }: StartResult): string | undefined {
  if (service_unused === null) return service ?? undefined;
  return `not used, so a crash ends the daemon: ${service_unused}`;
}

async function watch(context: CommandContext, args: Args): Promise<number> {
  const { daemon, clock, terminal } = context;
  const since = args.numberText("since"), replay = args.numberText("replay");
  const query = { ...(since && { since }), ...(replay && { replay }) };
  const onConnectionChange = (change: "lost" | "resumed") =>
    terminal.printError(
      styled("yellow", change === "lost" ? "Lost the daemon; waiting for it" : "Reconnected"),
    );
  if (terminal.device.keys && !args.flag("json")) {
    terminal.printError(styled("dim", `Waiting for events; ${quitHint(terminal)}.`));
  }
  await untilQuit(context, async (signal) => {
    for await (const event of watchEvents({ daemon, clock, signal, query, onConnectionChange })) {
      if (args.flag("json")) terminal.printJson(eventRecord(event), 0);
      else showEvent(terminal, event);
    }
  });
  return EXIT.done;
}
