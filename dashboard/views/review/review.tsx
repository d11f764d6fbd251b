/** Review: the changes that are ready, in order, and beside the list the chosen one. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { counted } from "protocol/reviews/order.ts";
import { Choices, Empty, ResourceView, State } from "../../components/basics.tsx";
import { AgentMark } from "../../components/icons/icon.tsx";
import { Counts } from "../../components/counts.tsx";
import { visible } from "../../components/text/visible.tsx";
import { hasTwoPanes } from "../../state/browser/width.ts";
import { hasOtherMachines } from "../../state/network.ts";
import { useResource } from "../../state/resource.ts";
import { filter, go, link, route } from "../../state/router.ts";
import { notify } from "../../state/store.ts";
import { Batch, type Marks } from "./batch.tsx";
import { ReviewDetail } from "./detail.tsx";
import { type Desk, type Entry, loadDesk, loadElsewhere, type Unread } from "./entries.ts";
import { Landing } from "./landing.tsx";

const TOPICS = ["reviews", "asks", "jobs", "turns"] as const;
/** The shortest time between two loads of the reviews of other machines. */
const ELSEWHERE_MS = 10_000;
/** The keys of this view; none of them does anything else while a review is loaded. */
const VIEW_KEYS = "a s c e n x A S";

export function Review() {
  const { id, query } = route.value;
  const all = query.get("all") === "1";
  const resource = useResource(`reviews ${all}`, TOPICS, () => loadDesk(all), { kept: true });
  const others = hasOtherMachines.value;
  const far = useResource(
    `reviews elsewhere ${all} ${others}`,
    [...TOPICS, "machines"],
    async () => others ? await loadElsewhere(all) : undefined,
    { interval_ms: ELSEWHERE_MS },
  ).value.value;
  return (
    <ResourceView resource={resource}>
      {(own) => <Panes own={own} far={far} all={all} wanted={id || query.get("at") || ""} />}
    </ResourceView>
  );
}

function Panes(
  { own: { entries: ownEntries, unread, reading }, far, all, wanted }: {
    own: Desk;
    far: Desk | undefined;
    all: boolean;
    /** The key of a row, or the id of an author. */
    wanted: string;
  },
) {
  const entries = [...ownEntries, ...far?.entries ?? []];
  const isWide = hasTwoPanes.value;
  // The shown review stays although others come before it, or its folder has been read meanwhile.
  const last = useRef("");
  const isListed = (key: string) =>
    find(entries, key) !== undefined || unread.some(({ author }) => author.peer_id === key);
  const first = entries[0]?.key ?? unread[0]?.author.peer_id ?? "";
  const at = [wanted, ...(isWide ? [last.current, first] : [])].find(isListed) ?? "";
  last.current = at;
  const chosen = find(entries, at);
  return (
    <div class={isWide ? "panes" : "column stack loose"} data-view-keys={VIEW_KEYS}>
      {(isWide || at === "") && (
        <div class="stack">
          <List entries={entries} unread={unread} all={all} at={at} reading={reading} />
          {far?.left_out.map(({ machine, reason }) => (
            <p key={machine} class="hint">
              <bdi>{visible(machine)}</bdi>: {visible(reason)}
            </p>
          ))}
          <Landing isUseful={ownEntries.length + unread.length > 1} />
        </div>
      )}
      {at !== "" && (
        <section class={isWide ? "pane" : ""} aria-label="The chosen review" data-pane>
          <ReviewDetail
            key={at}
            id={chosen && chosen.key === at ? chosen.review.review_id : at}
            machine={chosen?.machine}
            next={() => choose(nextOf(entries, unread, at), isWide)}
          />
        </section>
      )}
    </div>
  );
}

/** The review of a row; the id of an author finds one of this machine. */
function find(entries: readonly Entry[], at: string): Entry | undefined {
  return entries.find(({ key }) => key === at) ??
    entries.find(({ machine, review }) => machine === undefined && review.author.peer_id === at);
}

/** The key of the next review that is ready, or that is still to be read; empty for the list. */
function nextOf(entries: readonly Entry[], unread: readonly Unread[], at: string): string {
  const chosen = find(entries, at);
  const index = entries.findIndex((entry) => entry === chosen);
  const others = [...entries.slice(index + 1), ...entries.slice(0, Math.max(0, index))];
  return others.find(({ review }) => review.state === "ready")?.key ??
    unread.find(({ author }) => author.peer_id !== at)?.author.peer_id ?? "";
}

