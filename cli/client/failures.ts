/** The CLI's exit codes, and the errors of commands that are not refusals of the daemon. */

import { messageOf } from "kit/core/text.ts";
import { fileRefusal } from "kit/host/file_errors.ts";

/** Exit codes (contract 7). Shells use 130 for Ctrl-C. */
export const EXIT = {
  done: 0,
  refused: 1,
  usageError: 2,
  unreachable: 3,
  interrupted: 130,
} as const;

/** The command line is invalid. `hint` says what to type instead. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** The command failed, but the daemon did not refuse it. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/**
 * Runs an operation on files. Errors of the file system become refusals with advice; any other
 * error becomes a `CommandError` that begins with `subject`.
 */
export function onFiles<T>(subject: string, operation: () => T): T {
  try {
    return operation();
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw fileRefusal(error) ?? new CommandError(`${subject}: ${messageOf(error)}`);
  }
}

/** Waits for an operation; undefined if it fails with an expected error. */
export async function unlessRejected<T>(
  isExpected: (error: unknown) => boolean,
  operation: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await operation();
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

/** The person pressed Ctrl-C or Ctrl-D instead of answering a question. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";

  constructor() {
    super("Interrupted");
  }
}
