/** The commands that connect mesh with this machine: setup, update and uninstall. */

import { VERSION } from "kit/core/version.ts";
import { installationOf, meshCommand } from "../../client/program.ts";
import { answerCommand, type Command, JSON_FLAG } from "../../command/command.ts";
import { styled } from "../../output/terminal.ts";
import { commandsFor } from "../../setup/installations.ts";

export const SETUP_COMMANDS: readonly Command[] = [
  {
    usage: "setup [agent]",
    needs: "this machine",
    summary: "Connect the coding agents on this machine to mesh",
    details:
      "Shows one line for each file that it will change, and asks once. Without a terminal " +
      "it asks nothing, and changes only the files of agents and the configuration's token. Each " +
      "file has a backup, and --uninstall takes out what was added.",
    flags: {
      "--agent <name>": "set up only this agent",
      "--all": "set up all supported agents, including those that are not installed yet",
      "-y, --yes": "do not ask",
      "--diff": "show the changed lines of each file",
      "--dry-run": "show what would change, without changing anything",
      "--name <you>": "your name, by which agents may ask you",
      "--service": "start the daemon now and at every login (systemd, launchd)",
      "--relay <url>": "register with this relay, and save its secret in the configuration",
      "--replace": "replace another program's MCP server that is named mesh",
      "--status-line": "let Claude Code's status line report the use of your plan to mesh",
      "--uninstall": "remove mesh from the agents' configuration; with --service, the service",
      ...JSON_FLAG,
    },
    example: "mesh setup --dry-run --diff",
    run: async ({ env }, args) => {
      const { runSetup } = await import("../../setup/setup_command.ts");
      return await runSetup(args, env);
    },
  },
  answerCommand({
    usage: "update",
    needs: "this machine",
    summary: "Show how to get the newest version of mesh",
    example: "mesh update",
    call: () => {
      const installation = installationOf(meshCommand());
      return {
        version: VERSION,
        installation: installation.kind,
        program: installation.program,
        update: commandsFor(installation).update,
      };
    },
    show: ({ version, installation, program, update }, { terminal }) => {
      terminal.printFields({ version, installation, program });
      terminal.print("To update it: ", styled("cyan", update));
      terminal.print("Then: ", styled("cyan", "mesh setup && mesh restart"));
    },
  }),
  {
    usage: "uninstall",
    needs: "this machine",
    summary: "Undo `mesh setup`, remove the service and stop the daemon; keep the state",
    flags: {
      "--purge": "remove the configuration and the state, with all messages, too",
      "-y, --yes": "do not ask; required without a terminal",
      ...JSON_FLAG,
    },
    example: "mesh uninstall",
    run: async (context, args) => {
      const { runUninstall } = await import("../../setup/uninstall_command.ts");
      return await runUninstall(context, args);
    },
  },
];
