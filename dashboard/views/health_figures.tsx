/** The figures of the last hour: delivery times, throughput, the queue, the database. */

import { useMemo } from "preact/hooks";
import { ResourceView } from "../components/basics.tsx";
import { LineChart } from "../components/chart.tsx";
import { call } from "../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Figures as FiguresRecord } from "../state/records.ts";
import { useResource } from "../state/resource.ts";
import { now } from "../state/store.ts";
import { bytesText, chartsOf, countText, timeText } from "./health_series.ts";

const MINUTE_MS = 60_000;
/** The shortest time between two loads: the charts show minutes. */
const INTERVAL_MS = 2000;

export function Figures() {
  const load = () => call(at.getFigures, {});
  const resource = useResource("figures", ["messages", "health"], load, {
    interval_ms: INTERVAL_MS,
    kept: true,
  });
  return (
    <section class="card figures" aria-labelledby="figures-title">
      <h2 id="figures-title">The last hour</h2>
      <ResourceView resource={resource}>{(figures) => <Charts figures={figures} />}</ResourceView>
    </section>
  );
}

function Charts({ figures }: { figures: FiguresRecord }) {
  const minute = Math.floor(now.value / MINUTE_MS) * MINUTE_MS;
  const { times, throughput, queue } = useMemo(() => chartsOf(figures, minute), [figures, minute]);
  return (
    <>
      <Numbers figures={figures} />
      <div class="tiles fit charts">
        <LineChart title="Time to sent and to seen" data={times} format={timeText} wide />
        <LineChart title="Messages a minute" data={throughput} format={countText} />
        <LineChart title="Messages that wait to be sent" data={queue} format={countText} />
      </div>
    </>
  );
}

function Numbers({ figures }: { figures: FiguresRecord }) {
  const { sent_ms, seen_ms, minutes, queued, database_bytes } = figures;
  const sum = (of: (minute: FiguresRecord["minutes"][number]) => number) =>
    minutes.reduce((total, minute) => total + of(minute), 0);
  const lost = sum((minute) => minute.lost);
  return (
    <dl class="numbers cluster">
      <Figure name="Sent" value={countText(sum(({ sent }) => sent))} />
      <Figure name="Seen" value={countText(sum(({ seen }) => seen))} />
      <Figure name="Lost" value={countText(lost)} bad={lost > 0} />
      <Figure name="To sent, p50 · p99" value={spreadText(sent_ms)} />
      <Figure name="To seen, p50 · p99" value={spreadText(seen_ms)} />
      <Figure name="Waiting now" value={countText(queued)} />
      <Figure name="Database" value={bytesText(database_bytes)} />
    </dl>
  );
}

function Figure({ name, value, bad = false }: { name: string; value: string; bad?: boolean }) {
  return (
    <div class={bad ? "bad" : ""}>
      <dt>{name}</dt>
      <dd class="tone">{value}</dd>
    </div>
  );
}

function spreadText(spread: FiguresRecord["sent_ms"]): string {
  return spread === null ? "–" : `${timeText(spread.p50)} · ${timeText(spread.p99)}`;
}
