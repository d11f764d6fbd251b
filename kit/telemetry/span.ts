/** Spans, the ids that are derived for them, and the decision whether a trace is recorded. */

import { createHash } from "node:crypto";
import { readTrace } from "kit/http/traceparent.ts";

/** Hex digits of the trace id that decide whether the trace is recorded: a number holds them. */
const SAMPLED_DIGITS = 13;

export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Refers to a span. */
export interface SpanRef {
  /** 32 hex digits. */
  readonly trace_id: string;
  /** 16 hex digits. */
  readonly span_id: string;
}

/** A finished span. Attributes without a value are not sent. */
export interface Span extends SpanRef {
  readonly parent_id: string | null;
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | "producer" | "consumer";
  /** Milliseconds since the epoch. */
  readonly started_at: number;
  readonly ended_at: number;
  readonly attributes: Attributes;
  readonly failed: boolean;
  /** A span of another trace that led to this one. */
  readonly link?: SpanRef | undefined;
}

/** A span context, as a traceparent has it. */
export interface TraceContext extends SpanRef {
  readonly sampled: boolean;
}

/** Undefined if the traceparent is malformed. */
export function toTraceContext(traceparent: string | null): TraceContext | undefined {
  const [, trace_id, span_id, flags] = readTrace(traceparent ?? "")?.split("-") ?? [];
  if (trace_id === undefined || span_id === undefined || flags === undefined) return undefined;
  return { trace_id, span_id, sampled: (parseInt(flags, 16) & 1) === 1 };
}

/**
 * True if a trace is recorded: its caller records it, and its id is within the ratio (0 to 1). The
 * decision depends on the trace alone, so that every process with the same ratio agrees.
 */
export function isRecorded({ trace_id, sampled }: TraceContext, ratio: number): boolean {
  return sampled && parseInt(trace_id.slice(-SAMPLED_DIGITS), 16) < ratio * 16 ** SAMPLED_DIGITS;
}

/** A span id that depends on its arguments alone, so that a restarted daemon derives the same. */
export function deriveSpanId(...names: readonly (string | number)[]): string {
  return createHash("sha256").update(names.join("\n")).digest("hex").slice(0, 16);
}
