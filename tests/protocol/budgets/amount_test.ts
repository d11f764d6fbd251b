/** Amounts of budgets: what is read, what is meant, and what is no amount. */

import assert from "node:assert/strict";
import { formatAmount, parseAmount } from "protocol/budgets/amount.ts";

const NONE = { tokens: null, turns: null, ms: null, cost: null, currency: null };

Deno.test("tokens, turns, a time and money are read [4.budget.amount]", () => {
  const read: [string, object][] = [
    ["50k-tokens", { tokens: 50_000 }],
    ["1.5M-tokens", { tokens: 1_500_000 }],
    ["1 token", { tokens: 1 }],
    ["20-turns", { turns: 20 }],
    ["30m", { ms: 1_800_000 }],
    ["1h30m", { ms: 5_400_000 }],
    ["2usd", { cost: 2, currency: "USD" }],
    ["0.25 EUR", { cost: 0.25, currency: "EUR" }],
    ["50k-tokens, 30m", { tokens: 50_000, ms: 1_800_000 }],
  ];
  for (const [text, amount] of read) assert.deepEqual(parseAmount(text), { ...NONE, ...amount });
});

Deno.test("an amount is written as it is read", () => {
  const texts = ["50k-tokens", "1-turns", "1h30m", "45s", "2usd", "50k-tokens,20-turns,30m,0.5eur"];
  for (const text of texts) {
    const amount = parseAmount(text);
    assert.notEqual(typeof amount, "string", text);
    if (typeof amount !== "string") assert.equal(formatAmount(amount), text);
  }
});

Deno.test("a near miss names what was meant [4.budget.meant]", () => {
  const meant: [string, string][] = [
    ["50k", "50k-tokens"],
    ["50k-tok", "50k-tokens"],
    ["50000", "50000-tokens"],
    ["20", "20-turns"],
    ["30min", "30m"],
    ["30 minutes", "30m"],
    ["2 hours", "2h"],
    ["$2", "2usd"],
    ["2€", "2eur"],
    ["2 dollars", "2usd"],
  ];
  for (const [text, wanted] of meant) {
    const mistake = parseAmount(text);
    assert.equal(mistake, `"${text}" is no budget; did you mean "${wanted}"?`);
    assert.notEqual(typeof parseAmount(wanted), "string");
  }
});

Deno.test("negative, endless, huge and empty amounts are refused [4.budget.hostile]", () => {
  const bad = [
    ...["", "-5-tokens", "0-tokens", "0-turns", "0m", "0usd", "NaN-tokens", "Infinity-turns"],
    ...["1e9-tokens", "9999999999999-tokens", "999999b-tokens", "1.5-turns", "0.0001-tokens"],
    ...["99999999usd", "400d", "0x10-tokens", "5-tokens,6-tokens", "5-tokens,", "２-turns"],
    ...["5usdx", "tokens", "5-tokens 6-turns"],
  ];
  for (const text of bad) assert.equal(typeof parseAmount(text), "string", text);
});

Deno.test("the message on a mistake names the unit's range", () => {
  assert.match(String(parseAmount("0-turns")), /turns from 1 to 1000000/);
  assert.match(String(parseAmount("5-tokens,6-tokens")), /tokens twice/);
});
