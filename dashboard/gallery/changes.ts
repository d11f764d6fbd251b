/** Sample changes of folders. */

import type { ChangedFile, Changes } from "../state/records.ts";

const NO_CHANGES: Changes = {
  state: "no_repository",
  detail: "Its folder is in no git repository",
  folder: "/home/sam/notes",
  root: null,
  branch: null,
  head: null,
  base: null,
  commits: null,
  operation: null,
  added: 0,
  removed: 0,
  files_total: 0,
  files: [],
  next: null,
  left_out: [],
  masked: 0,
  read_at: new Date().toISOString(),
};

const CHANGED: ChangedFile = {
  path: "src/login.ts",
  old_path: null,
  status: "modified",
  uncommitted: "both",
  added: 1,
  removed: 1,
  binary: false,
  hunks: [{ old_start: 1, new_start: 1, lines: [" one", "-two", "+⟨U+202E⟩three"] }],
  cut: true,
};

/** Changes in a folder: a merge with conflicts, and a folder without a repository. */
export const CHANGES: readonly Changes[] = [
  {
    ...NO_CHANGES,
    state: "ok",
    detail: null,
    root: "/home/sam",
    branch: "feature",
    base: { commit: "3f9c04d1a2b7", how: "default_branch", ref: "origin/main" },
    commits: 2,
    operation: "merge",
    added: 1,
    removed: 1,
    files_total: 4,
    files: [
      CHANGED,
      {
        ...CHANGED,
        path: "logo.png",
        status: "untracked",
        added: null,
        removed: null,
        binary: true,
      },
      { ...CHANGED, path: "b.ts", old_path: "a.ts", status: "renamed", hunks: [], cut: false },
      { ...CHANGED, path: "c.ts", status: "unmerged", hunks: null },
    ],
    left_out: [{ what: "some untracked files", why: "git took too long" }],
  },
  NO_CHANGES,
];
