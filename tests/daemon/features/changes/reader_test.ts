/** The changes of a folder: what they hold, and the commit that they count from. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { changedLines, changesIn, summary } from "../../../support/repositories/reading.ts";
import { TestRepository } from "../../../support/repositories/repository.ts";
import { findRepository } from "../../../../daemon/features/changes/git/repository.ts";

Deno.test("commits since the branch point, staged, unstaged and untracked files are changes", async () => {
  using repo = new TestRepository();
  repo.write("kept.txt", "same\n");
  repo.write("old.txt", "one\ntwo\nthree\nfour\nfive\n");
  repo.write("gone.txt", "x\n");
  repo.write(".gitignore", "*.log\n");
  const base = repo.commit();
  repo.git("checkout", "-q", "-b", "feature");
  repo.write("committed.txt", "a\nb\n");
  repo.commit();
  repo.git("mv", "old.txt", "new.txt");
  repo.write("staged.txt", "s\n");
  repo.git("add", "staged.txt");
  repo.write("committed.txt", "a\nB\n");
  Deno.removeSync(join(repo.folder, "gone.txt"));
  repo.write("un tracked.txt", "u\nv");
  repo.write("x.log", "ignored\n");
  const found = await changesIn(repo.folder);
  assert.deepEqual(summary(found), [
    "added committed.txt +2 -0",
    "deleted gone.txt +0 -1",
    "renamed new.txt +0 -0",
    "added staged.txt +1 -0",
    "untracked un tracked.txt +2 -0",
  ]);
  assert.deepEqual(found.base, { commit: base, how: "default_branch", ref: "main" });
  assert.deepEqual([found.branch, found.commits, found.operation], ["feature", 1, null]);
  assert.deepEqual(found.files.map(({ uncommitted }) => uncommitted), [
    ...["unstaged", "unstaged", "staged", "staged", "unstaged"],
  ]);
  assert.equal(found.files[2]?.old_path, "old.txt");
  assert.deepEqual(changedLines(found, "committed.txt"), ["+a", "+B"]);
  assert.deepEqual(changedLines(found, "un tracked.txt"), ["+u", "+v"]);
});

Deno.test("the branch point is that of the upstream, of the nearest default branch, or HEAD", async () => {
  using repo = new TestRepository();
  repo.write("a", "1\n");
  const first = repo.commit();
  const alone = await changesIn(repo.folder);
  assert.deepEqual(alone.base, { commit: first, how: "head", ref: null });
  repo.git("update-ref", "refs/remotes/origin/main", first);
  repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main");
  repo.write("a", "2\n");
  const second = repo.commit();
  const unpushed = await changesIn(repo.folder);
  assert.deepEqual(unpushed.base, { commit: first, how: "default_branch", ref: "origin/main" });
  repo.git("checkout", "-q", "-b", "feature");
  repo.write("b", "1\n");
  repo.commit();
  const nearest = await changesIn(repo.folder);
  assert.deepEqual(nearest.base, { commit: second, how: "default_branch", ref: "main" });
  assert.deepEqual(summary(nearest), ["added b +1 -0"]);
  repo.git("update-ref", "refs/remotes/origin/develop", first);
  repo.git("config", "branch.feature.remote", "origin");
  repo.git("config", "branch.feature.merge", "refs/heads/develop");
  const upstream = await changesIn(repo.folder);
  assert.deepEqual(upstream.base, { commit: first, how: "upstream", ref: "origin/develop" });
  // A branch that was pushed under its own name still counts from the default branch.
  repo.git("config", "branch.feature.merge", "refs/heads/feature");
  repo.git("update-ref", "refs/remotes/origin/feature", "HEAD");
  assert.equal((await changesIn(repo.folder)).base.commit, second);
});

Deno.test("no commit yet, no branch, unrelated histories and a merge in progress are told", async () => {
  using repo = new TestRepository();
  repo.write("a", "1\n");
  repo.git("add", "a");
  const empty = await changesIn(repo.folder);
  assert.deepEqual([empty.head, empty.branch, empty.base.how], [null, "main", "empty"]);
  assert.deepEqual(summary(empty), ["added a +1 -0"]);
  const first = repo.commit();
  repo.git("checkout", "-q", "--detach");
  repo.write("b", "1\n");
  repo.commit();
  const detached = await changesIn(repo.folder);
  assert.deepEqual([detached.branch, detached.base.commit], [null, first]);
  repo.git("checkout", "-q", "--orphan", "other");
  repo.commit();
  assert.equal((await changesIn(repo.folder)).base.how, "unrelated");
  repo.git("checkout", "-q", "-b", "left", first);
  repo.write("a", "left\n");
  repo.commit();
  repo.git("checkout", "-q", "-b", "right", first);
  repo.write("a", "right\n");
  repo.commit();
  assert.throws(() => repo.git("merge", "left"));
  const merging = await changesIn(repo.folder);
  assert.equal(merging.operation, "merge");
  assert.deepEqual(merging.files.map(({ path, status }) => [path, status]), [["a", "unmerged"]]);
  assert.ok(changedLines(merging, "a").includes("+<<<<<<< HEAD"));
});

Deno.test("worktrees, folders in a repository, submodules and sha256 repositories are read", async () => {
  using repo = new TestRepository("--object-format=sha256");
  repo.write("sub/a", "1\n");
  repo.write("b", "1\n");
  repo.commit();
  const tree = join(repo.parent, "tree");
  repo.git("worktree", "add", "-q", "-b", "lane", tree);
  Deno.writeTextFileSync(join(tree, "sub/a"), "2\n");
  Deno.writeTextFileSync(join(tree, "b"), "2\n");
  const found = await changesIn(tree);
  assert.deepEqual(summary(found), ["modified b +1 -1", "modified sub/a +1 -1"]);
  assert.equal(found.head?.length, 64);
  assert.deepEqual(summary(await changesIn(join(tree, "sub"))), ["modified sub/a +1 -1"]);
  using outer = new TestRepository();
  using inner = new TestRepository();
  inner.write("i", "1\n");
  inner.commit();
  outer.gitIn(
    outer.folder,
    "-c",
    "protocol.file.allow=always",
    "submodule",
    "add",
    "-q",
    inner.folder,
    "in",
  );
  outer.commit();
  outer.git("checkout", "-q", "-b", "feature");
  Deno.writeTextFileSync(join(outer.folder, "in/i"), "2\n");
  assert.deepEqual(summary(await changesIn(outer.folder)), []);
  assert.deepEqual(summary(await changesIn(join(outer.folder, "in"))), ["modified i +1 -1"]);
  outer.gitIn(join(outer.folder, "in"), "commit", "-aqm", "moved");
  outer.git("commit", "-aqm", "moved");
  assert.deepEqual(summary(await changesIn(outer.folder)), ["submodule in +null -null"]);
});

Deno.test("a folder without a repository, a bare one, and none say so", () => {
  using repo = new TestRepository();
  assert.equal(findRepository(repo.parent), "no_repository");
  assert.equal(findRepository(join(repo.folder, "none")), "no_folder");
  assert.equal(findRepository("relative"), "no_folder");
  const bare = join(repo.parent, "bare");
  repo.git("clone", "-q", "--bare", repo.folder, bare);
  assert.equal(findRepository(bare), "bare");
});

Deno.test("binary files and modes are told, and the person's own ignored files are left out", async () => {
  using repo = new TestRepository();
  repo.write("picture", Uint8Array.from([1, 0, 2]));
  repo.write("run.sh", "x\n");
  repo.commit();
  repo.write("picture", Uint8Array.from([1, 0, 3]));
  repo.write("new picture", Uint8Array.from([1, 0, 2]));
  Deno.chmodSync(join(repo.folder, "run.sh"), 0o755);
  repo.write("notes.mine", "x\n");
  repo.write(".git/info/exclude", "*.mine\n");
  assert.deepEqual(summary(await changesIn(repo.folder)), [
    "untracked new picture binary",
    "modified picture binary",
    "modified run.sh +0 -0",
  ]);
});
