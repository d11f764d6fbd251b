/** Sentences for people on what changed in a folder. */

import type { Changes } from "protocol/changes.ts";

interface Counts {
  readonly added: number | null;
  readonly removed: number | null;
}

/** Such as `+12 −3`; empty if nothing was counted. */
export function countsText({ added, removed }: Counts): string {
  if (added === null && removed === null) return "";
  return `+${(added ?? 0).toLocaleString("en-US")} −${(removed ?? 0).toLocaleString("en-US")}`;
}

type Titled =
  & Pick<Changes, "added" | "removed" | "files_total" | "commits" | "base">
  & Pick<Changes, "folder" | "root">;

/** Such as `+12 −3 in 4 files since main (3f9c04d, 2 commits)`. */
export function changesTitle(changes: Titled): string {
  const { files_total, folder, root } = changes;
  const files = files_total === 1 ? "1 file" : `${files_total.toLocaleString("en-US")} files`;
  const place = folder === root ? "" : " in its folder";
  const what = files_total === 0
    ? `no changes${place}`
    : `${countsText(changes)} in ${files}${place}`;
  return `${what} ${sinceText(changes)}`;
}

function sinceText({ base, commits }: Pick<Titled, "base" | "commits">): string {
  const commit = base?.commit?.slice(0, 7) ?? "";
  const count = commits === 1 ? "1 commit" : `${commits ?? "unknown"} commits`;
  switch (base?.how) {
    case "upstream":
    case "default_branch":
      return `since ${base.ref} (${commit}, ${count})`;
    case "unrelated":
      return `since the last commit (${commit}), which has none in common with ${base.ref}`;
    case "empty":
      return "before the first commit";
    default:
      return `since the last commit (${commit}); no branch point is known`;
  }
}
