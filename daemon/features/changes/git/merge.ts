/** Merges two commits in memory, from git 2.38 on. No merge driver of the repository runs. */

import type { Git } from "./git.ts";

const NAMES_BYTES_MAX = 262_144;

interface Merge {
  /** The id of the merged files. */
  readonly tree: string;
  /** The files with conflicts, as far as the list is complete. */
  readonly conflicts: readonly string[];
  /** True if git merges them without a conflict. */
  readonly isClean: boolean;
}

export async function mergeOf(git: Git, first: string, second: string): Promise<Merge> {
  const merge = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"];
  const options = { bytes_max: NAMES_BYTES_MAX, writes: true, allowed: [0, 1] };
  const { text, cut } = await git.run([...merge, first, second], options);
  const [tree = "", ...rest] = text.split("\0");
  const names = rest.filter((name) => name !== "");
  // Of a list that is cut, the last name is not complete.
  const conflicts = cut === null ? names : names.slice(0, -1);
  return { tree, conflicts, isClean: names.length === 0 && cut === null };
}
