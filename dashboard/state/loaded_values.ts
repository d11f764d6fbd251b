/**
 * Loaded values: the last ones are kept for a view to which a person returns, records that have not
 * changed keep their identity, and the ids in a value say which events concern it.
 */

/** Maximum values; the least recently used one is dropped. */
const KEPT_MAX = 12;

export class KeptValues {
  readonly #values = new Map<string, unknown>();

  keep(key: string, value: unknown): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > KEPT_MAX && oldest !== undefined) this.#values.delete(oldest);
  }

  /** Undefined for an unknown key. A key always has values of one type. */
  find<T>(key: string): T | undefined {
    const value = this.#values.get(key);
    if (value !== undefined) this.keep(key, value);
    return value as T | undefined;
  }
}

/** Maximum elements compared: comparing a longer list, as on the map, is slower than drawing. */
const LIST_MAX = 600;

/** `next` with all parts of `before` that are the same; `before` itself if nothing has changed. */
export function reuse<T>(before: T | undefined, next: T): T {
  return reuseValue(before, next) as T;
}

function reuseValue(before: unknown, next: unknown): unknown {
  if (Array.isArray(before) && Array.isArray(next)) return reuseList(before, next);
  return isRecord(before) && isRecord(next) ? reuseRecord(before, next) : next;
}

/** The elements of a list may have moved, as when a new one comes first. */
function reuseList(before: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  if (next.length > LIST_MAX) return next;
  const known = new Map(
    before.filter(isRecord).map((element) => [JSON.stringify(element), element]),
  );
  const list = next.map((element) =>
    isRecord(element) ? known.get(JSON.stringify(element)) ?? element : element
  );
  const isSame = list.length === before.length &&
    list.every((element, index) => element === before[index]);
  return isSame ? before : list;
}

function reuseRecord(
  before: Readonly<Record<string, unknown>>,
  next: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(next).map(([name, value]) =>
    [name, reuseValue(before[name], value)] as const
  );
  const isSame = entries.length === Object.keys(before).length &&
    entries.every(([name, value]) => value === before[name]);
  return isSame ? before : Object.fromEntries(entries);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
}

/** Maximum characters of an id. */
const ID_CHARS_MAX = 80;

/** All short texts in a value, which include its ids. */
export function idsIn(value: unknown, found: Set<string> = new Set()): ReadonlySet<string> {
  if (typeof value === "string") {
    if (value.length <= ID_CHARS_MAX) found.add(value);
  } else if (value instanceof Map) {
    for (const [key, element] of value) idsIn([key, element], found);
  } else if (typeof value === "object" && value !== null) {
    for (const element of Object.values(value)) idsIn(element, found);
  }
  return found;
}
