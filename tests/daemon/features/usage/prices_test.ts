/** The table of prices: its mistakes, its patterns, and tokens without a price. */

import assert from "node:assert/strict";
import { readConfigInForce } from "../../../../daemon/app/config.ts";
import { settingsInForce } from "../../../../daemon/app/config_view.ts";
import { PriceTable } from "../../../../daemon/features/usage/prices.ts";

const configOf = (prices: string) =>
  readConfigInForce({ MESH_CONFIG: "/etc/mesh.yaml" }, () => `usage: {prices: ${prices}}`);

Deno.test("a mistake in the prices is named with its place [4.usage.prices]", () => {
  const model = "models: {a: {input: 1, output: 2}}";
  const cases = [
    [`{currency: euro, as_of: 2026-11-01, ${model}}`, "usage.prices.currency: found"],
    [`{currency: EUR, ${model}}`, "usage.prices.as_of: found"],
    [`{currency: EUR, as_of: 2026-02-30, ${model}}`, "usage.prices.as_of: found"],
    ["{currency: EUR, as_of: 2026-11-01, models: {a: {input: -1, output: 2}}}", "models.a.input"],
    ["{currency: EUR, as_of: 2026-11-01, models: {a: {input: 1}}}", "models.a.output"],
    [`{currency: EUR, as_of: 2026-11-01, ${model}, more: 1}`, "usage.prices: found"],
  ] as const;
  for (const [prices, message] of cases) {
    assert.throws(() => configOf(prices), ({ message: text }: Error) => {
      return text.includes(message) && text.includes("allowed: a map {currency: EUR");
    }, prices);
  }
});

Deno.test("the prices in force are shown as they are", () => {
  const { settings } = settingsInForce(
    configOf("{currency: EUR, as_of: 2026-11-01, models: {a-1.5: {input: 1, output: 2}}}"),
  );
  const shown = settings.find(({ key }) => key === "usage.prices")?.value;
  assert.deepEqual(JSON.parse(String(shown)).models, { "a-1.5": { input: 1, output: 2 } });
});

Deno.test("the longest matching name has the price, and a missing price is not guessed", () => {
  const table = new PriceTable({
    currency: "EUR",
    as_of: "2026-11-01",
    models: {
      "*": { input: 1, output: 1 },
      "a.b-*": { input: 2, output: 2 },
      "a.b-1": { input: 3, cached_input_read: 0, output: 3 },
    },
  });
  const tokens = {
    input_tokens: 1_000_000,
    cached_input_read_tokens: 400_000,
    cached_input_write_tokens: null,
    output_tokens: 1_000_000,
    reasoning_tokens: null,
  };
  assert.deepEqual(table.costOf("A.B-1", tokens), { cost: 3 * 0.6 + 3, unpriced_tokens: 0 });
  assert.deepEqual(table.costOf("a.b-12", tokens), { cost: 2 * 0.6 + 2, unpriced_tokens: 400_000 });
  assert.deepEqual(table.costOf("axb-1", tokens), { cost: 1.6, unpriced_tokens: 400_000 });
  assert.deepEqual(new PriceTable(undefined).costOf("a", tokens), {
    cost: null,
    unpriced_tokens: 2_000_000,
  });
});
