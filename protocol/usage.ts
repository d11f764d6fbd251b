/** The tokens that agents used on this machine, grouped, with their price. */

import * as z from "zod";

/** The groupings of a report. An agent is a peer; a chain is named by its first message. */
export const USAGE_BY = ["day", "agent", "model", "job", "chain"] as const;
export type UsageBy = typeof USAGE_BY[number];

/** Days for which sums are kept, and days of a report without a first day. */
export const USAGE_DAYS_MAX = 400;
export const USAGE_DAYS_DEFAULT = 30;

/** A grouping, and the first and the last day. Absent, the peers are all of this machine. */
export interface UsageQuery {
  readonly by: UsageBy;
  readonly peer_id?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Number of days if there is no first one. */
  readonly days: number;
}

/** Maximum rows of a report. The first ones have the most tokens. */
export const USAGE_ROWS_MAX = 500;

const Price = z.number().min(0).max(1_000_000);
const MODELS_MAX = 200;

/** Prices of a model for a million tokens. */
const ModelPrices = z.strictObject({
  /** Input that was neither read from a cache nor written to it. */
  input: Price,
  cached_input_read: Price.optional(),
  cached_input_write: Price.optional(),
  /** Output, with reasoning. */
  output: Price,
});
export type ModelPrices = z.output<typeof ModelPrices>;

/** The setting `usage.prices` (contract 8). The keys of `models` are names, with `*` for any text. */
export const Prices = z.strictObject({
  currency: z.string().regex(/^[A-Z]{3}$/),
  as_of: z.iso.date(),
  models: z.record(z.string().min(1).max(100), ModelPrices)
    .refine((models) => Object.keys(models).length <= MODELS_MAX),
});
export type Prices = z.output<typeof Prices>;

/** The shape of `Prices`, in words. */
export const PRICES_FORM =
  "a map {currency: EUR, as_of: YYYY-MM-DD, models: {PATTERN: {input, output, cached_input_read?, " +
  "cached_input_write?}}}, with the prices of a million tokens";

const Count = z.number().int().nullable();

/** The kinds of tokens. Null where no agent in the group records them. */
const Tokens = {
  /** All input, with what was read from a cache and written to it. */
  input_tokens: Count,
  cached_input_read_tokens: Count,
  cached_input_write_tokens: Count,
  /** All output, with reasoning. */
  output_tokens: Count,
  reasoning_tokens: Count,
};
export const UsageTokenKind = z.enum(
  Object.keys(Tokens) as [keyof typeof Tokens, ...(keyof typeof Tokens)[]],
);
export type UsageTokenKind = z.output<typeof UsageTokenKind>;

const Sums = {
  /** Requests to models. */
  requests: z.number().int(),
  ...Tokens,
  /** The kinds that only some of the requests have, so that their sums are too small. */
  incomplete: z.array(UsageTokenKind),
  /** The price of the tokens that have one; null if none has. */
  cost: z.number().nullable(),
  /** Tokens without a price, which `cost` leaves out. */
  unpriced_tokens: z.number().int(),
};

export const UsageRow = z.object({
  /** A day, or the id of a peer, model, job or first message; null for tokens of none. */
  key: z.string().nullable(),
  /** The name of the peer, the title of the job, or sender and recipient of the first message. */
  name: z.string().nullable(),
  ...Sums,
}).meta({ id: "UsageRow" });
export type UsageRow = z.output<typeof UsageRow>;

export const UsageReport = z.object({
  by: z.enum(USAGE_BY),
  /** The first and the last day. */
  from: z.iso.date(),
  to: z.iso.date(),
  /** The zone of the days: that of this machine. */
  timezone: z.string(),
  /** Days in order; other rows by their tokens, most first. */
  rows: z.array(UsageRow),
  /** True if there are more rows. `total` includes them. */
  cut: z.boolean(),
  total: z.object(Sums),
  /** Null without `usage.prices`. */
  prices: z.object({ currency: z.string(), as_of: z.iso.date() }).nullable(),
  /** Agents whose tokens are not in the report, with the reason. */
  left_out: z.array(z.object({ peer_id: z.string(), name: z.string(), reason: z.string() })),
}).meta({ id: "UsageReport" });
export type UsageReport = z.output<typeof UsageReport>;
