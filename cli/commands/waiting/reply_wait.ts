/**
 * Waits for the reply to an ask (`--wait`). The daemon limits the length of one call, so a long
 * wait makes several calls.
 */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { pause } from "kit/core/timeout.ts";
import { type getAsk, waitAsk } from "protocol/generated/endpoints.ts";
import { isProved } from "protocol/derived/proofs.ts";
import { PENDING, WAIT_SECONDS } from "protocol/asks/contract.ts";
import { holdOf } from "./peer_waits.ts";
import { type ShownAsk, withProgress } from "../ask_progress.ts";
import { type Args, type CommandContext, interruptible } from "../../command/command.ts";
import { EXIT } from "../../client/failures.ts";
import { DaemonUnreachable } from "../../client/daemon_client.ts";
import { styled } from "../../output/terminal.ts";
import { showResolution } from "../../output/views.ts";

/** Time for which a wait continues while the daemon is unreachable, such as during a restart. */
const UNAVAILABLE_MS_MAX = 30_000;
const RETRY_INTERVAL_MS = 500;

/** An ask and its sender, because only the sender may wait for the reply. */
interface AskHandle {
  readonly correlation_id: string;
  readonly peer_id: string;
}

type WaitedAsk = AskHandle & ShownAsk;

export function toAskHandle(ask: WireResponse<typeof getAsk>): WaitedAsk {
  const { correlation_id, from_peer_id, from_peer_name, to_peer_id, to_peer_name } = ask;
  return { correlation_id, peer_id: from_peer_id ?? from_peer_name, to_peer_id, to_peer_name };
}

/**
 * Waits until the ask is resolved, the timeout ends, or Ctrl-C is pressed. Ending the wait does not
 * close the ask.
 */
export async function waitForReply(
  context: CommandContext,
  args: Args,
  ask: WaitedAsk,
): Promise<number> {
  const { terminal } = context;
  const seconds = args.seconds("timeout");
  // The progress comes from the events, which another machine cannot send.
  const showsProgress = !args.flag("json") && context.machine === undefined;
  return await interruptible(async (signal) => {
    const wait = () => pollForReply(context, ask, { seconds, signal });
    const waiting = showsProgress ? withProgress(context, ask, wait) : wait();
    const answer = await waiting.catch((error) => {
      printWayBack(context, ask, "was sent");
      throw error;
    });
    // The output includes the id, because a program needs it to wait again.
    const { correlation_id } = ask;
    if (args.flag("json")) terminal.printJson({ correlation_id, ...answer });
    else if (answer.status === "resolved") showResolution(terminal, answer);
    if (answer.status === "resolved") {
      if (!args.flag("json")) printFollowUp(context, ask);
      return answer.proof && !isProved(answer.proof) ? EXIT.refused : EXIT.done;
    }
    if (!showsProgress) await printWait(context, ask);
    printWayBack(context, ask, "is still open");
    return signal.aborted ? EXIT.interrupted : EXIT.refused;
  });
}

/** Waits for up to `seconds`, which may be longer than one call of the daemon allows. */
export async function pollForReply(
  context: CommandContext,
  { correlation_id, peer_id }: AskHandle,
  { seconds = Infinity, signal }: { seconds: number | undefined; signal: AbortSignal },
): Promise<WireResponse<typeof waitAsk>> {
  const { call, clock } = context;
  const deadline = clock.monotonic() + seconds * 1000;
  const params = { id: correlation_id };
  let unavailableSince: number | undefined;
  while (!signal.aborted) {
    const calledAt = clock.monotonic();
    const timeout_seconds = Math.min(WAIT_SECONDS, Math.max(0, (deadline - calledAt) / 1000));
    try {
      const answer = await call(waitAsk, { params, body: { peer_id, timeout_seconds }, signal });
      unavailableSince = undefined;
      if (answer.status === "resolved" || clock.monotonic() >= deadline) return answer;
      const isEarly = clock.monotonic() - calledAt < RETRY_INTERVAL_MS;
      if (isEarly) await pause(clock, RETRY_INTERVAL_MS, signal);
    } catch (error) {
      if (signal.aborted) break;
      unavailableSince ??= printUnavailable(context, error);
      if (clock.monotonic() - unavailableSince > UNAVAILABLE_MS_MAX) throw error;
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
  terminal.printError(styled("yellow", "Lost the daemon; waiting for it"));
  return clock.monotonic();
}

async function printWait(
  { call, terminal }: CommandContext,
  { to_peer_id }: WaitedAsk,
): Promise<void> {
  const wait = await holdOf(call, to_peer_id, null);
  if (wait) terminal.printError(styled("yellow", wait));
}

function printWayBack(
  { terminal }: CommandContext,
  { correlation_id }: AskHandle,
  state: string,
): void {
  terminal.printError(styled("yellow", `${correlation_id} ${state}.`), " Wait again with:");
  terminal.printError("  ", styled("bold", `mesh show ${correlation_id} --wait`));
}

/** A person may go on with the conversation; a program reads only the answer. */
function printFollowUp({ terminal }: CommandContext, ask: WaitedAsk): void {
  if (!terminal.device.progress) return;
  const { correlation_id, to_peer_name } = ask;
  const command = `mesh ask ${to_peer_name} "…" --reply-to ${correlation_id} --wait`;
  terminal.printError(styled("dim", `Follow up: ${command}`));
}
