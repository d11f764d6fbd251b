/** The ids in what was loaded, by which events are told apart. */

/** No id is longer. */
const ID_CHARS_MAX = 80;

/** Each short text in a value; an id is one of them. */
export function idsIn(value: unknown, found: Set<string> = new Set()): ReadonlySet<string> {
  if (typeof value === "string") {
    if (value.length <= ID_CHARS_MAX) found.add(value);
  } else if (value instanceof Map) {
    for (const [key, one] of value) idsIn([key, one], found);
  } else if (typeof value === "object" && value !== null) {
    for (const one of Object.values(value)) idsIn(one, found);
  }
  return found;
}
