/** The options of every command: `--verbose`, and `--machine` with its variable. */

import type { Env } from "../../daemon/host/paths.ts";
import { UsageError } from "../client/failures.ts";
import type { CommandSpec } from "./command.ts";
import { wordsOf } from "./line.ts";

interface GlobalOptions {
  /** The line without these options. */
  readonly args: readonly string[];
  readonly verbose: boolean;
  /** The machine to talk to; undefined for this one, and empty if its name is missing. */
  readonly machine: string | undefined;
}

/**
 * Reads the options wherever they stand before `--`. Behind the name of a command that takes
 * another program, `--machine` is an option of that program.
 */
export function readGlobalOptions(
  table: readonly CommandSpec[],
  given: readonly string[],
  env: Env,
): GlobalOptions {
  const programs = new Set(
    table.filter(({ takesProgram }) => takesProgram).map(({ usage }) => wordsOf(usage)[0]),
  );
  const args: string[] = [];
  let [verbose, machine] = [false, env["MESH_MACHINE"] || undefined];
  for (let at = 0; at < given.length; at++) {
    const word = given[at] ?? "";
    if (word === "--") return { args: [...args, ...given.slice(at)], verbose, machine };
    const isOurs = !programs.has(args[0]);
    if (word === "--verbose") verbose = true;
    else if (isOurs && word === "--machine") machine = given[++at] ?? "";
    else if (isOurs && word.startsWith("--machine=")) machine = word.slice("--machine=".length);
    else args.push(word);
  }
  return { args, verbose, machine };
}

/** Refuses a command that works with this machine only, or with a stream of events. */
export function mustWorkElsewhere({ usage, needs }: CommandSpec, machine: string): void {
  if (needs === undefined) return;
  const name = `mesh ${wordsOf(usage).join(" ")}`;
  const what = needs === "stream"
    ? `${name} shows events as they come, which another machine cannot send`
    : `${name} works on this machine only`;
  const hint = `Run it on ${machine} itself, or without --machine and MESH_MACHINE`;
  throw new UsageError(what, hint);
}
