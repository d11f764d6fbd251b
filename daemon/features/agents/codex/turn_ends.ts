/** Turns of Codex that were interrupted, or that an error ended: its rollout shows them. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import type { LimitWindow } from "protocol/limits/contract.ts";
import { readTail } from "../../../host/agent_files.ts";
import { lastEndReader, type RecordedEnd } from "../sessions/last_end.ts";
import { ErrorClass } from "protocol/agents/contract.ts";
import { Timestamp } from "../sessions/pages.ts";
import { rolloutFile } from "./rollouts.ts";
import { entriesOf } from "./session_files.ts";

/** As of 0.171.0. A turn that an error ends is complete, too. */
const Ended = z.object({
  timestamp: Timestamp,
  type: z.literal("event_msg"),
  payload: z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("turn_aborted") }),
    z.looseObject({
      type: z.literal("task_complete"),
      error: z.looseObject({
        codex_error_info: ErrorClass.catch("unknown"),
        message: z.string().optional().catch(undefined),
      }),
    }),
  ]),
});

/** A window of a limit, which is reached at 100 percent. */
const Window = z.looseObject({
  used_percent: z.number(),
  window_minutes: z.number().nullish().catch(null),
  resets_at: z.number().nullish(),
});

/** Follows each answer and each failure. The times are in seconds since 1970 (0.169.0). */
const Usage = z.object({
  timestamp: Timestamp.nullable().catch(null),
  type: z.literal("event_msg"),
  payload: z.looseObject({
    type: z.literal("token_count"),
    rate_limits: z.looseObject({
      primary: Window.nullish(),
      secondary: Window.nullish(),
      credits: z.looseObject({ has_credits: z.boolean(), unlimited: z.boolean().nullish() })
        .nullish().catch(null),
    }),
  }),
});
const USAGE_MARK = '"rate_limits":{';

/** The names of windows by their length. */
const WINDOWS: Readonly<Record<number, string>> = { 300: "five_hour", 10_080: "seven_day" };

/** The name of a window by its length. */
export function windowName(minutes: number | null | undefined): string {
  return minutes ? WINDOWS[minutes] ?? `${minutes}_minutes` : "usage";
}

/** Bytes read from the end of a rollout to find how far the windows are used. */
const TAIL_BYTES = 131_072;

/** The used share of each window of the account, by the last answer of a session. */
export function codexWindows(codex_home: string, session_id: string): LimitWindow[] {
  const file = rolloutFile(codex_home, session_id);
  const lines = file === undefined ? [] : readTail(file, TAIL_BYTES)?.split("\n") ?? [];
  return windowsIn(lines.findLast((line) => line.includes(USAGE_MARK)) ?? "");
}

function windowsIn(line: string): LimitWindow[] {
  const { timestamp: at = null, payload } = Usage.safeParse(tryJson(line)).data ?? {};
  const { primary, secondary } = payload?.rate_limits ?? {};
  return [primary, secondary].flatMap((found) => {
    if (!found) return [];
    const { used_percent, window_minutes: minutes, resets_at } = found;
    const window = windowName(minutes);
    return [{ window, used_percent, resets_at: resets_at ? resets_at * 1000 : null, at }];
  });
}

/** The window that is reached and is reset last: until then, the account answers nothing. */
function limitIn(line: string) {
  const [last] = windowsIn(line).filter(({ used_percent }) => used_percent >= 100)
    .toSorted((a, b) => (b.resets_at ?? 0) - (a.resets_at ?? 0));
  if (!last) return undefined;
  const { window, resets_at } = last;
  return { resets_at: resets_at ?? undefined, limit: { window } };
}

/** The answer to an account without credit, whose class names no limit (0.169.0). */
const QUOTA = /^Quota exceeded\b/;

export function codexEnds(codex_home: string) {
  return lastEndReader({
    locate: (id) => rolloutFile(codex_home, id),
    marks: ['"turn_aborted"', '"task_complete"'],
    endIn,
    entriesOf,
    limits: { mark: USAGE_MARK, limitIn },
  });
}

function endIn(line: string): RecordedEnd | undefined {
  const { data } = Ended.safeParse(tryJson(line));
  if (!data) return undefined;
  const { timestamp: at, payload } = data;
  if (payload.type === "turn_aborted") return { how: "interrupted", at };
  const { codex_error_info, message: text } = payload.error;
  const error = text && QUOTA.test(text) ? "insufficient_quota" : codex_error_info;
  return { how: "failed", at, text: error, ...(text && { limit: { text } }) };
}
