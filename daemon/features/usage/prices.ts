/** The price of tokens, by the table in the configuration. A price that it lacks is not guessed. */

import { matchesPattern } from "kit/core/text.ts";
import type { RequestTokens } from "../agents/sessions/requests.ts";
import type { ModelPrices, Prices } from "protocol/usage.ts";

/** Tokens by their price: each token is in one of these. */
type PricedKind = keyof ModelPrices;

/** The tokens of each price. Cached input that an agent does not record is other input. */
export function byPrice(tokens: RequestTokens): Readonly<Record<PricedKind, number>> {
  const read = tokens.cached_input_read_tokens ?? 0;
  const write = tokens.cached_input_write_tokens ?? 0;
  return {
    input: Math.max(0, (tokens.input_tokens ?? 0) - read - write),
    cached_input_read: read,
    cached_input_write: write,
    output: tokens.output_tokens ?? 0,
  };
}

/** The price of tokens that have one; null if none has. */
export interface Cost {
  readonly cost: number | null;
  readonly unpriced_tokens: number;
}

const MILLION = 1_000_000;

export class PriceTable {
  readonly #patterns: readonly (readonly [pattern: string, prices: ModelPrices])[];
  readonly #found = new Map<string, ModelPrices | undefined>();

  constructor(prices: Prices | undefined) {
    const literal = (pattern: string) => pattern.replaceAll("*", "").length;
    this.#patterns = Object.entries(prices?.models ?? {})
      .map(([pattern, model]) => [pattern.toLowerCase(), model] as const)
      .toSorted(([a], [b]) => literal(b) - literal(a));
  }

  costOf(model: string, tokens: RequestTokens): Cost {
    const prices = this.#pricesOf(model);
    let cost: number | null = null, unpriced_tokens = 0;
    for (const [kind, count] of Object.entries(byPrice(tokens)) as [PricedKind, number][]) {
      const price = prices?.[kind];
      if (price !== undefined) cost = (cost ?? 0) + count * price / MILLION;
      else unpriced_tokens += count;
    }
    return { cost, unpriced_tokens };
  }

  /** The prices of the longest pattern that matches: a name without `*` is the longest. */
  #pricesOf(model: string): ModelPrices | undefined {
    if (!this.#found.has(model)) {
      if (this.#found.size >= MODELS_MAX) this.#found.clear();
      const name = model.toLowerCase();
      this.#found.set(model, this.#patterns.find(([of]) => matchesPattern(of, name))?.[1]);
    }
    return this.#found.get(model);
  }
}

/** Maximum models whose prices are remembered. */
const MODELS_MAX = 500;