function choose(key: string, isWide: boolean): void {
  if (key === "") notify("Nothing else is ready to review");
  if (isWide) filter({ at: key });
  else go(link("review", key));
}

function List(
  { entries, unread, all, at, reading }: {
    entries: readonly Entry[];
    unread: readonly Unread[];
    all: boolean;
    at: string;
    reading: number;
  },
) {
  const [marks, setMarks] = useState<Marks>(new Map());
  const mark = (entry: Entry) => {
    const rest = [...marks].filter(([key]) => key !== entry.key);
    setMarks(new Map(marks.has(entry.key) ? rest : [...rest, [entry.key, entry]]));
  };
  const chosen = find(entries, at);
  return (
    <>
      <div class="toolbar">
        <Choices
          label="Which changes"
          chosen={all ? "all" : "ready"}
          choose={(next) => filter({ all: next === "all" ? "1" : "" })}
          options={[["ready", "Ready"], ["all", "All"]]}
        />
      </div>
      <Batch marks={marks} entries={entries} clear={() => setMarks(new Map())} />
      {entries.length + unread.length === 0 && (
        <Empty title="Nothing is ready to review" command="mesh review --all">
          Changes in the folder of an agent appear here once its turn has ended.
        </Empty>
      )}
      <ul class="list">
        {entries.map((entry) => (
          <ReviewRow
            key={entry.key}
            entry={entry}
            isChosen={entry === chosen}
            isMarked={marks.has(entry.key)}
            mark={() => mark(entry)}
          />
        ))}
        {unread.map(({ author, folder }) => (
          <Row
            key={author.peer_id}
            to={author.peer_id}
            author={author}
            isChosen={author.peer_id === at}
          >
            <span class="row-title clip" dir="auto">{visible(folder)}</span>
            <span class="row-title clip hint">Not read yet</span>
          </Row>
        ))}
      </ul>
      {reading > 0 && <p class="hint" role="status">Reading {counted(reading, "folder")}…</p>}
    </>
  );
}

function ReviewRow(
  { entry, isChosen, isMarked, mark }: {
    entry: Entry;
    isChosen: boolean;
    isMarked: boolean;
    mark: () => void;
  },
) {
  const { key, machine, review } = entry;
  const { author, rank, task, state, decision, joined, added, removed, is_due } = review;
  const isReady = state === "ready";
  return (
    <Row
      to={key}
      machine={machine}
      author={author}
      isChosen={isChosen}
      mark={isReady ? { isMarked, mark } : undefined}
    >
      {!isReady && <State of={state} tone={state === "accepted" ? "good" : "calm"} />}
      {decision?.kind === "accepted" && !decision.is_current && (
        <State of="changed since accepted" tone="warn" />
      )}
      {joined.length > 0 && <span class="chip">shares files</span>}
      <span class="grow" />
      <Counts text={`+${added} −${removed}`} />
      <span class="row-title clip" dir="auto">{visible(task?.title ?? review.folder)}</span>
      <span class="row-title clip hint">
        {is_due ? `Reading again. ${rank.words}` : rank.words}
      </span>
    </Row>
  );
}

/** A row of the list; without `mark`, it cannot be marked. */
function Row(
  { to, machine, author, isChosen, mark, children }: {
    to: string;
    machine?: string | undefined;
    author: Unread["author"];
    isChosen: boolean;
    mark?: { readonly isMarked: boolean; readonly mark: () => void } | undefined;
    children: ComponentChildren;
  },
) {
  const isWide = hasTwoPanes.value;
  return (
    <li class="row review-row">
      <input
        type="checkbox"
        aria-label={`Mark ${author.name}`}
        checked={mark?.isMarked ?? false}
        disabled={!mark}
        data-view-key={isChosen ? "x" : undefined}
        onClick={() => mark?.mark()}
      />
      <a
        class="row list-row"
        data-row
        href={link("review", isWide ? "" : to, isWide ? { at: to } : {})}
        aria-current={isChosen ? "true" : undefined}
        onFocus={() => isWide && filter({ at: to })}
      >
        <AgentMark backend={author.backend} />
        <bdi class="who clip">
          {visible(machine === undefined ? author.name : `${author.name}@${machine}`)}
        </bdi>
        {children}
      </a>
    </li>
  );
}
