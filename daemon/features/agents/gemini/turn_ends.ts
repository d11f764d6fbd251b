/** Turns of Gemini CLI that its user cancelled: its hook reports them like completed ones. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { lastEndReader, type RecordedEnd } from "../sessions/last_end.ts";
import { Timestamp } from "../sessions/pages.ts";
import { entriesOf, messagesIn } from "./messages.ts";
import { geminiRecords } from "./session_files.ts";

const CANCELLED = "Request cancelled.";

/** As of 0.61.0. */
const Cancelled = z.object({
  type: z.literal("info"),
  timestamp: Timestamp,
  content: z.literal(CANCELLED),
});

export function geminiEnds(config_dir: string) {
  return lastEndReader({
    locate: (id) => geminiRecords(config_dir, id),
    marks: [CANCELLED],
    endIn,
    entriesOf: (line) => entriesOf({ messages: messagesIn(tryJson(line)) }),
  });
}

function endIn(line: string): RecordedEnd | undefined {
  const { data } = Cancelled.safeParse(tryJson(line));
  return data && { how: "interrupted", at: data.timestamp };
}
