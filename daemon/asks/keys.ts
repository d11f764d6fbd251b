/** The keys of `/ask`: matched without regard to case, look-alikes of `to_peer` refused. */

import { Problem } from "kit/problem.ts";

/** The same where no arm picks a recipient: an absent `to_peer` is no target, before all else. */
export function foldNamedAskKeys(body: unknown): unknown {
  const ask = foldAskKeys(body);
  if (isRecord(ask) && !Object.hasOwn(ask, "to_peer")) throw new Problem("no_target", {});
  return ask;
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
    if (seen.has(lower)) throw new Problem("unknown_key", { key, meant: lower });
    if (lower !== "to_peer" && lettersOf(lower) === "topeer") {
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
function lettersOf(key: string): string {
  return key.normalize("NFKD").replaceAll(/[^a-z]/g, "");
}

function isRecord(body: unknown): body is Record<string, unknown> {
  return typeof body === "object" && body !== null && !Array.isArray(body);
}
