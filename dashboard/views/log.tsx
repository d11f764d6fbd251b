/** Log: all messages that match the filters, live, grouped by thread. */

import * as at from "protocol/generated/endpoints.ts";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { SearchField } from "../components/act/search_field.tsx";
import { Steady } from "../components/act/steady_content.tsx";
import { Empty, Failed, ResourceView } from "../components/basics.tsx";
import { useResource } from "../state/resource.ts";
import { filter, route } from "../state/router.ts";
import { livePeers } from "../state/store.ts";
import { ThreadRow } from "./log_thread_row.tsx";
import { hold, type Thread, toThreads } from "./log_threads.ts";
import { call } from "../state/calls.ts";
import type { Message, MessagePage } from "../state/records.ts";

const PAGE = 60;
const SHOWN_MAX = 1920;
/** The reader has scrolled once the list is this far from its top. */
const SCROLLED_PX = 40;

const KINDS = ["ask", "notify", "broadcast", "ack", "inbox_item"];
const STATES = [
  ["open", "ask open"],
  ["closed", "ask closed"],
  ...["queued", "attempting", "sent", "accepted", "seen", "failed", "expired", "dropped"]
    .map((state) => [state, state] as const),
] as const;

export function Log() {
  const filters = filtersOf(route.value.query);
  return (
    <>
      <LogFilters filters={filters} />
      <Results filters={filters} />
    </>
  );
}

function LogFilters({ filters }: { filters: Filters }) {
  const set = (name: keyof Filters) => (value: string) => filter({ [name]: value });
  const circles = [...new Set(livePeers.value.map(({ circle }) => circle))].sort();
  const is_filtered = FILTERS.some((name) => filters[name] !== "");
  return (
    <div class="toolbar log-tools" role="search" aria-label="Filter the log">
      <SearchField
        label="Search all messages"
        placeholder='Search all messages: words, "a phrase", prefix*'
        value={filters.q}
        search={set("q")}
      />
      <SearchField
        class="narrow"
        label="Sender or recipient"
        placeholder="peer"
        list="log-peers"
        is_main={false}
        value={filters.peer}
        search={set("peer")}
      />
      <datalist id="log-peers">
        {livePeers.value.map(({ peer_id, name }) => <option key={peer_id} value={name} />)}
      </datalist>
      <Select label="Circle" all="all circles" value={filters.circle} choose={set("circle")}>
        {circles.map((circle) => <option key={circle} value={circle}>{circle}</option>)}
      </Select>
      <Select label="Kind" all="all kinds" value={filters.kind} choose={set("kind")}>
        {KINDS.map((kind) => <option key={kind} value={kind}>{kind.replace("_", " ")}</option>)}
      </Select>
      <Select label="State" all="all states" value={filters.state} choose={set("state")}>
        {STATES.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </Select>
      {is_filtered && (
        <button
          type="button"
          class="quiet"
          onClick={() => filter(Object.fromEntries(FILTERS.map((name) => [name, ""])))}
        >
          Clear
        </button>
      )}
    </div>
  );
}

function Select(
  { label, all, value, choose, children }: {
    label: string;
    all: string;
    value: string;
    choose: (value: string) => void;
    children: ComponentChildren;
  },
) {
  return (
    <select
      class="narrow"
      aria-label={label}
      value={value}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      <option value="">{all}</option>
      {children}
    </select>
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
  const is_filtered = FILTERS.some((name) => filters[name] !== "");
  return (
    <>
      {error !== undefined && <Failed error={error} retry={resource.refresh} />}
      {messages.length === 0 && (
        <Empty title={is_filtered ? "Nothing found" : "No messages yet"}>
          {is_filtered ? "Use fewer words, or another filter." : "They appear here live."}
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
      <ul class="log">
        {shown.map((thread) => (
          <Steady key={thread.id} of={[thread.first, ...thread.rest]}>
            {() => <ThreadRow thread={thread} />}
          </Steady>
        ))}
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

const FILTERS = ["q", "peer", "circle", "kind", "state"] as const;
type Filters = Readonly<Record<typeof FILTERS[number], string>>;

const PAGE_ROWS_MAX = 500;

interface FoundMessages {
  readonly messages: readonly Message[];
  /** True if older messages match, too. */
  readonly more: boolean;
}

function filtersOf(query: URLSearchParams): Filters {
  const valueOf = (name: string) => query.get(name) ?? "";
  return {
    q: valueOf("q"),
    peer: valueOf("peer"),
    circle: valueOf("circle"),
    kind: valueOf("kind"),
    state: valueOf("state"),
  };
}

/** The newest `wanted` messages that match. */
async function loadMessages(
  filters: Filters,
  wanted: number,
  signal: AbortSignal,
): Promise<FoundMessages> {
  const given = Object.entries(filters).filter(([, value]) => value.trim() !== "");
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
