/** Turns of Codex that were interrupted, or that an error ended: its rollout shows them. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
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
      error: z.looseObject({ codex_error_info: ErrorClass.catch("unknown") }),
    }),
  ]),
});

/** A limit, which is reached at 100 percent. */
const Window = z.looseObject({ used_percent: z.number(), resets_at: z.number().nullish() });

/** Follows each answer and each failure. The times are in seconds since 1970 (0.169.0). */
const Usage = z.object({
  type: z.literal("event_msg"),
  payload: z.looseObject({
    type: z.literal("token_count"),
    rate_limits: z.looseObject({ primary: Window.nullish(), secondary: Window.nullish() }),
  }),
});

/** The time at which every limit that is reached has been reset. */
function resetIn(line: string): number | undefined {
  const { primary, secondary } = Usage.safeParse(tryJson(line)).data?.payload.rate_limits ?? {};
  const resets = [primary, secondary].flatMap((window) =>
    window && window.used_percent >= 100 && window.resets_at ? [window.resets_at * 1000] : []
  );
  return resets.length > 0 ? Math.max(...resets) : undefined;
}

export function codexEnds(codex_home: string) {
  return lastEndReader({
    locate: (id) => rolloutFile(codex_home, id),
    marks: ['"turn_aborted"', '"task_complete"'],
    endIn,
    entriesOf,
    limits: { mark: '"rate_limits":{', resetIn },
  });
}

function endIn(line: string): RecordedEnd | undefined {
  const { data } = Ended.safeParse(tryJson(line));
  if (!data) return undefined;
  const { timestamp: at, payload } = data;
  return payload.type === "turn_aborted"
    ? { how: "interrupted", at }
    : { how: "failed", at, text: payload.error.codex_error_info };
}
