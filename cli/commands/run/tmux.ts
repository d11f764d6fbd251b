/** Runs commands of a tmux server for `mesh run`. A stopped server answers none of them. */

import { ANSWER_MS_MAX } from "../../../daemon/host/tmux/connection.ts";
import { runProgram, type RunResult } from "../../../daemon/host/program_group.ts";
import { CommandError } from "../../client/failures.ts";
import type { CommandContext } from "../../command/command.ts";

/** Runs a tmux command that answers at once. */
export async function askTmux(
  args: readonly string[],
  { env, clock }: Pick<CommandContext, "env" | "clock">,
): Promise<RunResult> {
  try {
    const result = await runProgram(["tmux", ...args], { env, clock, timeout_ms: ANSWER_MS_MAX });
    if (!result.timed_out) return result;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new CommandError("tmux is not installed; mesh run needs it");
  }
  throw new CommandError(`tmux did not answer within ${ANSWER_MS_MAX / 1000} s`);
}
