import assert from "node:assert/strict";
import { join } from "node:path";
import { touchedFiles } from "../../../../daemon/features/handoffs/touched_files.ts";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";

const { signal } = new AbortController();
const filesIn = (folder: string | null) =>
  touchedFiles({ turns: [], named: [], folder }, { host: realGit, signal });

Deno.test("git's changed files are named without running a program of the repository's configuration", async () => {
  using repo = new TestRepository();
  repo.write("a.txt", "one\n");
  repo.write("sub/b.txt", "two\n");
  repo.write(".gitignore", "*.log\n");
  repo.commit();
  repo.write("a.txt", "changed\n");
  repo.write("staged.txt", "three\n");
  repo.git("add", "staged.txt");
  repo.write("sub/new.txt", "four\n");
  repo.write("x.log", "five\n");
  repo.write(".git/info/attributes", "* filter=bad\n");
  repo.git("config", "filter.bad.clean", repo.canary("clean"));
  repo.git("config", "core.fsmonitor", repo.canary("fsmonitor"));
  const { files, left_out } = await filesIn(repo.folder);
  assert.deepEqual([repo.ran(), left_out], [[], []]);
  assert.deepEqual(files, [
    { path: "a.txt", by: "git M" },
    { path: "staged.txt", by: "git A" },
    { path: "sub/new.txt", by: "git ??" },
  ]);
  assert.deepEqual((await filesIn(join(repo.folder, "sub"))).files, [
    { path: "sub/new.txt", by: "git ??" },
  ]);
});

Deno.test("a repository cannot name a folder above it as its own files", async () => {
  using repo = new TestRepository();
  repo.outside("private.txt", "x\n");
  repo.git("config", "core.worktree", repo.parent);
  assert.deepEqual((await filesIn(repo.folder)).files, []);
});

Deno.test("a folder without a repository says why no changed files are named", async () => {
  using repo = new TestRepository();
  const { files, left_out } = await filesIn(repo.parent);
  assert.deepEqual(files, []);
  assert.match(left_out[0]?.why ?? "", /in no git repository/);
  assert.match((await filesIn(null)).left_out[0]?.why ?? "", /not known/);
});
