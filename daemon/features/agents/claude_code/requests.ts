/** The requests in Claude Code's transcripts, and in those of subagents. */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import { namesIn } from "../../../host/agent_files.ts";
import { Timestamp } from "../sessions/pages.ts";
import type { RequestFormat } from "../sessions/new_records.ts";

const Count = z.number().int().nonnegative();

/** An answer of the model. Each of its blocks is a line, with the same message id (2.1.332). */
export const Answer = z.object({
  type: z.literal("assistant"),
  timestamp: Timestamp.nullable().catch(null),
  isSidechain: z.boolean().optional(),
  message: z.object({
    id: z.string(),
    /** `<synthetic>` for text that Claude Code writes instead of the model, such as an error. */
    model: z.string().refine((model) => !model.startsWith("<")),
    usage: z.object({
      input_tokens: Count,
      output_tokens: Count,
      cache_read_input_tokens: Count.nullish(),
      cache_creation_input_tokens: Count.nullish(),
      output_tokens_details: z.object({ thinking_tokens: Count.nullish() }).nullish()
        .catch(undefined),
    }),
  }),
});

/** A fork has the messages of its session with their ids, so they are counted once. */
export const claudeRequests: RequestFormat<null> = {
  marks: ['"usage"'],
  initial: null,
  read(json) {
    const { data } = Answer.safeParse(json);
    if (!data) return {};
    const { timestamp: at, message: { id: key, model, usage } } = data;
    const read = usage.cache_read_input_tokens ?? null;
    const write = usage.cache_creation_input_tokens ?? null;
    const tokens = {
      input_tokens: usage.input_tokens + (read ?? 0) + (write ?? 0),
      cached_input_read_tokens: read,
      cached_input_write_tokens: write,
      output_tokens: usage.output_tokens,
      reasoning_tokens: usage.output_tokens_details?.thinking_tokens ?? null,
    };
    return { requests: [{ key, at, model, tokens }] };
  },
};

/** The transcript, and those of the session's subagents: `<session>/subagents/agent-….jsonl`. */
export function filesWithRequests(transcript: string): string[] {
  const folder = join(transcript.slice(0, -".jsonl".length), "subagents");
  const subagents = namesIn(folder).filter((name) => name.endsWith(".jsonl"));
  return [transcript, ...subagents.map((name) => join(folder, name))];
}
