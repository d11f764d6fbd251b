/** Traces: the stages of a message, derived from its columns and its extra stages. */

import type { Context } from "../../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import {
  PROOF_MS_MAX,
  type Stage,
  type StoredMessage,
  type Trace,
} from "protocol/messages/contract.ts";
import * as ledger from "./ledger.ts";
import { identOf } from "./rows.ts";
import { stagesOf } from "./stages.ts";

type TraceStage = Omit<Stage, "seq">;

/** The stages of an ask (by correlation_id) or any delivery (by delivery_id), in order. */
export function traceOf({ db, clock }: Context, trace_id: string): Trace {
  const message = ledger.findMessage(db, trace_id);
  if (!message || ![message.correlation_id, message.delivery_id].includes(trace_id)) {
    throw new Problem("unknown_trace", { trace_id });
  }
  const noted = stagesOf(db, identOf(message.delivery_id)).map((note) => ({
    ...note,
    peer_id: message.to_peer_id,
    from_peer_id: message.from_peer_id,
  }));
  const routing = message.kind === "ask" ? ledger.routingOf(db, trace_id) : null;
  const stagesOfMessage = messageStages(message, {
    now: clock.now(),
    route: routing ? describeRoute(routing) : null,
  });
  const stages = mergeByTime(stagesOfMessage, noted);
  return {
    trace_id,
    kind: message.kind,
    unverified: message.unverified,
    chain: message.chain,
    stages: stages.map((stage, index) => ({ seq: index + 1, ...stage })),
  };
}

/**
 * Merges the usual and the noted stages by time. The usual stages keep their order whatever their
 * times, because a proof may be stored before the write that it proves.
 */
function mergeByTime(usual: readonly TraceStage[], noted: readonly TraceStage[]): TraceStage[] {
  let reached = 0;
  const timed = usual.map((stage) => ({ stage, at: reached = Math.max(reached, stage.ts) }));
  const all = [...timed, ...noted.map((stage) => ({ stage, at: stage.ts }))];
  return all.toSorted((a, b) => a.at - b.at).map(({ stage }) => stage);
}

/** The detail of a message that nothing proves to be its sender's. */
const UNVERIFIED = "unverified: nothing proves that its sender sent it";

const FAILURES: ReadonlySet<string> = new Set(["failed", "expired", "dropped", "unproved"]);

/** Describes how routing chose the recipient: strategy, confidence, reason of the fallback. */
function describeRoute(
  { arm, routed_to, confidence, fallback_reason }: Record<string, unknown>,
): string {
  const fallbackText = fallback_reason ? `${fallback_reason}, so that the fallback ` : "";
  return `${arm} (${confidence}): ${fallbackText}${routed_to}`;
}

function messageStages(
  message: StoredMessage,
  { now, route }: { now: number; route: string | null },
): TraceStage[] {
  const { state, transport, reason } = message;
  const stageAt = (
    stage: string,
    ts: number | null,
    detail: string | null = null,
    isGood = !FAILURES.has(stage),
  ): TraceStage[] =>
    ts === null ? [] : [{
      stage,
      status: isGood ? "ok" : "fail",
      peer_id: message.to_peer_id,
      from_peer_id: message.from_peer_id,
      ts,
      detail,
    }];
  const closed = message.kind === "ask" ? message.closed_at : null;
  const acked = closed !== null && ["ack", "ack_with_msg", "answered"].includes(
    message.close_reason ?? "",
  );
  // The ask was answered or cancelled before it was sent, so its delivery was no longer needed.
  const wasReleased = state === "dropped" && reason === message.close_reason &&
    message.outcome !== "failed";
  return [
    ...stageAt("created", message.created_at, message.unverified ? UNVERIFIED : null),
    ...stageAt("resolved", message.created_at, message.to_peer_name),
    ...stageAt("routed", route === null ? null : message.created_at, route),
    ...stageAt("queued", message.created_at, state === "queued" ? reason : null),
    ...stageAt("attempting", message.attempted_at, transport),
    ...stageAt("sent", message.sent_at, state === "sent" ? reason : null),
    ...stageAt("accepted", message.accepted_at),
    ...stageAt("seen", message.seen_at),
    ...stageAt("unproved", unprovedSince(message, now)),
    ...stageAt(state, message.settled_at, reason, wasReleased),
    ...stageAt("acked", acked ? closed : null, message.close_reason),
    ...stageAt("closed", closed, message.close_reason, message.outcome !== "failed"),
  ];
}

/** End of the time for a proof; null before it, once proved, or if it will be sent again. */
function unprovedSince({ state, sent_at, repeatable }: StoredMessage, now: number): number | null {
  if (state !== "sent" || sent_at === null || repeatable) return null;
  return now - sent_at > PROOF_MS_MAX ? sent_at + PROOF_MS_MAX : null;
}
