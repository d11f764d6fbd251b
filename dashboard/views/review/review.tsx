/** Review: the changes that are ready, in order, and beside the list the chosen one. */

import { useState } from "preact/hooks";
import * as at from "protocol/generated/endpoints.ts";
import { counted } from "protocol/reviews/order.ts";
import { Choices, Empty, ResourceView, State } from "../../components/basics.tsx";
import { AgentMark } from "../../components/icons/icon.tsx";
import { Counts } from "../../components/counts.tsx";
import { visible } from "../../components/text/visible.tsx";
import { hasTwoPanes } from "../../state/browser/width.ts";
import { call, errorText } from "../../state/calls.ts";
import { hasOtherMachines } from "../../state/network.ts";
import { refreshTopics, useResource } from "../../state/resource.ts";
import { filter, go, link, route } from "../../state/router.ts";
import { notify } from "../../state/store.ts";
import { useRefusal } from "../peer/interrupt.tsx";
import { Acting } from "./acting.tsx";
import { ReviewDetail } from "./detail.tsx";
import { type Entry, loadDesk, loadElsewhere } from "./entries.ts";
import { Landing } from "./landing.tsx";

const TOPICS = ["reviews", "asks", "jobs", "turns"] as const;
/** The shortest time between two loads of the list. */
const INTERVAL_MS = 1_000;

export function Review() {
  const { id, query } = route.value;
  const all = query.get("all") === "1";
  const options = { interval_ms: INTERVAL_MS, kept: true };
  const resource = useResource(`reviews ${all}`, TOPICS, () => loadDesk(all), options);
  const others = hasOtherMachines.value;
  const far = useResource(
    `reviews elsewhere ${all} ${others}`,
    [...TOPICS, "machines"],
    async () => others ? await loadElsewhere(all) : undefined,
    { interval_ms: 10 * INTERVAL_MS },
  ).value.value;
  return (
    <ResourceView resource={resource}>
      {({ entries: own, reading }) => {
        const entries = [...own, ...far?.entries ?? []];
        const isWide = hasTwoPanes.value;
        const at = id || query.get("at") || "";
        const chosen = entries.find(({ key }) => key === at) ?? (isWide ? entries[0] : undefined);
        return (
          <div class={isWide ? "panes" : "column stack loose"}>
            {(isWide || !chosen) && (
              <div class="stack">
                <List entries={entries} all={all} chosen={chosen} reading={reading} />
                {far?.left_out.map(({ machine, reason }) => (
                  <p key={machine} class="hint">
                    <bdi>{visible(machine)}</bdi>: {visible(reason)}
                  </p>
                ))}
                <Landing isUseful={own.length > 1} />
              </div>
            )}
            {chosen && (
              <section class={isWide ? "pane" : ""} aria-label="The chosen review" data-pane>
                <ReviewDetail
                  key={chosen.key}
                  entry={chosen}
                  next={() =>
                    choose(nextOf(entries, chosen), isWide)}
                />
              </section>
            )}
          </div>
        );
      }}
    </ResourceView>
  );
}

/** The next one that is ready, or the list. */
function nextOf(entries: readonly Entry[], chosen: Entry): Entry | undefined {
  const index = entries.findIndex(({ key }) => key === chosen.key);
  return [...entries.slice(index + 1), ...entries.slice(0, index)]
    .find(({ review }) => review.state === "ready");
}

function choose(entry: Entry | undefined, isWide: boolean): void {
  if (!entry) notify("Nothing else is ready to review");
  if (isWide) filter({ at: entry?.key ?? "" });
  else go(link("review", entry?.key ?? ""));
}

function List(
  { entries, all, chosen, reading }: {
    entries: readonly Entry[];
    all: boolean;
    chosen: Entry | undefined;
    reading: number;
  },
) {
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const shown = entries.filter(({ key }) => marked.has(key));
  const mark = (key: string) => setMarked(marked.symmetricDifference(new Set([key])));
  return (
    <>
      <div class="toolbar">
        <Choices
          label="Which changes"
          chosen={all ? "all" : "ready"}
          choose={(next) => filter({ all: next === "all" ? "1" : "" })}
          options={[["ready", "Ready"], ["all", "All"]]}
        />
        {shown.length > 0 && (
          <Acting
            refusal={useRefusal()}
            run={() => acceptAll(shown, () => setMarked(new Set()))}
          >
            Accept {shown.length} marked
          </Acting>
        )}
      </div>
      {entries.length === 0 && (
        <Empty title="Nothing is ready to review" command="mesh review --all">
          Changes in the folder of an agent appear here once its turn has ended.
        </Empty>
      )}
      <ul class="list">
        {entries.map((entry) => (
          <Row
            key={entry.key}
            entry={entry}
            isChosen={entry === chosen}
            isMarked={marked.has(entry.key)}
            mark={() => mark(entry.key)}
          />
        ))}
      </ul>
      {reading > 0 && <p class="hint" role="status">Reading {counted(reading, "folder")}…</p>}
    </>
  );
}

async function acceptAll(entries: readonly Entry[], done: () => void): Promise<void> {
  const reasons: string[] = [];
  for (const [machine, of] of Map.groupBy(entries, ({ machine }) => machine)) {
    const reviews = of.map(({ review: { review_id: id, digest } }) => ({
      id,
      ...(digest !== null && { digest }),
    }));
    try {
      const { results } = await call(at.acceptReviews, { body: { reviews, machine } });
      reasons.push(...results.flatMap(({ accepted, detail }) => accepted ? [] : detail ?? ""));
    } catch (error) {
      reasons.push(errorText(error));
    }
  }
  done();
  refreshTopics(["reviews"]);
  const [reason] = reasons;
  notify(
    reason === undefined
      ? `Accepted ${entries.length}; nothing was merged or pushed`
      : `Not accepted: ${reasons.length} of ${entries.length}. ${reason}`,
  );
}

function Row(
  { entry, isChosen, isMarked, mark }: {
    entry: Entry;
    isChosen: boolean;
    isMarked: boolean;
    mark: () => void;
  },
) {
  const { key, machine, review } = entry;
  const { author, rank, task, state, decision, joined, added, removed } = review;
  const isWide = hasTwoPanes.value;
  const isReady = state === "ready";
  return (
    <li class="row review-row">
      <input
        type="checkbox"
        aria-label={`Mark ${author.name}`}
        checked={isMarked}
        disabled={!isReady}
        data-view-key={isChosen ? "x" : undefined}
        onClick={mark}
      />
      <a
        class="row list-row"
        data-row
        href={link("review", isWide ? "" : key, isWide ? { at: key } : {})}
        aria-current={isChosen ? "true" : undefined}
        onFocus={() => isWide && filter({ at: key })}
      >
        <AgentMark backend={author.backend} />
        <bdi class="who clip">
          {visible(machine === undefined ? author.name : `${author.name}@${machine}`)}
        </bdi>
        {!isReady && <State of={state} tone={state === "accepted" ? "good" : "calm"} />}
        {decision?.kind === "accepted" && !decision.is_current && (
          <State of="changed since accepted" tone="warn" />
        )}
        {joined.length > 0 && <span class="chip">shares files</span>}
        <span class="grow" />
        <Counts text={`+${added} −${removed}`} />
        <span class="row-title clip" dir="auto">{visible(task?.title ?? review.folder)}</span>
        <span class="row-title clip hint">{rank.words}</span>
      </a>
    </li>
  );
}
