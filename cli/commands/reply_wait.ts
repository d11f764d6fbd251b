/**
 * Waits for the reply to an ask (`--wait`). The daemon limits the length of one call, so a long
 * wait makes several calls.
 */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { pause } from "kit/core/timeout.ts";
import {
  type getAsk,
  PENDING,
  WAIT_SECONDS,
  waitAsk,
} from "../../daemon/features/asks/contract.ts";
import { type Args, type CommandContext, interruptible } from "../command/command.ts";
import { EXIT } from "../client/failures.ts";
import { DaemonUnreachable } from "../client/daemon_client.ts";
import { printError, printJson, styled } from "../output/terminal.ts";
import { showResolution } from "../output/views.ts";

/** How long a wait continues while the daemon is unreachable, such as during a restart. */
const UNAVAILABLE_MS_MAX = 30_000;
const RETRY_INTERVAL_MS = 500;

/** An ask and its sender, because only the sender may wait for the reply. */
interface AskHandle {
  readonly correlation_id: string;
  readonly peer_id: string;
}

export function toAskHandle(ask: WireResponse<typeof getAsk>): AskHandle {
  const { correlation_id, from_peer_id, from_peer_name } = ask;
  return { correlation_id, peer_id: from_peer_id ?? from_peer_name };
}

/**
 * Waits until the ask is resolved, the timeout ends, or Ctrl-C is pressed. Ending the wait does not
 * close the ask.
 */
export async function waitForReply(
  context: CommandContext,
  args: Args,
  ask: AskHandle,
): Promise<number> {
  const { terminal } = context;
  const seconds = args.number("timeout");
  return await interruptible(async (signal) => {
    const answer = await pollForReply(context, ask, { seconds, signal });
    // The output includes the id, because a program needs it to wait again.
    const { correlation_id } = ask;
    if (args.flag("json")) printJson(terminal, { correlation_id, ...answer });
    else if (answer.status === "resolved") showResolution(terminal, answer);
    if (answer.status === "resolved") return EXIT.done;
    printStillOpen(context, ask);
    return signal.aborted ? EXIT.interrupted : EXIT.refused;
  });
}

interface WaitOptions {
  readonly seconds: number | undefined;
  readonly signal: AbortSignal;
}

/** Waits for up to `seconds`, which may be longer than one call of the daemon allows. */
export async function pollForReply(
  context: CommandContext,
  { correlation_id, peer_id }: AskHandle,
  { seconds = Infinity, signal }: WaitOptions,
): Promise<WireResponse<typeof waitAsk>> {
  const { call, clock } = context;
  const deadline = clock.now() + seconds * 1000;
  const params = { id: correlation_id };
  let unavailableSince: number | undefined;
  while (!signal.aborted) {
    const timeout_seconds = Math.min(WAIT_SECONDS, Math.max(0, (deadline - clock.now()) / 1000));
    try {
      const answer = await call(waitAsk, { params, body: { peer_id, timeout_seconds }, signal });
      unavailableSince = undefined;
      if (answer.status === "resolved" || clock.now() >= deadline) return answer;
    } catch (error) {
      if (signal.aborted) break;
      unavailableSince ??= printUnavailable(context, error);
      if (clock.now() - unavailableSince > UNAVAILABLE_MS_MAX) throw error;
      await pause(clock, RETRY_INTERVAL_MS, signal);
    }
  }
  return PENDING;
}

/**
 * Reports that the daemon is unavailable and returns the time; rethrows any other error. An ask
 * survives a restart of the daemon, so the wait for its reply continues.
 */
function printUnavailable({ terminal, clock }: CommandContext, error: unknown): number {
  const isShuttingDown = error instanceof ApiError && error.problem.error === "shutting_down";
  if (!isShuttingDown && !(error instanceof DaemonUnreachable)) throw error;
  printError(terminal, styled("yellow", "Lost the daemon; waiting for it"));
  return clock.now();
}

function printStillOpen({ terminal }: CommandContext, { correlation_id }: AskHandle): void {
  printError(terminal, styled("yellow", `${correlation_id} is still open.`), " Wait again with:");
  printError(terminal, "  ", styled("bold", `mesh show ${correlation_id} --wait`));
}
