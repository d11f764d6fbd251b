/** Follows a transcript: yields new entries, also after the agent has begun another session. */

import type { Clock } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import type { WireResponse } from "kit/http/client.ts";
import type { readTranscript } from "protocol/generated/endpoints.ts";

type Transcript = WireResponse<typeof readTranscript>;
type Page = Pick<Transcript, "session_id" | "entries" | "before">;

const POLL_INTERVAL_MS = 1_000;
/** The largest page of the route. */
const PAGE_MAX = 200;
/** Maximum number of pages that are read at once. The position of earlier entries is reported. */
const PAGES_MAX = 10;

/** The position of the last entry that was shown; undefined to show the session from its start. */
export interface Place {
  readonly session_id: string;
  readonly after: number | undefined;
}

/** New entries, and the position of the entries that were left out. */
export interface NewEntries {
  readonly entries: Transcript["entries"];
  /** Entries before this position were left out; null if none were. */
  readonly left_out_before: number | null;
  /** The session that the agent began; undefined if it is the same as before. */
  readonly new_session: string | undefined;
}

export interface FollowReads {
  /** Reads entries of any text. Undefined while there is no session file. */
  last(query: { after?: number | undefined }): Promise<Page | undefined>;
  /** Reads entries that match the search. */
  matching(
    query: { last: number; before: number; after?: number | undefined },
  ): Promise<Page | undefined>;
}

/** Yields the entries after a place, until the signal aborts. */
export async function* follow(
  reads: FollowReads,
  from: Place,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<NewEntries> {
  let { session_id, after } = from;
  while (!signal.aborted) {
    await pause(clock, POLL_INTERVAL_MS, signal);
    if (signal.aborted) return;
    let head = await reads.last({ after });
    const isNew = head !== undefined && head.session_id !== session_id;
    if (isNew) {
      after = undefined;
      head = await reads.last({});
    }
    if (!head) continue;
    session_id = head.session_id;
    const last = head.entries.at(-1)?.position;
    const came = last === undefined
      ? NOTHING
      : await entriesBetween(reads, { session_id, after }, last);
    if (isNew || last !== undefined) {
      yield { ...came, new_session: isNew ? session_id : undefined };
    }
    after = last ?? after;
  }
}

const NOTHING = { entries: [], left_out_before: null };

/** The entries after a place up to a position, read backwards. */
async function entriesBetween(
  { matching }: FollowReads,
  { session_id, after }: Place,
  last: number,
): Promise<Pick<NewEntries, "entries" | "left_out_before">> {
  const entries: Transcript["entries"] = [];
  let before: number | null = last + 1;
  for (let pages = 0; before !== null && pages < PAGES_MAX; pages++) {
    const page: Page | undefined = await matching({ last: PAGE_MAX, before, after });
    // The agent has begun another session meanwhile.
    if (page?.session_id !== session_id) break;
    entries.unshift(...page.entries);
    before = page.before;
  }
  return { entries, left_out_before: before };
}
