/** Turns that a user interrupted in Claude Code: no hook reports them, but its transcript does. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { lastEndReader, type RecordedEnd } from "../sessions/last_end.ts";
import { Timestamp } from "../sessions/pages.ts";
import { claudeTranscript, entriesOf } from "./session_files.ts";

/** The text of the record, alone or followed by more, such as "for tool use" (2.1.329). */
const INTERRUPTED = "[Request interrupted by user";

const Interruption = z.object({
  type: z.literal("user"),
  timestamp: Timestamp,
  isSidechain: z.literal(false).optional(),
  // Text that a person types is a string, not a list.
  message: z.object({
    content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
  }),
});

export function claudeEnds(config_dirs: readonly string[]) {
  return lastEndReader({
    locate: (id) => claudeTranscript(config_dirs, id),
    marks: [INTERRUPTED],
    endIn,
    entriesOf,
  });
}

function endIn(line: string): RecordedEnd | undefined {
  const { data } = Interruption.safeParse(tryJson(line));
  const isInterruption = data?.message.content.some(({ type, text }) =>
    type === "text" && text?.startsWith(INTERRUPTED)
  );
  return data && isInterruption ? { how: "interrupted", at: data.timestamp } : undefined;
}
