/** Turns of Copilot CLI that were interrupted, or that an error ended: its records show them. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { lastEndReader, type RecordedEnd } from "../sessions/last_end.ts";
import { ErrorClass } from "protocol/agents/contract.ts";
import { Timestamp } from "../sessions/pages.ts";
import { entriesOf } from "./session_files.ts";
import { recordsFileOf } from "./sessions.ts";

/** As of 1.0.102. */
const Ended = z.object({
  type: z.enum(["abort", "session.error"]),
  timestamp: Timestamp,
  agentId: z.undefined().optional(),
  data: z.looseObject({
    errorType: ErrorClass.catch("unknown"),
    statusCode: z.number().optional().catch(undefined),
    message: z.string().optional().catch(undefined),
  }),
});

/** Words of an answer at a limit that does not pass by itself within minutes. */
const QUOTA = /\b(exceeded|quota|premium requests?)\b/i;

export function copilotEnds(config_dir: string) {
  return lastEndReader({
    locate: (id) => recordsFileOf(config_dir, id),
    marks: ['"abort"', '"session.error"'],
    endIn,
    entriesOf,
  });
}

function endIn(line: string): RecordedEnd | undefined {
  const { data } = Ended.safeParse(tryJson(line));
  if (!data) return undefined;
  const { type, timestamp: at, data: { errorType, statusCode, message: text } } = data;
  if (type === "abort") return { how: "interrupted", at };
  // 402 is reported as an error of the query.
  const error = statusCode === 402
    ? "billing_error"
    : errorType === "rate_limit" && QUOTA.test(text ?? "")
    ? "quota_exceeded"
    : errorType;
  return { how: "failed", at, text: error, ...(text && { limit: { text } }) };
}
