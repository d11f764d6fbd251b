/** Sentences on folders of which no changes can be shown. */

import type { ChangesState } from "protocol/changes.ts";

// deno-fmt-ignore
export const DETAILS: Readonly<Record<ChangesState, string | null>> = {
  ok:            null,
  no_folder:     "Its folder is not known, or does not exist",
  no_repository: "Its folder is in no git repository",
  bare:          "Its folder is a bare git repository, which has no files",
  elsewhere:     "The repository of its folder leads to other folders, which are not read",
  unsupported:   "The repository of its folder has a form that cannot be read: reftable",
  git_missing:   "git is not installed on its machine",
  git_failed:    "git cannot read the repository: something in it is damaged, missing, or no file",
  too_slow:      "git did not read the repository in time",
};
