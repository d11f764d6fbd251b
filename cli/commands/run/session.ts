/** Runs a program outside of tmux: in a new tmux session, which this terminal shows. */

import { join } from "kit/core/path.ts";
import { messageOf } from "kit/core/text.ts";
import * as z from "zod";
import { type Env, readTextOrNothing, removeIfPresent } from "../../../daemon/host/paths.ts";
import { runOnTerminal } from "../../client/editor.ts";
import { meshCommand } from "../../client/program.ts";
import { readClientSettings } from "../../client/settings.ts";
import { asArgument } from "../../../daemon/host/tmux/terminals.ts";
import { CommandError, EXIT } from "../../client/failures.ts";
import type { CommandContext } from "../../command/command.ts";
import { styled } from "../../output/terminal.ts";
import { askTmux, forwardSignals, type PaneProgram, runInPane } from "./pane.ts";
import { makeTemporaryFolder, unlessMissing } from "kit/host/file_errors.ts";

/**
 * Files in the folder that the two processes share. The program's environment is passed in a file,
 * because a tmux server gives its sessions the environment that it was itself started with, and
 * because every user can read the arguments of a process.
 */
const FILES = { program: "program.json", process: "process", end: "end.json" } as const;

const Program = z.object({
  argv: z.array(z.string()).readonly(),
  name: z.string(),
  circle: z.string().optional(),
  cwd: z.string(),
  env: z.record(z.string(), z.string()),
});
/** The environment and the host of the session, without the variables of another tmux. */
type OutsideTmux = Parameters<typeof askTmux>[1];

const End = z.object({ code: z.number(), error: z.string().optional() });

/** Variables that tmux sets in its panes. The program must not inherit those of another pane. */
const TMUX_VARIABLES = ["TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"];

/** Opens the session, and shows it until the program ends or its user detaches from it. */
export async function runInSession(
  { clock, env, terminal }: CommandContext,
  program: PaneProgram,
): Promise<number> {
  const folder = makeTemporaryFolder("mesh-run-");
  const outside = { env: without(env, ["TMUX", "TMUX_PANE"]), clock };
  try {
    const session = await freeSession(program.name, outside);
    const description: z.input<typeof Program> = { ...program, cwd: Deno.cwd(), env: { ...env } };
    writeFile(join(folder, FILES.program), JSON.stringify(description));
    using _ = forwardSignals(["SIGTERM", "SIGUSR1", "SIGUSR2"], (signal) => {
      const pid = Number(readTextOrNothing(join(folder, FILES.process)));
      if (pid > 0) Deno.kill(pid, signal);
    });
    const command = ["new-session", "-s", session, ...meshCommand(), "run-from", folder];
    // Runs until its user detaches or the session ends.
    const argv = ["tmux", ...command.map(asArgument)];
    const { code } = await runOnTerminal(argv, { env: outside.env, clearEnv: true });
    const end = readTextOrNothing(join(folder, FILES.end));
    if (end !== undefined) return resultOf(End.parse(JSON.parse(end)));
    if (!(await sessions(outside)).includes(session)) {
      throw new CommandError(`tmux ended with code ${code}, and the program with it`);
    }
    terminal.print(
      styled("cyan", program.name),
      ` keeps running in the tmux session ${session}. To see it: mesh attach ${program.name}`,
    );
    return EXIT.done;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Runs the program in the pane of that session. */
export async function runFromFolder(context: CommandContext, folder: string): Promise<number> {
  const file = join(folder, FILES.program);
  const { cwd, env, ...program } = Program.parse(JSON.parse(Deno.readTextFileSync(file)));
  removeIfPresent(file);
  writeFile(join(folder, FILES.process), String(Deno.pid));
  Deno.chdir(cwd);
  const ofPane = Object.entries(context.env).filter(([name]) => TMUX_VARIABLES.includes(name));
  const inPane = context.with({
    env: { ...without(env, TMUX_VARIABLES), ...Object.fromEntries(ofPane) },
    readSettings: readClientSettings,
  });
  const end = await endOf(() => runInPane(inPane, { circle: undefined, ...program }));
  // Without the folder, the user has detached, and no process waits for the result.
  unlessMissing(() => writeFile(join(folder, FILES.end), JSON.stringify(end)));
  return end.code;
}

/** The exit code or the error. The outer process prints the error, because this session closes. */
async function endOf(run: () => Promise<number>): Promise<z.output<typeof End>> {
  try {
    return { code: await run() };
  } catch (error) {
    return { code: EXIT.refused, error: messageOf(error) };
  }
}

function resultOf({ code, error }: z.output<typeof End>): number {
  if (error !== undefined) throw new CommandError(error);
  return code;
}

/** A session name that is not in use; a session name has no dots and no colons. */
async function freeSession(name: string, outside: OutsideTmux): Promise<string> {
  const used = await sessions(outside);
  const wanted = name.replaceAll(/[^A-Za-z0-9_-]+/g, "-") || "mesh";
  let session = wanted;
  for (let number = 2; used.includes(session); number++) session = `${wanted}-${number}`;
  return session;
}

/** The names of the server's sessions. */
async function sessions(outside: OutsideTmux): Promise<string[]> {
  const { stdout } = await askTmux(["list-sessions", "-F", "#{session_name}"], outside);
  return stdout.split("\n");
}

function without(env: Env, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}

function writeFile(path: string, text: string): void {
  Deno.writeTextFileSync(path, text, { mode: 0o600 });
}
