/**
 * Matches paths against patterns: `*` and `?` within a name, `**` for any number of folders. The
 * time is bounded by the product of the lengths, so that a hostile pattern costs no more.
 */

/** A pattern in parts, and the facts that a search of folders needs. */
interface SplitGlob {
  readonly pattern: readonly string[];
  /** The folders at its beginning that hold no wildcard: only they are searched. */
  readonly fixed: readonly string[];
  /** Maximum number of parts of a matching path. */
  readonly depth_max: number;
}

export function splitGlob(glob: string): SplitGlob {
  const pattern = glob.split("/");
  const wild = pattern.findIndex((part) => /[*?]/.test(part));
  const fixed = pattern.slice(
    0,
    wild < 0 ? pattern.length - 1 : Math.min(wild, pattern.length - 1),
  );
  const depth_max = pattern.includes("**") ? Infinity : pattern.length;
  return { pattern, fixed, depth_max };
}

/** True if a path matches. Pattern and path are split into their parts. */
export function matchesGlob(pattern: readonly string[], path: readonly string[]): boolean {
  return matches(pattern, path, "**", matchesName);
}

function matchesName(pattern: string, name: string): boolean {
  return matches(
    [...pattern],
    [...name],
    "*",
    (wildcard, char) => wildcard === "?" || wildcard === char,
  );
}

/** Goes back only to the last wildcard: an earlier one cannot take more items than the last. */
function matches(
  pattern: readonly string[],
  items: readonly string[],
  any: string,
  matchesPart: (pattern: string, item: string) => boolean,
): boolean {
  let at = 0;
  let lastAny = -1;
  let retry = 0;
  for (let item = 0; item < items.length;) {
    const part = pattern[at];
    if (part === any) {
      lastAny = at++;
      retry = item;
    } else if (part !== undefined && matchesPart(part, items[item] ?? "")) {
      at++;
      item++;
    } else if (lastAny >= 0) {
      at = lastAny + 1;
      item = ++retry;
    } else {
      return false;
    }
  }
  while (pattern[at] === any) at++;
  return at === pattern.length;
}
