/** The ids in a loaded value, by which the page finds the events that concern it. */

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
