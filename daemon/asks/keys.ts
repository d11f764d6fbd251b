/** The keys of `/ask`: matched without regard to case, look-alikes of `to_peer` refused. */

import { Problem } from "kit/problem.ts";

/**
 * Folds top-level keys to lower case (contract 1, "Keys of /ask"; specification 7, routing rules).
 * Only an absent `to_peer` has no target; null, empty and blank ones name a peer that is unknown.
 */
export function foldAskKeys(body: unknown): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const folded: [string, unknown][] = [];
  const seen = new Set<string>();
  for (const [key, value] of Object.entries(body)) {
    const lower = key.toLowerCase();
    if (seen.has(lower)) throw new Problem("unknown_key", { key, meant: lower });
    if (lower !== "to_peer" && lower.replaceAll(/[^a-z]/g, "") === "topeer") {
      throw new Problem("unknown_key", { key, meant: "to_peer" });
    }
    seen.add(lower);
    folded.push([lower, value]);
  }
  if (!seen.has("to_peer")) throw new Problem("no_target", {});
  const ask = Object.fromEntries(folded);
  const target = ask["to_peer"];
  if (target === null || (typeof target === "string" && target.trim() === "")) {
    throw new Problem("unknown_peer", { peer: String(target) });
  }
  return ask;
}
