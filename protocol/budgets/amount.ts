/** Amounts of budgets as people write them: `50k-tokens`, `20-turns`, `30m`, `2usd`. */

import { MINUTE_MS, parseDuration } from "kit/core/duration.ts";

/** The limit of each unit; null for a unit without one. At least one unit has a limit. */
export interface Amount {
  readonly tokens: number | null;
  readonly turns: number | null;
  /** Milliseconds in which agents work. */
  readonly ms: number | null;
  readonly cost: number | null;
  /** The currency of `cost`, such as `USD`. */
  readonly currency: string | null;
}

export const AMOUNT_FORM = "50k-tokens, 20-turns, 30m or 2usd; several with commas";

/** The largest limit of each unit. */
const TOKENS_MAX = 1e12;
const TURNS_MAX = 1e6;
const MS_MAX = 365 * 24 * 60 * MINUTE_MS;
const COST_MAX = 1e6;

const NONE: Amount = { tokens: null, turns: null, ms: null, cost: null, currency: null };
const FACTORS: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6, b: 1e9 };
const COUNT = /^(\d{1,12}(?:\.\d{1,6})?)([kmb]?)[- ]?(tokens?|turns?)$/;
const MONEY = /^(\d{1,7}(?:\.\d{1,4})?) ?([a-z]{3})$/;
const DURATION = /^(?:\d{1,9}[wdhms])+$/;

/** The amount of a text, or a sentence on its mistake. */
export function parseAmount(text: string): Amount | string {
  let amount = NONE;
  for (const part of text.split(",").map((word) => word.trim().toLowerCase())) {
    const found = parsePart(part);
    if (typeof found === "string") return found;
    const [unit] = Object.keys(found) as (keyof Amount)[];
    if (unit !== undefined && amount[unit] !== null) return `"${text}" names ${unit} twice`;
    amount = { ...amount, ...found };
  }
  return amount;
}

function parsePart(part: string): Partial<Amount> | string {
  const [, digits, factor = "", name = ""] = COUNT.exec(part) ?? [];
  if (digits !== undefined) {
    const unit = name.startsWith("token") ? "tokens" : "turns";
    const max = unit === "tokens" ? TOKENS_MAX : TURNS_MAX;
    const count = Number(digits) * (FACTORS[factor] ?? 1);
    return Number.isInteger(count) && count >= 1 && count <= max
      ? { [unit]: count }
      : `"${part}" is no number of ${unit} from 1 to ${max}`;
  }
  if (DURATION.test(part)) {
    const ms = parseDuration(part);
    return ms !== undefined && ms >= 1000 && ms <= MS_MAX
      ? { ms }
      : `"${part}" is no time from 1s to 365d`;
  }
  const [, money, currency] = MONEY.exec(part) ?? [];
  if (money === undefined || currency === undefined || UNIT_NAMES.has(currency)) {
    return unknownPart(part);
  }
  const cost = Number(money);
  return cost > 0 && cost <= COST_MAX
    ? { cost, currency: currency.toUpperCase() }
    : `"${part}" is no price above 0 and up to ${COST_MAX}`;
}

/** Three letters that mean a time, and no currency. */
const UNIT_NAMES: ReadonlySet<string> = new Set(["min", "sec", "hrs", "day"]);

/** Other ways to write an amount, with the text that was meant. */
const MEANT: readonly (readonly [RegExp, (digits: string, unit: string) => string])[] = [
  [/^(\d[\d.]*[kmb]?)[-_ ]*(tok|toks|tks?|t)$/, (digits) => `${digits}-tokens`],
  [/^(\d[\d.]*)[-_ ]*(turnss|round|rounds|step|steps)$/, (digits) => `${digits}-turns`],
  [/^(\d+)[-_ ]*(min|mins|minutes?)$/, (digits) => `${digits}m`],
  [/^(\d+)[-_ ]*(hrs?|hours?)$/, (digits) => `${digits}h`],
  [/^(\d+)[-_ ]*(sec|secs|seconds?)$/, (digits) => `${digits}s`],
  [/^(\d+)[-_ ]*(days?)$/, (digits) => `${digits}d`],
  [/^\$ ?(\d[\d.]*)()$/, (digits) => `${digits}usd`],
  [/^(\d[\d.]*) ?(\$|dollars?)$/, (digits) => `${digits}usd`],
  [/^€ ?(\d[\d.]*)()$/, (digits) => `${digits}eur`],
  [/^(\d[\d.]*) ?(€|euros?)$/, (digits) => `${digits}eur`],
  [/^(\d[\d.]*[kb])()$/, (digits) => `${digits}-tokens`],
  [/^(\d+)()$/, (digits) => Number(digits) >= 1000 ? `${digits}-tokens` : `${digits}-turns`],
];

function unknownPart(part: string): string {
  for (const [form, toMeant] of MEANT) {
    const [, digits, unit = ""] = form.exec(part) ?? [];
    if (digits !== undefined) {
      return `"${part}" is no budget; did you mean "${toMeant(digits, unit)}"?`;
    }
  }
  return `"${part}" is no budget; write ${AMOUNT_FORM}`;
}

/** A unit of an amount, with the number of it that is meant. */
export type Unit = "tokens" | "turns" | "ms" | "cost";
export const UNITS: readonly Unit[] = ["tokens", "turns", "ms", "cost"];

/** A number of a unit as people write it, such as `50k tokens`. */
export function formatUnit(unit: Unit, count: number, currency: string | null): string {
  switch (unit) {
    case "tokens":
      return `${shortCount(count)} ${count === 1 ? "token" : "tokens"}`;
    case "turns":
      return `${count} ${count === 1 ? "turn" : "turns"}`;
    case "ms":
      return shortTime(count);
    case "cost":
      return `${Number(count.toFixed(count < 1 ? 4 : 2))} ${currency ?? ""}`.trim();
  }
}

/** The amount as `parseAmount` reads it, such as `50k-tokens,30m`. */
export function formatAmount(amount: Amount): string {
  const parts = UNITS.flatMap((unit) => {
    const count = amount[unit];
    if (count === null) return [];
    if (unit === "cost") return [`${count}${(amount.currency ?? "").toLowerCase()}`];
    return [unit === "ms" ? shortTime(count) : `${shortCount(count)}-${unit}`];
  });
  return parts.join(",");
}

/** A whole number with `k` or `M`, where that is exact or the number is large. */
function shortCount(count: number): string {
  if (count >= 1e6) return `${Number((count / 1e6).toFixed(2))}M`;
  if (count >= 1e4 || (count >= 1e3 && count % 100 === 0)) {
    return `${Number((count / 1e3).toFixed(1))}k`;
  }
  return String(Math.round(count));
}

/** A time such as `1h30m`; seconds only below an hour. */
function shortTime(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const parts = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds >= 3600 ? 0 : seconds % 60, "s"],
  ] as const;
  return parts.filter(([count]) => count > 0).map(([count, unit]) => `${count}${unit}`).join("") ||
    "0s";
}
