/** Timeline: what an agent did, one row for each tool call, live while it works. */

import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { FoldRow } from "../../components/act/fold_row.tsx";
import { type TimelineCall, type TimelineRow, toTimeline } from "protocol/derived/timeline.ts";
import { useFold } from "../../components/act/folds.ts";
import { Steady } from "../../components/act/steady_content.tsx";
import { Act, Clock, Empty, ResourceView, State } from "../../components/basics.tsx";
import { Markdown } from "../../components/markdown.tsx";
import { visible } from "../../components/text/visible.tsx";
import { RELAYED } from "../../state/calls.ts";
import type { Peer } from "../../state/records.ts";
import { isRemote } from "../../state/remote.ts";
import { only, useResource } from "../../state/resource.ts";
import { type LoadedTranscript, loadTranscript } from "./transcript.ts";

/** Entries of one load, and of all pages that are kept. */
const PAGE = 200;
const ENTRIES_MAX = 4_000;
/** The interval while the agent works: no event announces a tool call. */
const WORKING_MS = 2_000;
/** A reader this close to the end sees new rows as they arrive. */
const NEAR_END_PX = 120;

function useSession(peer: Peer) {
  const { peer_id } = peer;
  /** All that was loaded when the reader last asked for earlier entries. */
  const kept = useRef<LoadedTranscript>({});
  const load = async (signal: AbortSignal): Promise<LoadedTranscript> =>
    joined(kept.current, await loadTranscript(peer, { last: PAGE }, signal));
  const resource = only(useResource(`timeline ${peer_id}`, ["turns"], load), [peer_id]);
  const isWorking = peer.turn_state === "working" && peer.status !== "offline";
  useEffect(() => {
    if (!isWorking) return;
    const timer = setInterval(() => document.hidden || resource.refresh(), WORKING_MS);
    return () => clearInterval(timer);
  }, [isWorking, resource]);
  const loadEarlier = async () => {
    const shown = resource.value.peek();
    if (!shown || typeof shown.before !== "number") return;
    const page = await loadTranscript(peer, { last: PAGE, before: shown.before });
    const entries = [...page.entries ?? [], ...shown.entries ?? []];
    kept.current = { ...page, entries };
    resource.value.value = kept.current;
  };
  return { resource, isWorking, loadEarlier };
}

/** The newest page behind the kept entries; alone if it does not continue them. */
function joined(kept: LoadedTranscript, page: LoadedTranscript): LoadedTranscript {
  const [first] = page.entries ?? [];
  const at =
    kept.entries?.findIndex(({ position, text }) =>
      position === first?.position && text === first.text
    ) ?? -1;
  if (at < 0) return page;
  return { ...kept, entries: [...kept.entries?.slice(0, at) ?? [], ...page.entries ?? []] };
}

export function Timeline({ peer }: { peer: Peer }) {
  const { resource, isWorking, loadEarlier } = useSession(peer);
  const { box, onScroll } = useEnd(resource.value.value);
  return (
    <div
      class="scroll-area session-timeline"
      ref={box}
      onScroll={onScroll}
      tabIndex={0}
      role="region"
      aria-label="Timeline"
    >
      <ResourceView resource={resource}>
        {(loaded) => (
          <Rows
            peer={peer}
            loaded={loaded}
            isWorking={isWorking}
            loadEarlier={loadEarlier}
          />
        )}
      </ResourceView>
    </div>
  );
}

function Rows(
  { peer, loaded, isWorking, loadEarlier }: {
    peer: Peer;
    loaded: LoadedTranscript;
    isWorking: boolean;
    loadEarlier: () => Promise<void>;
  },
) {
  const { entries = [], before = null, cut, note, refusal } = loaded;
  const rows = useMemo(() => toTimeline(entries, { isWorking }), [entries, isWorking]);
  if (rows.length === 0) return <NoRows peer={peer} why={note ?? WHY[refusal ?? ""]} />;
  const is_full = entries.length >= ENTRIES_MAX;
  return (
    <>
      {before !== null && !is_full && <Act run={loadEarlier} class="quiet">Earlier</Act>}
      {(cut || is_full) && (
        <p class="hint">
          Earlier entries are not shown here. Read them with{" "}
          <code>mesh transcript {visible(peer.name)} --before {entries[0]?.position}</code>.
        </p>
      )}
      <ol class="timeline-rows stack tight">
        {rows.map((row) => (
          <li key={row.key} class={`timeline-${row.kind}`}>
            <Steady of={[signatureOf(row)]}>
              {() => <Row row={row} peer_id={peer.peer_id} />}
            </Steady>
          </li>
        ))}
      </ol>
    </>
  );
}

/** Equal for rows that are shown alike: an entry does not change once it is recorded. */
function signatureOf(row: TimelineRow): string {
  if (row.kind === "call") return callSignature(row.call);
  return row.kind === "reads" ? row.calls.map(callSignature).join(" ") : String(row.key);
}

