/** The figures of the last hour as lines of charts: one value for each minute. */

import type { ChartData } from "../components/chart_scale.ts";
import type { Figures } from "../state/records.ts";

const MINUTE_MS = 60_000;
const MINUTES = 60;

type Minute = Figures["minutes"][number];

interface HourCharts {
  readonly times: ChartData;
  readonly throughput: ChartData;
  readonly queue: ChartData;
}

/** The hour that ends with the minute of `now`, in milliseconds. */
export function chartsOf({ minutes, started_at }: Figures, now: number): HourCharts {
  const last = Math.floor(now / MINUTE_MS);
  const numbers = Array.from({ length: MINUTES }, (_, index) => last - MINUTES + 1 + index);
  const known = new Map(minutes.map((minute) => [Date.parse(minute.at) / MINUTE_MS, minute]));
  const first = Math.floor(Date.parse(started_at) / MINUTE_MS);
  const times = numbers.map((number) => number * MINUTE_MS / 1000);
  const values = (of: (minute: Minute) => number | null | undefined) =>
    numbers.map((number) => {
      const minute = known.get(number);
      return minute ? of(minute) ?? null : null;
    });
  /** A quiet minute has no record, and minutes before the start are unknown. */
  const counts = (of: (minute: Minute) => number) =>
    numbers.map((number) => {
      const minute = known.get(number);
      return minute ? of(minute) : number < first ? null : 0;
    });
  return {
    times: {
      times,
      lines: [
        { label: "sent p50", colour: "--busy", values: values(({ sent_ms }) => sent_ms?.p50) },
        { label: "sent p99", colour: "--warn", values: values(({ sent_ms }) => sent_ms?.p99) },
        { label: "seen p50", colour: "--good", values: values(({ seen_ms }) => seen_ms?.p50) },
        { label: "seen p99", colour: "--bad", values: values(({ seen_ms }) => seen_ms?.p99) },
      ],
    },
    throughput: {
      times,
      lines: [
        { label: "sent", colour: "--busy", values: counts(({ sent }) => sent), filled: true },
        { label: "seen", colour: "--good", values: counts(({ seen }) => seen) },
        { label: "lost", colour: "--bad", values: counts(({ lost }) => lost) },
      ],
    },
    queue: {
      times,
      lines: [{
        label: "waiting",
        colour: "--warn",
        values: values(({ queued }) => queued),
        filled: true,
      }],
    },
  };
}

/** A time in its unit: `3 ms`, `1.2 s`, `4 min`. */
export function timeText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`;
  return ms < 3_600_000
    ? `${Math.round(ms / 60_000)} min`
    : `${Number((ms / 3_600_000).toFixed(1))} h`;
}

export function countText(count: number): string {
  return Number.isInteger(count) ? count.toLocaleString("en-US") : "";
}

export function bytesText(bytes: number): string {
  if (bytes < 1_048_576) return `${Math.round(bytes / 1024)} kB`;
  return bytes < 1_073_741_824
    ? `${(bytes / 1_048_576).toFixed(1)} MB`
    : `${(bytes / 1_073_741_824).toFixed(2)} GB`;
}
