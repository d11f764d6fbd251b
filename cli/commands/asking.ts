/** Asks a peer, and waits for its answer in pieces that the daemon allows. */

import { Refused, type Wire } from "kit/http/client.ts";
import { pause } from "kit/core/timeout.ts";
import {
  type getAsk,
  PENDING,
  WAIT_SECONDS,
  waitAsk,
} from "../../daemon/features/asks/contract.ts";
import { interruptible, type Session, type Words } from "../command/command.ts";
import { EXIT } from "../client/failures.ts";
import { Unreachable } from "../client/daemon_client.ts";
import { complain, ink, printJson } from "../output/print.ts";
import { showResolution } from "../output/show.ts";

/** How long a daemon may be away, as in a restart, before its waiters give up. */
const AWAY_MS_MAX = 30_000;
const AWAY_LOOK_MS = 500;

/** Which ask, and who asked it: only the asker may wait. */
interface Waited {
  readonly correlation_id: string;
  readonly peer_id: string;
}

export function askerOf(ask: Wire<typeof getAsk>): Waited {
  const { correlation_id, from_peer_id, from_peer_name } = ask;
  return { correlation_id, peer_id: from_peer_id ?? from_peer_name };
}

/** Waits until the ask is resolved, its time is up or Ctrl-C: the ask itself stays open. */
export async function waitForReply(
  session: Session,
  words: Words,
  waited: Waited,
): Promise<number> {
  const { terminal } = session;
  const seconds = words.number("timeout");
  return await interruptible(async (signal) => {
    const answer = await waitInPieces(session, waited, { seconds, signal });
    // A program whose wait is over needs the id, to wait again.
    const { correlation_id } = waited;
    if (words.flag("json")) printJson(terminal, { correlation_id, ...answer });
    else if (answer.status === "resolved") showResolution(terminal, answer);
    if (answer.status === "resolved") return EXIT.done;
    sayStillOpen(session, waited);
    return signal.aborted ? EXIT.interrupted : EXIT.refused;
  });
}

interface Patience {
  readonly seconds: number | undefined;
  readonly signal: AbortSignal;
}

/** The answer to a wait that may be longer than the daemon allows at once. */
export async function waitInPieces(
  session: Session,
  { correlation_id, peer_id }: Waited,
  { seconds = Infinity, signal }: Patience,
): Promise<Wire<typeof waitAsk>> {
  const { call, clock } = session;
  const until = clock.now() + seconds * 1000;
  const params = { id: correlation_id };
  let away_at: number | undefined;
  while (!signal.aborted) {
    const timeout_seconds = Math.min(WAIT_SECONDS, Math.max(0, (until - clock.now()) / 1000));
    try {
      const answer = await call(waitAsk, { params, body: { peer_id, timeout_seconds }, signal });
      away_at = undefined;
      if (answer.status === "resolved" || clock.now() >= until) return answer;
    } catch (fault) {
      if (signal.aborted) break;
      away_at ??= sayAway(session, fault);
      if (clock.now() - away_at > AWAY_MS_MAX) throw fault;
      await pause(clock, AWAY_LOOK_MS, signal);
    }
  }
  return PENDING;
}

/** An ask survives a restart of the daemon, so its waiter may as well. */
function sayAway({ terminal, clock }: Session, fault: unknown): number {
  const stopping = fault instanceof Refused && fault.problem.error === "shutting_down";
  if (!stopping && !(fault instanceof Unreachable)) throw fault;
  complain(terminal, ink("yellow", "The daemon is away; waiting for it"));
  return clock.now();
}

function sayStillOpen({ terminal }: Session, { correlation_id }: Waited): void {
  complain(terminal, ink("yellow", `${correlation_id} is still open.`), " Wait again with:");
  complain(terminal, "  ", ink("bold", `mesh show ${correlation_id} --wait`));
}
