/** The tokens of a Codex session, from the end of its rollout. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import type { BackwardLines } from "../sessions/lines.ts";
import { inBatches } from "../sessions/batches.ts";
import type { SessionUsage } from "../sessions/session_files.ts";

const Count = z.number().nonnegative();
/** All input, with the cached part. */
const Tokens = z.object({
  input_tokens: Count,
  cached_input_tokens: Count,
  output_tokens: Count,
});

/** Written after each request, with the sums of the session, as of 0.169.0. */
const TokenCount = z.object({
  type: z.literal("event_msg"),
  payload: z.object({
    type: z.literal("token_count"),
    info: z.object({
      total_token_usage: Tokens,
      last_token_usage: Tokens,
      model_context_window: Count.nullish(),
    }),
  }),
});
const TurnContext = z.object({
  type: z.literal("turn_context"),
  payload: z.object({ model: z.string() }),
});

export async function usageIn(lines: BackwardLines): Promise<SessionUsage | null> {
  let info: z.infer<typeof TokenCount>["payload"]["info"] | undefined;
  let model: string | undefined;
  for await (const { text } of inBatches(lines)) {
    if (!text.includes('"token_count"') && !text.includes('"turn_context"')) continue;
    const json = tryJson(text);
    info ??= TokenCount.safeParse(json).data?.payload.info;
    model ??= TurnContext.safeParse(json).data?.payload.model;
    if (info && model !== undefined) break;
  }
  if (!info) return null;
  const { total_token_usage: total, last_token_usage: last } = info;
  return {
    input_tokens: total.input_tokens,
    output_tokens: total.output_tokens,
    cached_tokens: total.cached_input_tokens,
    context_tokens: last.input_tokens,
    context_limit: info.model_context_window ?? null,
    model: model ?? null,
  };
}
