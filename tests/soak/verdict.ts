/** The bounds of a soak: what may grow, by how much, and why. */

import { lastingSlope, median, type Sample } from "./samples.ts";

export interface Row {
  readonly what: string;
  readonly begin: number;
  readonly end: number;
  readonly found: string;
  readonly allowed: string;
  readonly sound: boolean;
}

/**
 * A leaked record of a message takes 150 bytes or more: an object, its id and an entry of a map.
 * The tolerance is 50 bytes a message, 3.4 MB an hour at 20 messages a second, and 4 MB a run: the
 * heap after a collection moves by so much with the requests that are under way.
 */
const HEAP_BYTES_PER_MESSAGE = 50;
const HEAP_NOISE_MB = 4;
/** The allocator keeps pages for the largest load so far, which a longer run reaches later. */
const RESIDENT_NOISE_MB = 40;
const RESIDENT_BYTES_PER_MESSAGE = 200;
/** Allowed noise in a sample, for requests, timers and programs that are under way. */
const DESCRIPTORS_NOISE = 10;
const TIMERS_NOISE = 25;
const PROCESSES_NOISE = 1;
const PANES_NOISE = 2;
/** A row of messages with its indexes, words and an average text of 150 bytes; an event. */
const MESSAGE_BYTES_MAX = 2000;
const EVENT_BYTES_MAX = 700;
/** Retention passes once a minute: in a longer run the size rises and falls, and stays. */
const RETENTION_MS = 5 * 60_000;
const KEPT_GROWTH_MAX = 0.25;

/** Growth of the figures in the steady part. */
export function judge(samples: readonly Sample[], duration_ms: number): Row[] {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last) throw new Error("A soak without samples proves nothing");
  const messages = last.messages - first.messages;
  return [
    line("heap, MB", samples, (s) => s.heap_mb, {
      allowed: HEAP_NOISE_MB + HEAP_BYTES_PER_MESSAGE * messages / 2 ** 20,
    }),
    line("resident memory, MB", samples, (s) => s.resident_mb, {
      allowed: RESIDENT_NOISE_MB + RESIDENT_BYTES_PER_MESSAGE * messages / 2 ** 20,
    }),
    line("timers", samples, (s) => s.timers, { allowed: TIMERS_NOISE }),
    line("descriptors", samples, (s) => s.descriptors, { allowed: DESCRIPTORS_NOISE }),
    line("child processes", samples, (s) => s.children, { allowed: PROCESSES_NOISE }),
    line("panes", samples, (s) => s.panes, { allowed: PANES_NOISE }),
    perRow("a kept message", samples, (s) => [s.message_bytes, s.kept], MESSAGE_BYTES_MAX),
    perRow("an event", samples, (s) => [s.event_bytes, s.events], EVENT_BYTES_MAX),
    ...(duration_ms >= RETENTION_MS ? [plateau(samples)] : []),
  ];
}

/** The growth over all samples: no single sample decides. */
function line(
  what: string,
  samples: readonly Sample[],
  read: (sample: Sample) => number,
  { allowed }: { readonly allowed: number },
): Row {
  const rate = lastingSlope(samples.map((sample) => [sample.messages, read(sample)]));
  const messages = (samples.at(-1)?.messages ?? 0) - (samples[0]?.messages ?? 0);
  const growth = rate * messages;
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  return {
    what,
    begin: median(samples.slice(0, quarter).map(read)),
    end: median(samples.slice(-quarter).map(read)),
    found: `${growth >= 0 ? "+" : ""}${growth.toFixed(1)}`,
    allowed: `+${allowed.toFixed(1)}`,
    sound: growth <= allowed,
  };
}

/** Bytes of the database for each row, by the median of the samples. */
function perRow(
  what: string,
  samples: readonly Sample[],
  read: (sample: Sample) => readonly [bytes: number, rows: number],
  allowed: number,
): Row {
  const each = samples.map((sample) => {
    const [bytes, rows] = read(sample);
    return bytes / Math.max(1, rows);
  });
  const found = median(each);
  return {
    what: `bytes of ${what}`,
    begin: each[0] ?? 0,
    end: each.at(-1) ?? 0,
    found: found.toFixed(),
    allowed: String(allowed),
    sound: found <= allowed,
  };
}

/** The largest size of all messages in each half: with retention it stays. */
function plateau(samples: readonly Sample[]): Row {
  const half = Math.floor(samples.length / 2);
  const max = (part: readonly Sample[]) => Math.max(...part.map((s) => s.message_bytes)) / 2 ** 20;
  const [begin, end] = [max(samples.slice(0, half)), max(samples.slice(half))];
  const growth = end / begin - 1;
  return {
    what: "all messages, with retention, MB",
    begin,
    end,
    found: `${(growth * 100).toFixed()} %`,
    allowed: `${KEPT_GROWTH_MAX * 100} %`,
    sound: growth <= KEPT_GROWTH_MAX,
  };
}
