/** The last hour below the map: the scrubber, and the events up to the chosen moment. */

import { useMemo } from "preact/hooks";
import { Age } from "../../components/basics.tsx";
import { firstLine } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { HOUR_MS } from "./hour.ts";
import type { LogEvent, Message } from "../../state/records.ts";
import { sentenceOf } from "./members.ts";
import { SHAPES } from "./moving.ts";
import { countsOf, type Stage, type Step, stepsOf } from "./traffic.ts";

const BARS = 120;
const ROWS_MAX = 10;
const SECOND_MS = 1000;

/** `at` is the chosen moment; undefined while the map is live. */
export function Scrubber(
  { messages, end, at, choose }: {
    messages: readonly Message[];
    end: number;
    at: number | undefined;
    choose: (at: number | undefined) => void;
  },
) {
  const start = end - HOUR_MS;
  const counts = countsOf(messages, { from: start, to: end, parts: BARS });
  const max = Math.max(1, ...counts);
  const shown = at ?? end;
  const onInput = (event: Event) => {
    if (!(event.target instanceof HTMLInputElement)) return;
    const seconds = Number(event.target.value);
    choose(seconds >= HOUR_MS / SECOND_MS ? undefined : start + seconds * SECOND_MS);
  };
  return (
    <div class="scrubber cluster">
      <div class="grow">
        <svg viewBox={`0 0 ${BARS} 24`} preserveAspectRatio="none" aria-hidden="true">
          {counts.map((count, index) => {
            const height = count === 0 ? 0 : Math.max(2, 24 * Math.sqrt(count / max));
            return <rect key={index} x={index} y={24 - height} width={0.8} height={height} />;
          })}
        </svg>
        <input
          type="range"
          min={0}
          max={HOUR_MS / SECOND_MS}
          step={1}
          value={(shown - start) / SECOND_MS}
          aria-label="Moment of the last hour"
          aria-valuetext={at === undefined ? "now, live" : timeOf(at)}
          onInput={onInput}
        />
      </div>
      <span class="row">
        {at === undefined ? <strong>Live</strong> : (
          <>
            <strong>{timeOf(at)}</strong>
            <button type="button" onClick={() => choose(undefined)}>Back to live</button>
          </>
        )}
      </span>
    </div>
  );
}

interface Row {
  readonly key: string;
  readonly at: number;
  readonly stage: Stage | undefined;
  readonly who: string;
  readonly text: string;
}

/** The last events up to a moment, newest first. */
export function Happened(
  { messages, events, at }: {
    messages: readonly Message[];
    events: readonly LogEvent[];
    at: number;
  },
) {
  const steps = useMemo(() => stepsOf(messages), [messages]);
  const rows = [...lastUpTo(steps, at).map(rowOfStep), ...events.flatMap(rowOfEvent)]
    .filter((row) => row.at <= at)
    .sort((a, b) => a.at - b.at)
    .slice(-ROWS_MAX)
    .reverse();
  if (rows.length === 0) return <p class="hint">Nothing happened in the hour before.</p>;
  return (
    <ol class="happened" aria-label="What happened, newest first">
      {rows.map(({ key, at, stage, who, text }) => (
        <li key={key} class="row list-row">
          <time dateTime={new Date(at).toISOString()}>{timeOf(at)}</time>
          <span class="stage">
            {stage && <Sign stage={stage} />}
            {stage ?? "event"}
          </span>
          <span class="first clip grow" dir="auto">
            {who && (
              <>
                <bdi class="who">{visible(who)}</bdi>
                {" "}
              </>
            )}
            <span class="replied">{text}</span>
          </span>
          <Age at={new Date(at).toISOString()} />
        </li>
      ))}
    </ol>
  );
}

/** The last steps up to a moment; the steps are in order. */
function lastUpTo(steps: readonly Step[], at: number): readonly Step[] {
  const end = steps.findLastIndex((step) => step.at <= at) + 1;
  return steps.slice(Math.max(0, end - ROWS_MAX), end);
}

/** The shape of a stage, as on the map. */
export function Sign({ stage }: { stage: Stage }) {
  return (
    <svg class="sign" viewBox="-8 -8 16 16" aria-hidden="true">
      <path class={`token ${stage}`} d={SHAPES[stage]} />
    </svg>
  );
}

function rowOfStep({ at, stage, message }: Step): Row {
  const { delivery_id, from_peer_name, to_peer_name, kind, text } = message;
  return {
    key: `${delivery_id} ${stage}`,
    at,
    stage,
    who: `${from_peer_name} → ${to_peer_name}`,
    text: `${kind}: ${firstLine(text)}`,
  };
}

function rowOfEvent(event: LogEvent): Row[] {
  const text = sentenceOf(event);
  if (text === undefined) return [];
  const at = Date.parse(event.timestamp);
  return [{ key: `event ${event.id}`, at, stage: undefined, who: "", text }];
}

function timeOf(at: number): string {
  return new Date(at).toLocaleTimeString(undefined, { hour12: false });
}
