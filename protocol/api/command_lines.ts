/** The route that runs a command line for a process that starts no runtime, as data. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { contract } from "protocol/contract.ts";

/** A command line, and what its command reads of the process that has it. */
export interface CommandLine {
  readonly args: readonly string[];
  /** The variables that commands read. */
  readonly env: Readonly<Record<string, string>>;
  /** The process; it counts where the kernel proves that it sends the request. */
  readonly pid: number;
  /** The numbers of its standard streams that are terminals: input 0, output 1, errors 2. */
  readonly terminals: readonly number[];
  /** The width of its terminal; undefined if its output is none. */
  readonly columns: number | undefined;
}

/** The output of the command, in order, and its exit code. */
export interface CommandOutput {
  readonly exit_code: number;
  readonly parts: readonly { readonly to: 1 | 2; readonly text: string }[];
}

/** The daemon, as the process may use it: a request is sent in the name of the process. */
interface CallingProcess {
  readonly url: string;
  readonly send: (request: Request) => Promise<Response>;
}

/** Runs a command line; undefined if its command must run in a process of its own. */
export type RunCommandLine = (
  line: CommandLine,
  caller: CallingProcess,
) => Promise<CommandOutput | undefined>;

/** `2:17 1:250`: the parts of the body, each for standard output (1) or errors (2), in bytes. */
export const PARTS_HEADER = "x-mesh-parts";
export const EXIT_HEADER = "x-mesh-exit-code";

export const runCommandLine = contract({
  id: "system.command_line",
  method: "POST",
  path: "/command-lines",
  summary: "Run a command line of mesh for the calling process, whose launcher sends it: its " +
    "variables, an empty text and its words, each with a NUL at its end",
  access: "caller",
  tunnel: "never",
  actor: NO_ACTOR,
  returns: z.string(),
  responseType: "text/plain",
  fails: ["bad_json", "body_too_large", "body_too_slow"],
  otherResponses: {
    204: { description: "Nothing was run: the command needs a process of its own" },
  },
});
