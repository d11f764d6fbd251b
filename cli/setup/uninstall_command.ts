/** `mesh uninstall`: undoes setup, and removes the state only with `--purge`. */

import { basename } from "kit/core/path.ts";
import { configPath, type Env, removeIfPresent, statePath } from "../../daemon/host/paths.ts";
import { runningDaemon } from "../../daemon/host/runtime_file.ts";
import { exists } from "../../daemon/features/agents/install.ts";
import type { Args, CommandContext } from "../command/command.ts";
import { stopDaemon } from "../client/daemon_process.ts";
import { THIS_HOST } from "../client/service_manager.ts";
import { CommandError, EXIT, UsageError } from "../client/failures.ts";
import { installationOf, meshCommand } from "../client/program.ts";
import { commandsFor } from "./installations.ts";
import { fileLines, nextSteps, TERMINAL } from "./setup_output.ts";
import { reportErrors, undoSetup } from "./setup_command.ts";

/** The removed files, and the tasks that are left to the user. */
interface UninstallResult {
  readonly agents: readonly string[];
  readonly service: string | null;
  readonly daemon_stopped: number | null;
  /** The files and folders that were removed; empty without `--purge`. */
  readonly purged: readonly string[];
  /** The state and the configuration that are still there. */
  readonly kept: readonly string[];
  /** The command that removes the program itself. */
  readonly then: string;
}

/** Runs the command; returns the exit code. */
export async function runUninstall(context: CommandContext, args: Args): Promise<number> {
  const { env, terminal } = context;
  if (!args.flag("yes") && !confirm(args)) return EXIT.refused;
  if (args.flag("purge")) mustBeState(env);
  const running = runningDaemon(env);
  const undone = await undoSetup(env, THIS_HOST); // Ends a daemon that the service runs.
  await stopDaemon(context);
  const purged = args.flag("purge") ? purge(env) : [];
  const paths = [statePath(env), configPath(env)];
  const answer: UninstallResult = {
    agents: undone.agents.filter(({ differences }) => differences.length > 0)
      .map(({ agent }) => agent),
    service: undone.service ?? null,
    daemon_stopped: running?.pid ?? null,
    purged,
    kept: paths.filter(exists),
    then: commandsFor(installationOf(meshCommand())).remove,
  };
  if (args.flag("json")) {
    terminal.printJson(answer);
    return reportErrors(undone, TERMINAL);
  }
  for (const line of fileLines(undone, { tense: "changed", diff: false }, env)) {
    terminal.print(line);
  }
  showResult(answer, context);
  nextSteps(undone, false).forEach((line) => terminal.print(line));
  return reportErrors(undone, TERMINAL);
}

function showResult(answer: UninstallResult, { terminal }: CommandContext): void {
  const { service, daemon_stopped, purged, kept, then } = answer;
  if (service !== null) terminal.print(`Removed the service ${service}`);
  if (daemon_stopped !== null) terminal.print(`Stopped the daemon, process ${daemon_stopped}`);
  for (const path of purged) terminal.print(`Removed ${path}`);
  for (const path of kept) terminal.print(`Kept ${path}`);
  terminal.print("To remove the program: ", { text: then, style: "cyan" });
}

function confirm(args: Args): boolean {
  if (TERMINAL.ask === undefined || args.flag("json")) {
    throw new UsageError("Without a terminal, `mesh uninstall` needs --yes");
  }
  const what = args.flag("purge") ? "and remove all messages and settings" : "and keep its state";
  return /^y(es)?$/i.test(TERMINAL.ask(`Remove mesh from this machine, ${what}? [y/N]`) ?? "");
}

/** A wrong MESH_STATE may name any folder of the user. */
function mustBeState(env: Env): void {
  const state = statePath(env);
  const isState = exists(`${state}/mesh.db`) || basename(state) === "mesh";
  if (exists(state) && !isState) {
    throw new CommandError(`"${state}" is no state directory of mesh; nothing was removed`);
  }
}

/** Removes the configuration and the state; returns the paths that were removed. */
function purge(env: Env): string[] {
  const config = configPath(env), state = statePath(env);
  const present = [config, `${config}.mesh-backup`].filter(exists);
  present.forEach(removeIfPresent);
  if (!exists(state)) return present;
  Deno.removeSync(state, { recursive: true });
  return [...present, state];
}
