/** Numbers of tokens and money as people read them, and the context that is left. */

import type { UsageReport, UsageTokenKind } from "protocol/usage.ts";

type Sums = UsageReport["total"];

/** `1,234`, `not recorded`, or `1,234+` if only some of the requests have this kind. */
export function tokenText(sums: Sums, kind: UsageTokenKind): string {
  return countText(sums[kind]) + (sums.incomplete.includes(kind) ? "+" : "");
}

export function countText(tokens: number | null | undefined): string {
  return typeof tokens === "number" ? tokens.toLocaleString("en-US") : "not recorded";
}

/** `12.30 EUR`, with `+` if some tokens have no price; `no price` if none has one. */
export function moneyText({ cost, unpriced_tokens }: Sums, currency: string | undefined): string {
  if (cost === null || currency === undefined) return "no price";
  const digits = cost !== 0 && cost < 0.1 ? 4 : 2;
  const amount = cost.toLocaleString("en-US", {
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  });
  return `${amount}${unpriced_tokens > 0 ? "+" : ""} ${currency}`;
}

/** Input and output of a sum. */
export function tokensOf({ input_tokens, output_tokens }: Sums): number {
  return (input_tokens ?? 0) + (output_tokens ?? 0);
}

interface Context {
  readonly context_tokens: number | null;
  readonly context_limit: number | null;
}

/** `1,234 of 10,000 (12 %)`, or only the used part if the limit is not recorded. */
export function contextText(context: Context | null | undefined): string {
  const used = countText(context?.context_tokens);
  const percent = contextPercent(context);
  return percent === undefined
    ? used
    : `${used} of ${countText(context?.context_limit)} (${percent} %)`;
}

/** The used part of the context in percent; undefined if its size is not recorded. */
export function contextPercent(context: Context | null | undefined): number | undefined {
  const { context_tokens = null, context_limit = null } = context ?? {};
  if (context_tokens === null || context_limit === null) return undefined;
  return Math.round(100 * context_tokens / Math.max(1, context_limit));
}

/** The omissions of a report, in sentences for its reader. */
export function reportNotes({ total, prices, left_out, cut, timezone }: UsageReport): string[] {
  const { unpriced_tokens, incomplete } = total;
  const unpriced = `${countText(unpriced_tokens)} tokens have no price.`;
  return [
    `Days are those of ${timezone}.`,
    ...prices ? [`Prices as of ${prices.as_of}, from the setting usage.prices.`] : [],
    ...prices && unpriced_tokens > 0 ? [unpriced] : [],
    ...incomplete.length > 0
      ? [`+ marks sums to which some agents contribute nothing, because they do not record it.`]
      : [],
    ...cut ? ["Only the first rows are shown; the total has all."] : [],
    ...left_out.map(({ name, reason }) => `Without ${name}: ${reason}.`),
  ];
}
