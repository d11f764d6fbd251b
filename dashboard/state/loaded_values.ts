/** Records that have not changed keep their identity, so that nothing renders them again. */

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
