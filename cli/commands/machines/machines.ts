/** `mesh machines`: the machines of the network, and how to join, serve and leave one. */

import { removeMembership } from "../../../daemon/app/membership/joining.ts";
import { getHealth, restartDaemon } from "../../client/daemon_process.ts";
import { forgetMachine, listMachines } from "protocol/generated/endpoints.ts";
import {
  answerCommand,
  type Args,
  type Command,
  type CommandContext,
} from "../../command/command.ts";
import { styled } from "../../output/terminal.ts";
import { JOIN_COMMAND } from "./join.ts";
import { ALLOW_COMMAND, INVITE_COMMAND, REFUSE_COMMAND } from "./members.ts";
import { withPlainErrors } from "./membership.ts";
import { RENEW_COMMAND } from "./renew.ts";
import { SERVE_COMMAND } from "./serve.ts";
import { runningServer } from "./server_files.ts";
import { showMachines } from "./views.ts";

const list = answerCommand({
  usage: "machines list",
  aliases: ["ls"],
  summary: "List the machines that exchange messages with this one",
  example: "mesh machines list",
  call: ({ call }) => call(listMachines, {}),
  show: (listed, { terminal, clock }) => showMachines(terminal, listed, clock),
});

export const MACHINE_COMMANDS: readonly Command[] = [
  { ...list, usage: "machines", aliases: [], example: "mesh machines" },
  list,
  JOIN_COMMAND,
  answerCommand({
    usage: "machines leave",
    needs: "this machine",
    summary: "Leave the network: remove its settings and secrets from this machine",
    details:
      "The others show this machine as offline within a minute, and what waits for it expires. " +
      "Its own keys stay, so that it can join again as the same machine.",
    flags: {
      "--no-restart": "do not restart the daemon, which stays connected until its end then",
    },
    example: "mesh machines leave",
    call: leave,
    show: ({ written_to, was_joined, server_pid }, { terminal }) => {
      terminal.print(
        was_joined ? styled("green", "Left") : "This machine had not joined",
        `; the settings in ${written_to} are removed`,
      );
      terminal.print("To shut it out as well, on the serving machine: mesh machines refuse NAME");
      if (server_pid !== null) {
        terminal.print("It still serves the bus; stop that with: mesh machines serve --stop");
      }
    },
  }),
  SERVE_COMMAND,
  INVITE_COMMAND,
  ALLOW_COMMAND,
  REFUSE_COMMAND,
  RENEW_COMMAND,
  answerCommand({
    usage: "machines forget <name>",
    needs: "this machine",
    summary: "Forget a machine and its keys: its peers go, what waits for it ends",
    details:
      "For a machine that is gone, or that was set up again with new keys: compare the fingerprint " +
      "that `mesh machines` shows there with the one it announces next.",
    example: "mesh machines forget buildbox",
    call: async ({ call }, args) =>
      await call(forgetMachine, { params: { id: args.text("name") } }),
    show: (_, { terminal }, args) =>
      terminal.print(
        styled("green", "Forgotten"),
        `: ${args.text("name")}. If it is still in the network, it appears again with its keys.`,
      ),
  }),
];

async function leave(context: CommandContext, args: Args) {
  const { env } = context;
  const left = await withPlainErrors(() => removeMembership(env));
  const isRunning = await getHealth(context.daemon) !== undefined;
  if (isRunning && left.was_joined && args.flag("restart")) await restartDaemon(context);
  return { ...left, server_pid: runningServer(env)?.pid ?? null };
}
