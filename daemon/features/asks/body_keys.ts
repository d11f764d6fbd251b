/** The keys of `/ask`: matched without regard to case, look-alikes of `to_peer` refused. */

import { Problem } from "kit/core/problem.ts";

/** The same where no arm picks a recipient: an absent `to_peer` is no target, before all else. */
export function foldNamedAskKeys(body: unknown): unknown {
  const ask = foldAskKeys(body);
  if (isRecord(ask) && !Object.hasOwn(ask, "to_peer")) throw new Problem("no_target", {});
  return ask;
}

/**
 * A string, with the colon that makes it a key; or what goes in and out of a level. A string that
 * is never closed matches, too: otherwise each of its quotes would be read to the end in vain.
 */
const TOKEN = /"([^"\\]*(?:\\.[^"\\]*)*)(?:"(\s*:)?)?|[{}[\]]/gs;

/** A key that comes twice in one spelling, which a parsed body does not show (contract 1). */
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
 * Only an absent `to_peer` is none; null, empty and blank ones name a peer that is unknown.
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

/** Wide, accented and otherwise dressed letters look alike, too. */
function latinLettersOf(key: string): string {
  return key.normalize("NFKD").replaceAll(/[^a-z]/g, "");
}

function isRecord(body: unknown): body is Record<string, unknown> {
  return typeof body === "object" && body !== null && !Array.isArray(body);
}