function callSignature({ key, state, result }: TimelineCall): string {
  return `${key} ${state} ${result?.position}`;
}

const WHY: Readonly<Record<string, string>> = {
  no_transcript: "This kind of program keeps no record of its session that mesh can read, or its " +
    "session has not begun.",
};

function NoRows({ peer, why }: { peer: Peer; why: string | undefined }) {
  if (RELAYED || isRemote(peer)) {
    return (
      <Empty title="Shown on its own machine only">
        No part of a session passes a relay or goes to another machine. Open the dashboard there.
      </Empty>
    );
  }
  return (
    <Empty title="Nothing to show yet">
      {why ?? "Each prompt, text and tool call of the agent appears here while it works."}
    </Empty>
  );
}

function Row({ row, peer_id }: { row: TimelineRow; peer_id: string }) {
  if (row.kind === "call") return <CallRow call={row.call} peer_id={peer_id} />;
  if (row.kind === "reads") return <ReadsRow row={row} peer_id={peer_id} />;
  const { entry: { at, text, chars }, kind } = row;
  return (
    <div class="timeline-said rail" data-row tabIndex={-1}>
      <header>
        <span class="kind hint">{kind === "prompt" ? "prompt" : "said"}</span>
        {at !== null && <Clock at={at} />}
      </header>
      <Markdown text={text} />
      {chars > text.length && <Shortened />}
    </div>
  );
}

function ReadsRow(
  { row: { key, title, calls, duration_ms }, peer_id }: {
    row: Extract<TimelineRow, { kind: "reads" }>;
    peer_id: string;
  },
) {
  const [open, turn] = useFold(`timeline/${peer_id}/reads ${key}`, false);
  return (
    <>
      <FoldRow open={open} turn={turn}>
        <span class="tool">{title}</span>
        <span class="argument" dir="auto">
          {visible(calls.map(({ argument }) => argument).filter(Boolean).join(", "))}
        </span>
        <Duration ms={duration_ms} />
      </FoldRow>
      {open && (
        <ol class="timeline-rows stack tight">
          {calls.map((call) => (
            <li key={call.key}>
              <CallRow call={call} peer_id={peer_id} />
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

const TONES = {
  running: "busy",
  ok: "good",
  failed: "bad",
  denied: "warn",
  interrupted: "warn",
  ended: "calm",
} as const;

function CallRow({ call, peer_id }: { call: TimelineCall; peer_id: string }) {
  const { key, tool, argument, state, at, duration_ms } = call;
  const [open, turn] = useFold(`timeline/${peer_id}/${key}`, false);
  return (
    <>
      <FoldRow open={open} turn={turn}>
        {at !== null && <Clock at={at} />}
        <bdi class="tool">{visible(tool)}</bdi>
        <span class="argument" dir="auto">{visible(argument)}</span>
        <State of={state === "ended" ? "no result" : state} tone={TONES[state]} />
        <Duration ms={duration_ms} />
      </FoldRow>
      {open && <CallDetail call={call} />}
    </>
  );
}

function CallDetail({ call: { input, result, state } }: { call: TimelineCall }) {
  return (
    <div class="timeline-detail rail">
      {input && <Recorded title="Input" entry={input} />}
      {result && result.text !== "" && <Recorded title="Result" entry={result} />}
      {result?.text === "" && <p class="hint">It returned nothing.</p>}
      {state === "ended" && <p class="hint">No result is recorded: its turn ended before.</p>}
    </div>
  );
}

function Recorded(
  { title, entry: { text, chars } }: { title: string; entry: { text: string; chars: number } },
) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <pre class="details inset" tabIndex={0} role="region" aria-label={title}>{visible(text)}</pre>
      {chars > text.length && <Shortened />}
    </section>
  );
}

function Shortened() {
  return <p class="hint">Shortened here; the agent's session file has it in full.</p>;
}

/** Shown only where the agent has recorded the times. */
function Duration({ ms }: { ms: number | null }) {
  return <span class="duration hint">{ms === null ? "" : durationText(ms)}</span>;
}

const SECOND_MS = 1000, MINUTE_MS = 60_000;

/** Such as `40 ms`, `1.2 s`, `3 min 5 s`. */
function durationText(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / SECOND_MS).toFixed(1)} s`;
  const seconds = Math.round(ms / SECOND_MS);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Keeps the end in sight while the reader is near it. */
function useEnd(content: unknown) {
  const box = useRef<HTMLDivElement>(null);
  const at_end = useRef(true);
  useLayoutEffect(() => {
    const { current } = box;
    if (current && at_end.current) current.scrollTop = current.scrollHeight;
  }, [content]);
  const onScroll = ({ currentTarget: at }: { currentTarget: HTMLDivElement }) => {
    at_end.current = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR_END_PX;
  };
  return { box, onScroll };
}
