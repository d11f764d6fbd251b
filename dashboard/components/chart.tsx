/** A line chart with its legend, and the same figures as a table. */

import { useEffect, useRef, useState } from "preact/hooks";
import type * as charts from "../parts/charts.ts";
import type { ChartData } from "../parts/chart_data.ts";
import { part } from "../state/parts.ts";
import { Failed } from "./basics.tsx";

const loadCharts = part<typeof charts>("charts");

interface LineChartProps {
  readonly title: string;
  readonly data: ChartData;
  readonly format: (value: number) => string;
  readonly wide?: boolean;
}

export function LineChart(props: LineChartProps) {
  const { title, data, format } = props;
  const { box, error, retry, index } = useChart(props);
  const shown = index ?? lastKnown(data);
  const time = shown === undefined ? undefined : data.times[shown];
  return (
    <figure class="chart">
      <figcaption class="cluster between">
        <strong>{title}</strong>
        <span class="cluster hint">
          {data.lines.map(({ label, colour, values }) => (
            <span key={label}>
              <svg class="chart-sample" viewBox="0 0 12 4" aria-hidden="true">
                <path d="M0 2H12" stroke={`var(${colour})`} stroke-width="2" />
              </svg>{" "}
              {label} <b>{valueText(values, shown, format)}</b>
            </span>
          ))}
          {time !== undefined && <span class="hint">{minuteText(time)}</span>}
        </span>
      </figcaption>
      {error !== undefined && <Failed error={error} retry={retry} />}
      <div class="chart-box" ref={box} aria-hidden="true" />
      <AsTable {...props} />
    </figure>
  );
}

/** Loads the charts, draws one, and keeps it up to date. */
function useChart({ data, format, wide = false }: LineChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<charts.Chart>(undefined);
  const latest = useRef(data);
  latest.current = data;
  const [error, setError] = useState<unknown>();
  const [attempt, setAttempt] = useState(0);
  const [index, setIndex] = useState<number | null>(null);
  useEffect(() => {
    let closed = false;
    setError(undefined);
    loadCharts().then(({ Chart }) => {
      if (closed || !box.current) return;
      chart.current = new Chart(box.current, latest.current, { format, wide, point: setIndex });
    }).catch(setError);
    return () => {
      closed = true;
      chart.current?.close();
      chart.current = undefined;
    };
  }, [attempt]);
  useEffect(() => chart.current?.update(data), [data]);
  return { box, error, retry: () => setAttempt(attempt + 1), index };
}

/** The last minute with a value in any line. */
function lastKnown({ times, lines }: ChartData): number | undefined {
  const known = times.findLastIndex((_, at) =>
    lines.some(({ values }) => (values[at] ?? null) !== null)
  );
  return known < 0 ? undefined : known;
}

function valueText(
  values: readonly (number | null)[],
  index: number | undefined,
  format: (value: number) => string,
): string {
  const value = index === undefined ? null : values[index];
  return value === null || value === undefined ? "–" : format(value);
}

function minuteText(seconds: number): string {
  const time = { hour: "2-digit", minute: "2-digit" } as const;
  return `at ${new Date(seconds * 1000).toLocaleTimeString("en-GB", time)}`;
}

/** The minutes with values, newest first. */
function AsTable({ title, data: { times, lines }, format }: LineChartProps) {
  const known = times.map((time, at) => ({ time, at }))
    .filter(({ at }) => lines.some(({ values }) => (values[at] ?? 0) !== 0))
    .reverse();
  return (
    <details class="chart-table">
      <summary>As a table</summary>
      {known.length === 0
        ? <p class="hint">Nothing was measured in the last hour.</p>
        : (
          <div class="scroll" tabIndex={0} role="region" aria-label={`${title} as a table`}>
            <table>
              <thead>
                <tr>
                  <th scope="col">Minute</th>
                  {lines.map(({ label }) => <th key={label} scope="col">{label}</th>)}
                </tr>
              </thead>
              <tbody>
                {known.map(({ time, at }) => (
                  <tr key={time}>
                    <th scope="row">{minuteText(time).replace("at ", "")}</th>
                    {lines.map(({ label, values }) => (
                      <td key={label}>{valueText(values, at, format)}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
    </details>
  );
}
