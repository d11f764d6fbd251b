/**
 * Normalizes the keys of an `/ask` body. Keys match in any case; keys that look like `to_peer` are
 * refused.
 */

import { Problem } from "kit/core/problem.ts";

/** `foldAskKeys` for `routing.strategy: static`, where a body without `to_peer` is refused, too. */
export function foldNamedAskKeys(body: unknown): unknown {
  const ask = foldAskKeys(body);
  if (isRecord(ask) && !Object.hasOwn(ask, "to_peer")) throw new Problem("no_target", {});
  return ask;
}

/**
 * Matches a JSON string (with the colon after it if it is a key) or a bracket. An unclosed string
 * matches, too, because otherwise the search would restart at each later quote and take quadratic
 * time.
 */
const TOKEN = /"([^"\\]*(?:\\.[^"\\]*)*)(?:"(\s*:)?)?|[{}[\]]/gs;

/**
 * Refuses a body in which a top-level key occurs twice in the same spelling. JSON.parse would
 * silently keep the last one (contract 1).
 */
export function refuseRepeatedKeys(text: string): void {
  const seen = new Set<string>();
  let depth = 0;
  for (const [token, name, colon] of text.matchAll(TOKEN)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (depth === 1 && colon !== undefined) {
      const key: string = JSON.parse(`"${name}"`);
      if (seen.has(key)) throw new Problem("repeated_key", { key });
      seen.add(key);
    }
  }
}

/**
 * Folds top-level keys to lower case (contract 1, "Keys of /ask"; specification 7, routing rules).
 * A `to_peer` that is null, empty or blank counts as an unknown peer, not as absent.
 */
export function foldAskKeys(body: unknown): unknown {
  if (!isRecord(body)) return body;
  const folded: [string, unknown][] = [];
  const seen = new Set<string>();
  for (const [key, value] of Object.entries(body)) {
    const lower = key.toLowerCase();
    if (seen.has(lower)) throw new Problem("repeated_key", { key });
    if (lower !== "to_peer" && latinLettersOf(lower) === "topeer") {
      throw new Problem("unknown_key", { key, meant: "to_peer" });
    }
    seen.add(lower);
    folded.push([lower, value]);
  }
  const ask = Object.fromEntries(folded);
  const target = ask["to_peer"];
  if (target === null || (typeof target === "string" && target.trim() === "")) {
    throw new Problem("unknown_peer", { peer: String(target) });
  }
  return ask;
}

/** The Latin base letters of a key. NFKD decomposes wide, accented and styled letters into them. */
function latinLettersOf(key: string): string {
  return key.normalize("NFKD").replaceAll(/[^a-z]/g, "");
}

function isRecord(body: unknown): body is Record<string, unknown> {
  return typeof body === "object" && body !== null && !Array.isArray(body);
}
