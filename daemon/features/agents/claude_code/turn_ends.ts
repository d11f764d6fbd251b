/**
 * Ends of turns in Claude Code's transcript: those that its user interrupted, which no hook
 * reports, and those at a usage limit, for which only the transcript has the time of the reset.
 */

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

/** The message at a usage limit, as of 2.1.329. The time is in seconds since 1970. */
const Limited = z.object({
  type: z.literal("assistant"),
  timestamp: Timestamp,
  isSidechain: z.literal(false).optional(),
  apiError: z.literal("usage_limit_reached"),
  apiErrorParams: z.looseObject({
    rate_limit_info: z.looseObject({
      resetsAt: z.number().optional(),
      rateLimitType: z.string().optional().catch(undefined),
    }).optional(),
  }).optional(),
  message: z.looseObject({
    content: z.array(z.looseObject({ text: z.string().optional() })),
  }).optional().catch(undefined),
});

export function claudeEnds(config_dirs: readonly string[]) {
  return lastEndReader({
    locate: (id) => claudeTranscript(config_dirs, id),
    marks: [INTERRUPTED, '"usage_limit_reached"'],
    endIn,
    entriesOf,
  });
}

function endIn(line: string): RecordedEnd | undefined {
  const entry = tryJson(line);
  const limited = Limited.safeParse(entry).data;
  if (limited) {
    const { timestamp: at, apiError: error, apiErrorParams, message } = limited;
    const { resetsAt: resets_s, rateLimitType: window } = apiErrorParams?.rate_limit_info ?? {};
    const text = message?.content.find((block) => block.text)?.text;
    // With this error, Claude Code goes on by itself at the reset.
    const limit = { window, text, continues: true };
    return {
      how: "failed",
      at,
      text: error,
      ...(resets_s && { resets_at: resets_s * 1000 }),
      limit,
    };
  }
  const { data } = Interruption.safeParse(entry);
  const isInterruption = data?.message.content.some(({ type, text }) =>
    type === "text" && text?.startsWith(INTERRUPTED)
  );
  return data && isInterruption ? { how: "interrupted", at: data.timestamp } : undefined;
}
