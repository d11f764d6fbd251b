/** Finds a turn that repeats the same tool calls: the same tools, inputs and results in a cycle. */

import { hashOf } from "../agents/sessions/growing_file.ts";
import type { SessionEntry } from "../agents/sessions/session_files.ts";

/** A tool call with its input and result, as a hash, at its time; null if that is not known. */
export interface Call {
  readonly tool: string;
  readonly hash: number;
  readonly at: number | null;
}

/** Calls that repeat: their number in a cycle, and how often the cycle ran. */
export interface RepeatedCalls {
  readonly times: number;
  readonly tools: readonly string[];
  readonly since: number | null;
}

/** Maximum calls in a cycle. */
const CYCLE_MAX = 3;
/** Times that a cycle runs until it counts as a loop. */
const TIMES_MIN = 8;
/** Times if the cycles are slow, as those of a program that waits for another are. */
const SLOW_TIMES_MIN = 30;
/** Mean time of a slow cycle. */
const SLOW_MS = 30_000;

/** Calls that are kept of a turn: enough for the slow cycles. */
export const CALLS_MAX = CYCLE_MAX * SLOW_TIMES_MIN;

/** The cycle at the end of a turn's calls, if it has run so often that nothing else explains it. */
export function repeatedCalls(calls: readonly Call[]): RepeatedCalls | undefined {
  for (let length = 1; length <= CYCLE_MAX; length++) {
    const times = timesOf(calls, length);
    if (times < TIMES_MIN) continue;
    const cycles = calls.slice(-length * times);
    const since = cycles[0]?.at ?? null, until = cycles.at(-1)?.at ?? null;
    const mean_ms = since === null || until === null ? 0 : (until - since) / (times - 1);
    if (mean_ms > SLOW_MS && times < SLOW_TIMES_MIN) continue;
    return { times, tools: cycles.slice(0, length).map(({ tool }) => tool), since };
  }
  return undefined;
}

/** The number of times that the last calls repeat with a cycle of this length. */
function timesOf(calls: readonly Call[], length: number): number {
  const last = calls.slice(-length);
  if (last.length < length) return 0;
  let same = 0;
  while (same < calls.length) {
    const call = calls[calls.length - 1 - same];
    if (call?.hash !== last[length - 1 - same % length]?.hash) break;
    same++;
  }
  return Math.floor(same / length);
}

/** The finished calls since the last prompt, oldest first. */
export function callsIn(entries: readonly SessionEntry[]): Call[] {
  const begin = entries.findLastIndex(({ kind }) => kind === "prompt");
  const open = new Map<string | null, SessionEntry>();
  const calls: Call[] = [];
  for (const entry of entries.slice(begin + 1)) {
    if (entry.kind === "tool_call") open.set(entry.call, entry);
    if (entry.kind !== "tool_result") continue;
    const call = open.get(entry.call);
    if (!call) continue;
    open.delete(entry.call);
    calls.push(toCall(call.tool ?? "", call.text, { result: entry.text, at: entry.at ?? call.at }));
  }
  return calls;
}

export function toCall(
  tool: string,
  input: string,
  { result, at }: { readonly result: string; readonly at: number | null },
): Call {
  return { tool, hash: hashOf(JSON.stringify([tool, input, result])), at };
}
