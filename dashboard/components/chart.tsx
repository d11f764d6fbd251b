/** A line chart with its legend, and the same figures as a table. */

import { useState } from "preact/hooks";
import {
  type ChartData,
  type Line,
  type Run,
  runsOf,
  type Scale,
  scaleOf,
  type Value,
} from "./chart_scale.ts";

interface LineChartProps {
  readonly title: string;
  readonly data: ChartData;
  /** A value as text, with its unit. */
  readonly format: (value: number) => string;
  /** True if values differ by orders of magnitude. */
  readonly wide?: boolean;
}

const TICK_S = 15 * 60;

export function LineChart(props: LineChartProps) {
  const { title, data, format } = props;
  const [pointed, point] = useState<number>();
  const shown = pointed ?? lastKnown(data);
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
      <Plot {...props} pointed={pointed} point={point} />
      <AsTable {...props} />
    </figure>
  );
}

interface PlotProps extends LineChartProps {
  /** The index of the time under the pointer. */
  readonly pointed: number | undefined;
  readonly point: (index: number | undefined) => void;
}

/** The lines are drawn in a box whose width is the number of minutes, stretched to its place. */
function Plot({ data: { times, lines }, format, wide = false, pointed, point }: PlotProps) {
  const last = Math.max(1, times.length - 1);
  const scale = scaleOf(lines.flatMap(({ values }) => values), wide);
  const move = (event: PointerEvent & { readonly currentTarget: Element }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const index = Math.round((event.clientX - left) / width * last);
    point(Math.min(last, Math.max(0, index)));
  };
  const xOf = (index: number) => `${100 * index / last}%`;
  return (
    <svg
      class="chart-plot"
      aria-hidden="true"
      onPointerMove={move}
      onPointerLeave={() => point(undefined)}
    >
      {scale.ticks.map((value) => {
        const y = `${100 * scale.toY(value)}%`;
        return (
          <g key={value}>
            <line x2="100%" y1={y} y2={y} />
            <text x="-8" y={y} dy="4" text-anchor="end">{format(value)}</text>
          </g>
        );
      })}
      {times.map((time, index) =>
        time % TICK_S === 0 && (
          <g key={time}>
            <line x1={xOf(index)} x2={xOf(index)} y2="100%" />
            <text x={xOf(index)} y="100%" dy="18" text-anchor="middle">{clockText(time)}</text>
          </g>
        )
      )}
      {pointed !== undefined && (
        <line class="chart-cursor" x1={xOf(pointed)} x2={xOf(pointed)} y2="100%" />
      )}
      <svg width="100%" height="100%" viewBox={`0 0 ${last} 1`} preserveAspectRatio="none">
        {lines.map((line) => (
          <LinePath key={line.label} line={line} toY={scale.toY} pointed={pointed} />
        ))}
      </svg>
    </svg>
  );
}

interface LinePathProps {
  readonly line: Line;
  readonly toY: Scale["toY"];
  readonly pointed: number | undefined;
}

/** A line, the area below it, and dots: where it is pointed at, and for values between gaps. */
function LinePath({ line: { colour, values, filled = false }, toY, pointed }: LinePathProps) {
  const runs = runsOf(values, toY);
  const dots = runs.flatMap((run) =>
    run.filter(([at]) => run.length === 1 || at === pointed).map(([at, y]) => `M${at} ${y}h0`)
  );
  const tone = `var(${colour})`;
  return (
    <>
      {filled && <path class="chart-area" d={runs.map(areaPath).join("")} fill={tone} />}
      <path d={runs.map(linePath).join("")} stroke={tone} fill="none" />
      <path class="chart-dots" d={dots.join("")} stroke={tone} />
    </>
  );
}

const linePath = (run: Run) => `M${run.map(([at, y]) => `${at} ${y}`).join("L")}`;

const areaPath = (run: Run) => `${linePath(run)}L${run.at(-1)?.[0]} 1H${run[0]?.[0]}Z`;

/** The last minute with a value in any line. */
function lastKnown({ times, lines }: ChartData): number | undefined {
  const known = times.findLastIndex((_, at) =>
    lines.some(({ values }) => (values[at] ?? null) !== null)
  );
  return known < 0 ? undefined : known;
}

function valueText(
  values: readonly Value[],
  index: number | undefined,
  format: (value: number) => string,
): string {
  const value = index === undefined ? null : values[index];
  return value === null || value === undefined ? "–" : format(value);
}

function clockText(seconds: number): string {
  const time = { hour: "2-digit", minute: "2-digit" } as const;
  return new Date(seconds * 1000).toLocaleTimeString("en-GB", time);
}

const minuteText = (seconds: number) => `at ${clockText(seconds)}`;

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
                    <th scope="row">{clockText(time)}</th>
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
