/** The steps from a line towards its beginning, in words. No I/O. */

import type { BlameLink } from "protocol/origins/blame.ts";

/** The parts of a step: its id, its name and its text. A part that repeats another is left out. */
export function stepParts({ id, name, text }: Pick<BlameLink, "id" | "name" | "text">): string[] {
  return [...new Set([id ?? "", name ?? "", text])].filter((part) => part !== "");
}
