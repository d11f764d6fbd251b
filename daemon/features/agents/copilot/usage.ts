/** The tokens of a Copilot CLI session, from the end of its records. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import type { BackwardLines } from "../sessions/lines.ts";
import { inBatches } from "../sessions/batches.ts";
import type { SessionUsage } from "../sessions/session_files.ts";

const Count = z.number().nonnegative();
const Tokens = z.object({ inputTokens: Count, outputTokens: Count, cacheReadTokens: Count });
type Tokens = z.output<typeof Tokens>;

/** Written after each request, as of 1.0.102. */
const Request = z.object({
  type: z.literal("session.usage_record"),
  /** Set for the requests of a subagent. */
  agentId: z.string().optional(),
  data: z.object({
    usage: Tokens.extend({ model: z.string(), maxPromptTokens: Count.nullish() }),
  }),
});
/** The sums of the whole session so far, written when its program ends. */
const Sums = z.object({
  type: z.literal("session.shutdown"),
  data: z.object({ modelMetrics: z.record(z.string(), z.object({ usage: Tokens })) }),
});

/** The last sums, with the requests since then. Without sums, all requests, if all are read. */
export async function usageIn(lines: BackwardLines): Promise<SessionUsage | null> {
  const requests: Tokens[] = [];
  let last: z.output<typeof Request>["data"]["usage"] | undefined;
  let sums: readonly Tokens[] | undefined;
  for await (const { text } of inBatches(lines)) {
    if (!text.includes("usage_record") && !text.includes("session.shutdown")) continue;
    const json = tryJson(text);
    const { data: ended } = Sums.safeParse(json);
    if (ended) sums ??= Object.values(ended.data.modelMetrics).map(({ usage }) => usage);
    const { data: request } = Request.safeParse(json);
    if (request && request.agentId === undefined) last ??= request.data.usage;
    if (request && !sums) requests.push(request.data.usage);
    if (sums && last) break;
  }
  if (!last && !sums) return null;
  const all = [...(sums ?? []), ...requests];
  const isKnown = sums !== undefined || lines.unread === 0;
  const sum = (count: (tokens: Tokens) => number) =>
    isKnown ? all.reduce((total, tokens) => total + count(tokens), 0) : null;
  return {
    input_tokens: sum(({ inputTokens }) => inputTokens),
    output_tokens: sum(({ outputTokens }) => outputTokens),
    cached_tokens: sum(({ cacheReadTokens }) => cacheReadTokens),
    context_tokens: last?.inputTokens ?? null,
    context_limit: last?.maxPromptTokens ?? null,
    model: last?.model ?? null,
  };
}
