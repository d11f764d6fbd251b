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

export function codexEnds(codex_home: string) {
  return lastEndReader({
    locate: (id) => rolloutFile(codex_home, id),
    marks: ['"turn_aborted"', '"task_complete"'],
    endIn,
    entriesOf,
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
