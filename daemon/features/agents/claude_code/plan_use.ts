/** Use of a plan by a session of Claude Code, as its status line has kept it. */

import * as z from "zod";
import { join } from "kit/core/path.ts";
import { tryJson } from "kit/core/text.ts";
import type { LimitWindow } from "protocol/limits/contract.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { unlessMissing } from "kit/host/file_errors.ts";
import { changedAt, namesIn, readWhole } from "../../../host/agent_files.ts";

const FILE_BYTES_MAX = 4_096;
/** The longest window is one of seven days. */
const AGE_MS_MAX = 8 * DAY_MS;

/** As of 2.1.329: `five_hour` and `seven_day`. The times are in seconds since 1970. */
const PlanUse = z.record(
  z.string().regex(/^[a-z0-9_]{1,40}$/),
  z.object({ used_percentage: z.number(), resets_at: z.number().nullish() }).nullable(),
);

/** The used share of each window of a session's plan. `folder` has a file for each session. */
export function planUse(folder: string, session_id: string): LimitWindow[] {
  if (!/^[\w-]+$/.test(session_id)) return [];
  const path = join(folder, `${session_id}.json`);
  const text = readWhole(path, FILE_BYTES_MAX, { own: true });
  const { data = {} } = PlanUse.safeParse(tryJson(text ?? ""));
  const at = changedAt(path) ?? null;
  return Object.entries(data).flatMap(([window, use]) => {
    if (use === null) return [];
    const { used_percentage: used_percent, resets_at } = use;
    return [{ window, used_percent, resets_at: resets_at ? resets_at * 1000 : null, at }];
  });
}

/** Removes the files of windows that are over. */
export function removeOldPlanUse(folder: string, now: number): void {
  for (const name of namesIn(folder)) {
    const path = join(folder, name);
    const at = changedAt(path);
    if (at !== undefined && now - at > AGE_MS_MAX) unlessMissing(() => Deno.removeSync(path));
  }
}
