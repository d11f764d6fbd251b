/** How a command fails: its exit code, and the errors that are not refusals of the daemon. */

/** Exit codes (contract 7). 130 is the shells' own word for Ctrl-C. */
export const EXIT = {
  done: 0,
  refused: 1,
  usageError: 2,
  unreachable: 3,
  interrupted: 130,
} as const;

/** The command line is wrong in a way that only we can see. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** It could not be done, and it is no refusal of the daemon's. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}
