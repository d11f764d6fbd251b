/** The tokens of a Claude Code session, from the end of its transcript. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import type { BackwardLines } from "../sessions/lines.ts";
import { inBatches } from "../sessions/batches.ts";
import type { SessionUsage } from "../sessions/session_files.ts";

const Count = z.number().nonnegative();

/** A request's tokens. Each block of an answer is a line of its own, with the same message id. */
const Answer = z.object({
  type: z.literal("assistant"),
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
    }),
  }),
});

/** The sums of the whole session so far, written when its program ends, as of 2.1.329. */
const Sums = z.object({
  type: z.literal("cost-state"),
  modelUsage: z.record(
    z.string(),
    z.object({
      inputTokens: Count,
      outputTokens: Count,
      cacheReadInputTokens: Count,
      cacheCreationInputTokens: Count,
    }),
  ),
});

interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

/**
 * The tokens of a session. The sums are the last ones that Claude Code wrote, with the requests
 * since then. Without sums, they are those of all requests, if the read reaches the first one.
 */
export async function usageIn(lines: BackwardLines): Promise<SessionUsage | null> {
  const requests = new Map<string, Tokens>();
  let last: { readonly model: string; readonly context: number } | undefined;
  let sums: readonly Tokens[] | undefined;
  for await (const { text } of inBatches(lines)) {
    const written = text.includes('"cost-state"') ? Sums.safeParse(tryJson(text)).data : undefined;
    if (written) {
      sums = Object.values(written.modelUsage).map(tokensOfModel);
      if (last) break;
    }
    const json = text.includes('"assistant"') && text.includes('"usage"') ? tryJson(text) : null;
    const answer = json === null ? undefined : Answer.safeParse(json).data;
    if (!answer) continue;
    const { id, model } = answer.message;
    const tokens = tokensOf(answer.message.usage);
    if (answer.isSidechain !== true) last ??= { model, context: tokens.input };
    if (sums && last) break;
    if (!sums && !requests.has(id)) requests.set(id, tokens);
  }
  if (!last && !sums) return null;
  const isKnown = sums !== undefined || lines.unread === 0;
  const all = [...(sums ?? []), ...requests.values()];
  const sum = (count: (tokens: Tokens) => number) =>
    isKnown ? all.reduce((total, tokens) => total + count(tokens), 0) : null;
  return {
    input_tokens: sum(({ input }) => input),
    output_tokens: sum(({ output }) => output),
    cached_tokens: sum(({ cached }) => cached),
    context_tokens: last?.context ?? null,
    // Not in the transcript.
    context_limit: null,
    model: last?.model ?? null,
  };
}

function tokensOf(usage: z.infer<typeof Answer>["message"]["usage"]): Tokens {
  const cached = usage.cache_read_input_tokens ?? 0;
  const input = usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0);
  return { input, output: usage.output_tokens, cached };
}

function tokensOfModel(usage: z.infer<typeof Sums>["modelUsage"][string]): Tokens {
  const cached = usage.cacheReadInputTokens;
  const input = usage.inputTokens + cached + usage.cacheCreationInputTokens;
  return { input, output: usage.outputTokens, cached };
}
