/** The spans of one message, derived from its row and from the steps of its delivery. */

import { REASONS } from "protocol/reasons.ts";
import { type Attributes, deriveSpanId, type Span, type TraceContext } from "kit/telemetry/span.ts";
import type { TracedMessage } from "./store.ts";

/** A step of a delivery, and when its commit was over. */
export interface TimedStep {
  readonly state: string;
  readonly transport: string | null;
  readonly at: number;
}

/** States in which the message will not be received. */
const LOST: ReadonlySet<string> = new Set(["expired", "dropped"]);
/** Ids that the daemon made. An id that an asker chose could have any content. */
const OWN_ID = /^[a-z]+-[0-9a-f]{12}$/;

/** Fields that the spans of a message share. The traceparent names the span that sent it. */
export function messageSpan(
  message: TracedMessage,
  { trace_id, span_id }: TraceContext,
  own: Pick<Span, "name" | "started_at" | "ended_at"> & Partial<Span>,
): Span {
  const { delivery_id, kind, correlation_id, from_peer_id, to_peer_id } = message;
  return {
    trace_id,
    span_id: deriveSpanId(trace_id, delivery_id, own.name),
    parent_id: span_id,
    kind: "internal",
    failed: false,
    ...own,
    attributes: {
      "mesh.kind": kind,
      "mesh.delivery_id": delivery_id,
      "mesh.correlation_id": ownId(correlation_id),
      "mesh.from_peer_id": ownId(from_peer_id),
      "mesh.to_peer_id": ownId(to_peer_id),
      ...own.attributes,
    },
  };
}

function ownId(id: string | null): string | null {
  return id !== null && OWN_ID.test(id) ? id : null;
}

/** The id of the span of an attempt, which also the span of its receipt needs. */
export function attemptSpanId(
  { trace_id, span_id }: TraceContext,
  { delivery_id }: Pick<TracedMessage, "delivery_id">,
  attempt: number,
): string {
  return attempt > 0 ? deriveSpanId(trace_id, delivery_id, "attempt", attempt) : span_id;
}

/** The spans of the steps since the last call, in their order. */
export function stepSpans(
  message: TracedMessage,
  context: TraceContext,
  steps: readonly TimedStep[],
): Span[] {
  const attempts = steps.filter(({ state }) => state === "attempting").length;
  let attempt = message.attempts - attempts;
  let begun: TimedStep | undefined;
  return steps.flatMap((step) => {
    if (step.state === "attempting") {
      attempt++;
      begun = step;
      return [];
    }
    const attemptStep = { message, context, step, attempt, begun };
    const isEnd = step.state === "sent" || isRefusal(attemptStep);
    if (isEnd) begun = undefined;
    return isEnd ? [attemptSpan(attemptStep)] : receiptOrEnd(attemptStep);
  });
}

/** A step, and the attempt that it belongs to. */
interface AttemptStep {
  readonly message: TracedMessage;
  readonly context: TraceContext;
  readonly step: TimedStep;
  /** The number of the attempt, counted from 1; 0 before the first attempt. */
  readonly attempt: number;
  /** The begin of the attempt, if it is among the same steps. */
  readonly begun: TimedStep | undefined;
}

/** Queued again: either refused before a byte went out, or after it was sent, to be repeated. */
function isRefusal(
  { message: { sent_at, attempted_at }, step, attempt, begun }: AttemptStep,
): boolean {
  if (step.state !== "queued" || attempt === 0) return false;
  return begun !== undefined || sent_at === null || sent_at < (attempted_at ?? 0);
}

/** From the moment that the attempt was stored to the moment that the message was written. */
function attemptSpan({ message, context, step, attempt, begun }: AttemptStep): Span {
  const { attempts, attempted_at, sent_at } = message;
  const isLast = attempt === attempts;
  const isSent = step.state === "sent";
  const transport = step.transport ?? begun?.transport ?? "unknown";
  return messageSpan(message, context, {
    name: `deliver ${transport}`,
    span_id: attemptSpanId(context, message, attempt),
    kind: "producer",
    started_at: (isLast ? attempted_at : begun?.at) ?? step.at,
    ended_at: (isLast && isSent ? sent_at : null) ?? step.at,
    failed: !isSent,
    attributes: {
      "mesh.transport": transport,
      "mesh.attempt": attempt,
      "mesh.state": isSent ? "sent" : "refused",
      "mesh.reason": reasonOf(message),
    },
  });
}

/** The receiver's report, from the moment that the message was sent; or an end without a report. */
function receiptOrEnd({ message, context, step, attempt }: AttemptStep): Span[] {
  const { created_at, attempted_at, sent_at, settled_at, transport } = message;
  const { state } = step;
  const attributes: Attributes = {
    "mesh.transport": transport,
    "mesh.state": state,
    "mesh.reason": reasonOf(message),
  };
  if (LOST.has(state)) {
    const ended_at = settled_at ?? step.at;
    const own = { name: `end ${state}`, started_at: created_at, ended_at, failed: true };
    return [messageSpan(message, context, { ...own, attributes })];
  }
  const ended_at = { accepted: message.accepted_at, seen: message.seen_at, failed: settled_at }[
    state
  ];
  if (ended_at === undefined || attempt === 0) return [];
  return [messageSpan(message, context, {
    name: `receipt ${state}`,
    parent_id: attemptSpanId(context, message, attempt),
    kind: "consumer",
    started_at: sent_at ?? attempted_at ?? created_at,
    ended_at: ended_at ?? step.at,
    failed: state === "failed",
    attributes,
  })];
}

/** The wait of an ask for its answer. */
export function answerSpan(ask: TracedMessage, context: TraceContext): Span {
  const { created_at, closed_at, close_reason, outcome } = ask;
  return messageSpan(ask, context, {
    name: "await answer",
    started_at: created_at,
    ended_at: closed_at ?? created_at,
    failed: outcome === "failed",
    attributes: { "mesh.close_reason": close_reason, "mesh.outcome": outcome },
  });
}

/** A reason of our own table; a receiver may give any other text. */
function reasonOf({ reason }: TracedMessage): string | null {
  return reason !== null && Object.hasOwn(REASONS, reason) ? reason : null;
}
