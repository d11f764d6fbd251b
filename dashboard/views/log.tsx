/** Log: all messages that match the filters, live, grouped by thread. */

import * as at from "protocol/generated/endpoints.ts";
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Steady } from "../components/act/steady_content.tsx";
import { Empty, Failed, ResourceView } from "../components/basics.tsx";
import { useResource } from "../state/resource.ts";
import { route } from "../state/router.ts";
import { now } from "../state/store.ts";
import { DigestFold } from "./log/digest.tsx";
import { LogFilters } from "./log/filters.tsx";
import { type Filters, filtersOf, isFiltered, queryOf } from "./log/search.ts";
import { ThreadRow } from "./log/thread_row.tsx";
import { dayOf, hold, type Thread, toThreads } from "./log/threads.ts";
import { call } from "../state/calls.ts";
import type { Message, MessagePage } from "../state/records.ts";

const PAGE = 60;
const SHOWN_MAX = 1920;
/** The reader has scrolled once the list is this far from its top. */
const SCROLLED_PX = 40;

export function Log() {
  const { query } = route.value;
  const filters = filtersOf((name) => query.get(name));
  return (
    <>
      <LogFilters filters={filters} />
      {!isFiltered(filters) && <DigestFold />}
      <Results filters={filters} />
    </>
  );
}

interface LoadedResults {
  /** The search that was loaded. */
  readonly key: string;
  readonly found: FoundMessages;
  readonly threads: readonly Thread[];
}

/** While a changed filter loads, the earlier results stay. */
function Results({ filters }: { filters: Filters }) {
  const key = JSON.stringify(filters);
  const [wanted, setWanted] = useState({ key, count: PAGE });
  const count = wanted.key === key ? wanted.count : PAGE;
  const load = (signal: AbortSignal) => loadMessages(filters, count, signal);
  const resource = useResource(`log ${key} ${count}`, ["messages", "asks"], load, { kept: true });
  const last = useRef<LoadedResults>(undefined);
  const value = resource.value.value;
  if (value && value !== last.current?.found) {
    last.current = { key, found: value, threads: toThreads(value.messages) };
  }
  const error = resource.error.value;
  if (!last.current) return <ResourceView resource={resource}>{() => null}</ResourceView>;
  const { found: { messages, more }, threads } = last.current;
  const is_filtered = isFiltered(filters);
  return (
    <>
      {error !== undefined && <Failed error={error} retry={resource.refresh} />}
      {messages.length === 0 && (
        <Empty
          title={is_filtered ? "Nothing found" : "No messages yet"}
          command={is_filtered ? undefined : 'mesh notify NAME "Hello"'}
        >
          {is_filtered
            ? "Use fewer words, or another filter."
            : "They appear here live: each ask with its reply, and each notification, as a thread."}
        </Empty>
      )}
      <Threads key={last.current.key} threads={threads} />
      {more && count < SHOWN_MAX && (
        <button
          type="button"
          class="quiet"
          onClick={() => setWanted({ key, count: count * 2 })}
        >
          Older messages
        </button>
      )}
      {more && count >= SHOWN_MAX && (
        <p class="hint">{`The newest ${count} messages are shown. Filter to see older ones.`}</p>
      )}
    </>
  );
}

/** New rows wait above while the reader has scrolled; the list does not move. */
function Threads({ threads }: { threads: readonly Thread[] }) {
  const scrolled = useScrolled();
  const frozen = useRef<readonly Thread[]>(undefined);
  if (!scrolled) frozen.current = undefined;
  const { shown, fresh } = hold(frozen.current, threads);
  if (scrolled) frozen.current = shown;
  return (
    <>
      <div class="fresh" role="status">
        {fresh > 0 && (
          <button type="button" class="primary" onClick={toTop}>
            {`↑ ${fresh} new`}
          </button>
        )}
      </div>
      <ul class="list">
        {shown.map((thread, index) => {
          const day = dayOf(thread.newest_at, now.value);
          const before = shown[index - 1];
          const isNew = !before || dayOf(before.newest_at, now.value) !== day;
          return (
            <Fragment key={thread.id}>
              {isNew && (
                <li class="log-day">
                  <h2>{day}</h2>
                </li>
              )}
              <Steady of={[thread.first, ...thread.rest]}>
                {() => <ThreadRow thread={thread} />}
              </Steady>
            </Fragment>
          );
        })}
      </ul>
    </>
  );
}

function useScrolled(): boolean {
  const [scrolled, setScrolled] = useState(false);
  useEffect(() => {
    const area = document.getElementById("main");
    const read = () => setScrolled((area?.scrollTop ?? 0) > SCROLLED_PX);
    area?.addEventListener("scroll", read, { passive: true });
    return () => area?.removeEventListener("scroll", read);
  }, []);
  return scrolled;
}

function toTop(): void {
  document.getElementById("main")?.scrollTo({ top: 0 });
}

const PAGE_ROWS_MAX = 500;

interface FoundMessages {
  readonly messages: readonly Message[];
  /** True if older messages match, too. */
  readonly more: boolean;
}

/** The newest `wanted` messages that match. */
async function loadMessages(
  filters: Filters,
  wanted: number,
  signal: AbortSignal,
): Promise<FoundMessages> {
  const given = Object.entries(queryOf(filters));
  const messages: Message[] = [];
  let next: string | null = null;
  do {
    const limit = String(Math.min(wanted - messages.length, PAGE_ROWS_MAX));
    const from: [string, string][] = next === null ? [] : [["cursor", next]];
    const query = Object.fromEntries([...given, ["limit", limit], ...from]);
    const page: MessagePage = await call(at.listMessages, { query, signal });
    messages.push(...page.messages);
    next = page.next;
  } while (next !== null && messages.length < wanted);
  return { messages, more: next !== null };
}
