/** Durations as people write them (`10m`, `90 min`, `1h30m`, `2d`), and constants for them. */

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

// deno-fmt-ignore
const UNITS: readonly (readonly [names: readonly string[], ms: number])[] = [
  [["w", "week", "weeks"],                             7 * DAY_MS],
  [["d", "day", "days"],                               DAY_MS    ],
  [["h", "hr", "hrs", "hour", "hours"],                HOUR_MS   ],
  [["m", "min", "mins", "minute", "minutes"],          MINUTE_MS ],
  [["s", "sec", "secs", "second", "seconds"],          1000      ],
];
const MS_BY_NAME = new Map(
  UNITS.flatMap(([names, ms]) => names.map((name) => [name, ms] as const)),
);

/** The milliseconds; undefined for an invalid text. Each unit may occur once, larger ones first. */
export function parseDuration(text: string): number | undefined {
  const lower = text.toLowerCase();
  if (!/^(?:\d{1,9}\s*[a-z]+\s*)+$/.test(lower)) return undefined;
  let total = 0, last = Infinity;
  for (const [, count, name = ""] of lower.matchAll(/(?<!\d)(\d+)\s*([a-z]+)/g)) {
    const unit = MS_BY_NAME.get(name);
    if (unit === undefined || unit >= last) return undefined;
    total += Number(count) * unit;
    last = unit;
  }
  return total;
}

/** As `parseDuration`, but the text may begin with `in`, as in `in 2h`. */
export function parseFromNow(text: string): number | undefined {
  const spanText = /^(?:in\s+)?(\d.*)$/i.exec(text)?.[1];
  return spanText === undefined ? undefined : parseDuration(spanText);
}

const SHOWN_UNITS = [
  { ms: DAY_MS, unit: "d" },
  { ms: HOUR_MS, unit: "h" },
  { ms: MINUTE_MS, unit: "m" },
  { ms: 1_000, unit: "s" },
] as const;

/** Formats a duration in the largest unit that fits, such as `3m`, as options take it. */
export function formatDuration(ms: number): string {
  const step = SHOWN_UNITS.find((step) => ms >= step.ms);
  return step ? `${Math.floor(ms / step.ms)}${step.unit}` : "now";
}
