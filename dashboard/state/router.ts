/** Addresses of views: `#/peers/peer-1?kind=ask`. */

import { signal } from "@preact/signals";
import { keepText, readKept } from "./browser/storage.ts";

export interface Route {
  /** The name of the view, such as `peers`. */
  readonly view: string;
  /** The id of the record; empty for the whole view. */
  readonly id: string;
  readonly query: URLSearchParams;
}

export const HOME = "attention";
export const route = signal<Route>(parse(location.hash));

/** The link to a view, to one of its records, and to a filter of it. */
export function link(view: string, id = "", query: Record<string, string> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const search = new URLSearchParams(given).toString();
  return `#/${view}${id && `/${encodeURIComponent(id)}`}${search && `?${search}`}`;
}

export function go(to: string): void {
  location.hash = to;
}

/** Parts of an address that a person prefers, and that hold until another choice. */
const PREFERENCES: Readonly<Record<string, readonly string[]>> = {
  mesh: ["tab", "dense", "sort"],
  schedules: ["tab"],
};

/** A part of the address or, without it, the person's last choice in this view. */
export function preferred(name: string): string | null {
  const { view, query } = route.value;
  return query.get(name) ?? readKept(keyOf(view, name));
}

const keyOf = (view: string, name: string) => `mesh-prefers ${view} ${name}`;

/** Changes filters of the current view without a new entry in the history. */
export function filter(changes: Record<string, string>): void {
  // The address may be newer than `route`, which follows with the next event.
  const { view, id, query } = parse(location.hash);
  const next = { ...Object.fromEntries(query), ...changes };
  for (const name of PREFERENCES[view] ?? []) {
    const value = changes[name];
    if (value !== undefined) keepText(keyOf(view, name), value);
  }
  history.replaceState(history.state, "", link(view, id, next));
  route.value = parse(location.hash);
}

export function readAddress(): void {
  route.value = parse(location.hash);
}

function parse(hash: string): Route {
  // Another fragment, such as a ticket, names no view.
  const address = hash.startsWith("#/") ? hash.slice(2) : "";
  const [path = "", search = ""] = address.split("?", 2);
  const [view = "", id = ""] = path.split("/");
  return { view: view || HOME, id: decode(id), query: new URLSearchParams(search) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
