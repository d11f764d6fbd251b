/** `mesh run`: runs a program as a peer in the current tmux pane, or in a new tmux session. */

import { basename } from "kit/core/path.ts";
import { nearest } from "kit/core/near_words.ts";
import type { Env } from "../../../daemon/host/paths.ts";
import { isInstalled } from "../../../daemon/host/executables.ts";
import { isShellPrompt } from "../../../daemon/features/agents/shells.ts";
import { kindOf, paneOf } from "../../../daemon/host/terminal_addresses.ts";
import { mustGetHealth } from "../../client/daemon_process.ts";
import { CommandError, UsageError } from "../../client/failures.ts";
import { programsOnPath } from "../../client/program.ts";
import type { Args, Command, CommandContext } from "../../command/command.ts";
import { runAcp } from "./acp.ts";
import { AGENT_FLAGS, AGENT_PROGRAMS, agentOf, runAgents } from "./agents.ts";
import { type PaneProgram, runInPane } from "./pane.ts";
import { runFromFolder, runInSession } from "./session.ts";

/** The exit code of shells for a program that does not exist. */
const NOT_FOUND = 127;

export const RUN_COMMANDS: readonly Command[] = [
  {
    usage: "run <program> [args...]",
    needs: "this machine",
    summary: "Start an agent and all that it needs, or run any program as a peer",
    details:
      `An agent is ${AGENT_PROGRAMS.join(", ")}. The command connects it with mesh if it is not ` +
      "(it shows the files, and asks once), starts the daemon, and starts the agent in a tmux pane " +
      "that this terminal shows. Words after -- go to the agent, also when it is restarted. Only a " +
      "person at a terminal may add them; a script names a --profile that has them. Without tmux, " +
      "one agent runs in this terminal, with --in, --name, --tag and words after --.\n\n" +
      "Any other program reads messages as typed lines. In tmux it runs in the current pane. In a " +
      "kitty that allows remote control on a socket, it runs in the current window. Elsewhere it " +
      "runs in a new tmux session that this terminal shows. Messages are typed while the line at " +
      "its cursor is empty, or ends in a prompt sign such as >. It goes offline when it ends, and " +
      "its exit code is the command's. Ctrl-C reaches it from the terminal; SIGTERM, SIGHUP, " +
      "SIGUSR1 and SIGUSR2 are passed on. A shell is refused, because it would run each message " +
      "as a command.\n\n" +
      "With --acp, each message is a prompt of one session, which the next start of the same " +
      "command in the same folder continues if the agent can. Your inbox gets the agent's " +
      "permission requests.",
    flags: {
      ...AGENT_FLAGS,
      "--acp": "the program is an agent that speaks the Agent Client Protocol; needs no terminal",
      "--name <name>": "the peer's name; by default that of the program",
      "--circle <name>":
        "the circle it joins; by default that of the tmux session; with --acp, default",
    },
    example: "mesh run claude --detach",
    takesProgram: true,
    flagsAfter: AGENT_PROGRAMS,
    run,
  },
  {
    usage: "run-from <folder>",
    needs: "this machine",
    summary: "Run the program that a folder describes, in the tmux session made for it",
    example: "mesh run-from /tmp/mesh-run-1",
    hidden: true,
    run: (context, args) => runFromFolder(context, args.text("folder")),
  },
];

async function run(context: CommandContext, args: Args): Promise<number> {
  const { daemon, env, terminal } = context;
  const program = programOf(args);
  const { argv: [first = ""] } = program;
  const agent = args.flag("acp") ? undefined : agentOf(first);
  if (!agent) refuseAgentFlags(args, first);
  if (isShellPrompt(program.argv)) {
    throw new UsageError(
      `"${first}" is a shell, which would run each message as a command; name another program`,
    );
  }
  if (!await isInstalled({ argv: program.argv, cwd: Deno.cwd() }, [env["PATH"] ?? ""])) {
    const missing = `mesh: "${first}" is not installed, or not on the PATH`;
    terminal.printError(missing + hintFor(args.flag("acp") ? "" : first, env));
    return NOT_FOUND;
  }
  if (!agent && !args.flag("acp") && terminal.device.keys === undefined) {
    throw new CommandError(
      "mesh run needs a terminal, because messages are typed into it. Run it in a terminal. For " +
        "an agent that speaks the Agent Client Protocol, use --acp. Other programs connect to /ws",
    );
  }
  if (agent) return await runAgents(context, agent, args);
  await mustGetHealth(daemon);
  if (args.flag("acp")) return await runAcp(context, program);
  const isInPane = await isTypedInto(context);
  return await (isInPane ? runInPane(context, program) : runInSession(context, program));
}

/** The next step of a person who named an agent that is not there, or misspelled one. */
function hintFor(program: string, env: Env): string {
  const meant = nearest(program, AGENT_PROGRAMS);
  if (meant === undefined) return "";
  if (meant !== program) return `. Did you mean: mesh run ${meant}`;
  const installed = AGENT_PROGRAMS.filter((name) => programsOnPath(name, env).length > 0);
  if (installed.length === 0) return "; install it first";
  return `. On the PATH are: ${installed.join(", ")}`;
}

/** True if messages can be typed into the pane of this environment. */
async function isTypedInto({ env, clock }: CommandContext): Promise<boolean> {
  const pane = paneOf(env);
  if (!pane || kindOf(pane.tmux_socket) === "tmux") return pane !== undefined;
  const { accessTo } = await import("../../../daemon/host/kitty/remote_control.ts");
  return (await accessTo(pane.tmux_socket, clock)).state === "allowed";
}

function refuseAgentFlags(args: Args, program: string): void {
  const given = ["count", "in", "tag", "profile", "detach", "yes"].find((name) =>
    args.flag(name) || args.get(name) !== undefined
  );
  if (given === undefined) return;
  throw new UsageError(
    `--${given} is for agents (${AGENT_PROGRAMS.join(", ")}); leave it out for "${program}"`,
  );
}

function programOf(args: Args): PaneProgram {
  const argv = [args.text("program"), ...args.list("args")];
  return { argv, name: args.get("name") ?? nameOf(argv), circle: args.get("circle") };
}

/** The program's file name, without characters that a name may not contain. */
function nameOf([program = ""]: readonly string[]): string {
  return basename(program).replaceAll(/[^A-Za-z0-9._-]+/g, "-").slice(0, 64);
}
