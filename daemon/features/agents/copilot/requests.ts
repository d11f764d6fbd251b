/** The requests in Copilot CLI's session records, which hold those of subagents as well. */

import * as z from "zod";
import { Timestamp } from "../sessions/pages.ts";
import type { RequestFormat } from "../sessions/new_records.ts";

const Count = z.number().int().nonnegative();

/** Written after each request, as of 1.0.102. */
const Request = z.object({
  type: z.literal("session.usage_record"),
  id: z.string(),
  timestamp: Timestamp.nullable().catch(null),
  data: z.object({
    usage: z.object({
      model: z.string(),
      inputTokens: Count,
      outputTokens: Count,
      cacheReadTokens: Count.nullish(),
      cacheWriteTokens: Count.nullish(),
      reasoningTokens: Count.nullish(),
      /** The provider's id of the answer, which stays the same where the record is copied. */
      apiCallId: z.string().nullish(),
    }),
  }),
});

export const copilotRequests: RequestFormat<null> = {
  marks: ["session.usage_record"],
  initial: null,
  read(json) {
    const { data } = Request.safeParse(json);
    if (!data) return {};
    const { id, timestamp: at, data: { usage } } = data;
    const tokens = {
      input_tokens: usage.inputTokens,
      cached_input_read_tokens: usage.cacheReadTokens ?? null,
      cached_input_write_tokens: usage.cacheWriteTokens ?? null,
      output_tokens: usage.outputTokens,
      reasoning_tokens: usage.reasoningTokens ?? null,
    };
    return { requests: [{ key: usage.apiCallId ?? id, at, model: usage.model, tokens }] };
  },
};
