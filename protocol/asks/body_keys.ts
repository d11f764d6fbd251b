/**
 * Normalizes the keys of an `/ask` body. Keys match in any case; keys that look like `to_peer` are
 * refused.
 */

import { Problem } from "protocol/problems.ts";

/** `foldAskKeys` for `routing.strategy: static`, where a body without `to_peer` is refused, too. */
export function foldNamedAskKeys(body: unknown): unknown {
  const ask = foldAskKeys(body);
  if (isRecord(ask) && !Object.hasOwn(ask, "to_peer")) throw new Problem("no_target", {});
  return ask;
}

/**
 * Refuses a valid JSON text in which a top-level key occurs twice in the same spelling. JSON.parse
 * would silently keep the last one (contract 1).
 */
export function refuseRepeatedKeys(text: string): void {
  const seen = new Set<string>();
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    if (character !== '"') continue;
    const start = at + 1;
    at = endOfString(text, start);
    if (depth !== 1 || !isFollowedByColon(text, at)) continue;
    const name = text.slice(start, at);
    const key: string = name.includes("\\") ? JSON.parse(`"${name}"`) : name;
    if (seen.has(key)) throw new Problem("repeated_key", { key });
    seen.add(key);
  }
}

/** The index of the quote that ends a JSON string; `start` is the index after its first quote. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - backslashes - 1] === "\\") backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

function isFollowedByColon(text: string, quote: number): boolean {
  let at = quote + 1;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at++;
  return text[at] === ":";
}

/**
 * Folds top-level keys to lower case (contract 1, "Keys of /ask"; specification 7, routing rules).
 * A `to_peer` that is null, empty or blank counts as an unknown peer, not as absent.
 */
export function foldAskKeys(body: unknown): unknown {
  if (!isRecord(body)) return body;
  const isFolded = Object.keys(body).every((key) => key === key.toLowerCase());
  const ask = isFolded ? body : toLowerCaseKeys(body);
  if (isFolded) Object.keys(body).forEach(refuseSimilarKey);
  const target = ask["to_peer"];
  if (target === null || (typeof target === "string" && target.trim() === "")) {
    throw new Problem("unknown_peer", { peer: String(target) });
  }
  return ask;
}

function toLowerCaseKeys(body: Record<string, unknown>): Record<string, unknown> {
  const folded: [string, unknown][] = [];
  const seen = new Set<string>();
  for (const [key, value] of Object.entries(body)) {
    const lower = key.toLowerCase();
    if (seen.has(lower)) throw new Problem("repeated_key", { key });
    refuseSimilarKey(key);
    seen.add(lower);
    folded.push([lower, value]);
  }
  return Object.fromEntries(folded);
}

/** Matches a key whose Latin letters are those of `to_peer`, in lower case. */
const SIMILAR_TO_PEER = /^[^a-z]*t[^a-z]*o[^a-z]*p[^a-z]*e[^a-z]*e[^a-z]*r[^a-z]*$/;
const ASCII = /^[\0-\x7f]*$/;

/** Refuses a key that looks like `to_peer`. NFKD decomposes wide, accented and styled letters. */
function refuseSimilarKey(key: string): void {
  const lower = key.toLowerCase();
  const letters = ASCII.test(lower) ? lower : lower.normalize("NFKD");
  if (lower !== "to_peer" && SIMILAR_TO_PEER.test(letters)) {
    throw new Problem("unknown_key", { key, meant: "to_peer" });
  }
}

function isRecord(body: unknown): body is Record<string, unknown> {
  return typeof body === "object" && body !== null && !Array.isArray(body);
}
