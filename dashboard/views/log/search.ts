/** A search of the log: its filters, its request, its title, and the searches that are kept. */

import { tryJson } from "kit/core/text.ts";

export const FILTERS = [
  "q",
  "peer",
  "from",
  "to",
  "since",
  "until",
  "circle",
  "kind",
  "state",
] as const;
/** Empty for no filter. `since` and `until` are local days, such as `2026-11-28`, both included. */
export type Filters = Readonly<Record<typeof FILTERS[number], string>>;

const SAVED_MAX = 20;
/** Maximum peers that are offered for a search. */
const NAMES_MAX = 5;
/** A shorter word is within too many names. */
const NAME_CHARS_MIN = 2;

export function filtersOf(valueOf: (name: string) => unknown): Filters {
  const values = FILTERS.map((name) => {
    const value = valueOf(name);
    return [name, typeof value === "string" ? value : ""];
  });
  return Object.fromEntries(values);
}

export function isFiltered(filters: Filters): boolean {
  return FILTERS.some((name) => filters[name].trim() !== "");
}

/** The parameters of the request. A day that cannot be read is no filter. */
export function queryOf(filters: Filters): Record<string, string> {
  const { since, until, ...others } = filters;
  const given = Object.entries({
    ...others,
    since: instantOf(since, 0),
    until: instantOf(until, 1),
  });
  return Object.fromEntries(given.filter(([, value]) => value.trim() !== ""));
}

/** The start of a local day, some days later; empty for a text that is not a day. */
function instantOf(day: string, later: number): string {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day) ?? [];
  if (!year || !month || !date) return "";
  const at = new Date(Number(year), Number(month) - 1, Number(date) + later);
  return at.getTime() < 0 ? new Date(0).toISOString() : at.toISOString();
}

/** A title of a search, which no other search has. */
export function titleOf(filters: Filters): string {
  const parts = FILTERS.flatMap((name) => {
    const value = filters[name].trim();
    if (value === "") return [];
    return name === "q" ? [value] : [`${name} ${value}`];
  });
  return parts.join(" · ");
}

/** The searches with one more; the oldest is dropped if there are too many. */
export function withSearch(saved: readonly Filters[], filters: Filters): Filters[] {
  return [...saved, filters].slice(-SAVED_MAX);
}

/** The kept searches; none if the text is not theirs. */
export function readSearches(text: string | null): Filters[] {
  const kept = text === null ? undefined : tryJson(text);
  if (!Array.isArray(kept)) return [];
  return kept.filter((search) => typeof search === "object" && search !== null)
    .map((search) => filtersOf((name) => search[name]))
    .filter(isFiltered)
    .slice(-SAVED_MAX);
}

/** The names that contain a word of the search. */
export function namesIn(q: string, names: readonly string[]): string[] {
  const words = q.toLowerCase().split(/[\s"*]+/).filter((word) => word.length >= NAME_CHARS_MIN);
  const found = [...new Set(names)].filter((name) =>
    words.some((word) => name.toLowerCase().includes(word))
  );
  return found.slice(0, NAMES_MAX);
}
