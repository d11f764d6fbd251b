/** The end of a session's last turn without a result, read from the end of the session's file. */

import { changedAt, readTail } from "../../../host/agent_files.ts";
import type { AgentPeer, Observation, TurnEnd } from "../adapter.ts";
import type { ParsedEntry } from "./pages.ts";

/** Bytes read from the end of the file. Fewer bytes are written between an end and its search. */
const TAIL_BYTES = 131_072;
/** Maximum number of sessions that are remembered. */
const SESSIONS_MAX = 200;

/** The end that a record shows. */
export type RecordedEnd = Pick<TurnEnd, "how" | "at" | "text" | "resets_at" | "limit">;

/** The form in which an agent records ends and prompts, one record per line. */
interface EndFormat {
  locate(session_id: string): string | undefined;
  /** Every line that shows an end contains one of these texts. */
  readonly marks: readonly string[];
  endIn(line: string): RecordedEnd | undefined;
  entriesOf(line: string): readonly ParsedEntry[];
  /** The limit, for an agent that records it apart from the ends of turns. */
  readonly limits?: { readonly mark: string; limitIn(line: string): RecordedLimit | undefined };
}

/** A limit that a record shows as reached. */
type RecordedLimit = Pick<TurnEnd, "resets_at" | "limit">;

interface CachedEnd {
  readonly file: string;
  readonly changed_at: number;
  readonly end: TurnEnd | undefined;
}

type LastEndOf = (session_id: string | null) => TurnEnd | undefined;

/** Reads each session's file again only after it has changed. */
export function lastEndReader(format: EndFormat): LastEndOf {
  const ends = new Map<string, CachedEnd>();
  return (session_id) => {
    if (session_id === null) return undefined;
    const known = ends.get(session_id);
    const known_at = known && changedAt(known.file);
    if (known && known_at === known.changed_at) return known.end;
    const file = known_at === undefined ? format.locate(session_id) : known?.file;
    const changed_at = file === undefined ? undefined : changedAt(file);
    if (file === undefined || changed_at === undefined) return undefined;
    const end = lastEndIn(readTail(file, TAIL_BYTES) ?? "", format);
    if (ends.size >= SESSIONS_MAX) ends.clear();
    ends.set(session_id, { file, changed_at, end });
    return end;
  };
}

/** The newest end in the lines of a text, with the prompts after it. */
function lastEndIn(
  text: string,
  { marks, endIn, entriesOf, limits }: Omit<EndFormat, "locate">,
): TurnEnd | undefined {
  const lines = text.split("\n");
  let last: { readonly index: number; readonly end: RecordedEnd } | undefined;
  for (const [index, line] of lines.entries()) {
    const end = marks.some((mark) => line.includes(mark)) ? endIn(line) : undefined;
    if (end && end.at >= (last?.end.at ?? 0)) last = { index, end };
  }
  if (!last) return undefined;
  const { index, end } = last;
  // Older prompts belong to a history that the agent has rewritten.
  const prompts_since = lines.slice(index + 1).flatMap(entriesOf)
    .filter(({ kind, at }) => kind === "prompt" && (at ?? end.at) >= end.at)
    .map((entry) => entry.text);
  const limit = limits && end.how === "failed"
    ? lines.findLast((line) => line.includes(limits.mark))
    : undefined;
  const { resets_at, limit: facts } = limit === undefined ? {} : limits?.limitIn(limit) ?? {};
  const reset = resets_at !== undefined && { resets_at };
  const more = facts && { limit: { ...end.limit, ...facts } };
  return { ...end, ...reset, ...more, source: "session file", prompts_since };
}

/**
 * Adds the end of the last turn to an observation. If that end is newer than the agent's known
 * state, and no prompt follows it, the agent is idle.
 */
export function withEnd(
  observed: Observation | undefined,
  peer: AgentPeer,
  lastEndOf: LastEndOf,
): Observation | undefined {
  const end = observed?.alive ? lastEndOf(peer.runtime_session_id) : undefined;
  if (!observed || !end) return observed;
  const isNews = observed.turn_state === null && peer.turn_state !== "idle" &&
    end.at > (peer.turn_at ?? 0) && end.prompts_since?.length === 0;
  const idle = { turn_state: "idle" as const, at: end.at, source: end.source };
  return { ...observed, ...(isNews && idle), end };
}
