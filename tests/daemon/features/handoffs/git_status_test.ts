import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { join } from "kit/core/path.ts";
import { gitStatus } from "../../../../daemon/features/handoffs/touched_files.ts";
import { programRunnerOf } from "../../../../daemon/host/programs.ts";

const { signal } = new AbortController();
const ENV = {
  PATH: Deno.env.get("PATH") ?? "",
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@example.com",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@example.com",
};
const programs = programRunnerOf(systemClock, ENV);

/** A repository with a commit, a changed file, a staged one, a new one and an ignored one. */
async function repository() {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "mesh-git-" }));
  const folder = join(dir, "work");
  const write = (name: string, text: string) => Deno.writeTextFile(join(folder, name), text);
  const git = async (...args: string[]) => {
    const options = { cwd: folder, timeout_ms: 20_000, signal };
    const { exit, output } = await programs.run(["git", ...args], options);
    assert.equal(exit, 0, output);
  };
  await Deno.mkdir(join(folder, "sub"), { recursive: true });
  await git("init", "-q");
  await write("a.txt", "one");
  await write("sub/b.txt", "two");
  await write(".gitignore", "*.log\n");
  await git("add", ".");
  await git("commit", "-q", "-m", "x");
  await write("a.txt", "changed");
  await write("staged.txt", "three");
  await git("add", "staged.txt");
  await write("sub/new.txt", "four");
  await write("x.log", "five");
  return {
    folder,
    /** The folder in which programs of a hostile configuration would leave their marks. */
    marks: join(dir, "marks"),
    git,
    write,
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

Deno.test("git's changed files are named without running a program of the repository's configuration", async () => {
  await using repo = await repository();
  const { folder, marks, git, write } = repo;
  await Deno.mkdir(marks);
  const mark = (name: string) => `sh -c 'touch "${marks}/${name}"; cat'`;
  await write(".gitattributes", "*.txt filter=bad diff=bad\n");
  await write(".git/info/attributes", "* filter=bad\n");
  await Deno.mkdir(join(folder, ".git/bad-hooks"));
  const hook = join(folder, ".git/bad-hooks/post-index-change");
  await Deno.writeTextFile(hook, `#!/bin/sh\ntouch "${marks}/hook"\n`, { mode: 0o755 });
  await git("config", "core.hooksPath", ".git/bad-hooks");
  await git("config", "filter.bad.process", mark("process"));
  await git("config", "filter.bad.clean", mark("clean"));
  await git("config", "diff.external", mark("external"));
  await git("config", "diff.bad.textconv", mark("textconv"));
  await git("config", "core.fsmonitor", mark("fsmonitor"));
  const { changed, left_out } = await gitStatus(folder, { programs, signal });
  assert.deepEqual([...Deno.readDirSync(marks)].map(({ name }) => name), []);
  assert.deepEqual(left_out, []);
  assert.deepEqual(changed, [
    { path: "a.txt", by: "M" },
    { path: "staged.txt", by: "A" },
    { path: ".gitattributes", by: "??" },
    { path: "sub/new.txt", by: "??" },
  ]);
});

Deno.test("nothing is fetched for a repository whose objects are missing", async () => {
  await using repo = await repository();
  const { folder, marks, git } = repo;
  await Deno.mkdir(marks);
  await git("config", "extensions.partialClone", "far");
  await git("config", "core.repositoryFormatVersion", "1");
  await git("config", "remote.far.url", folder);
  await git("config", "remote.far.promisor", "true");
  await git("config", "remote.far.uploadpack", `touch "${marks}/fetched"; false`);
  await Deno.remove(join(folder, ".git/objects"), { recursive: true });
  await Deno.mkdir(join(folder, ".git/objects"));
  const { changed, left_out } = await gitStatus(folder, { programs, signal });
  assert.deepEqual([...Deno.readDirSync(marks)], []);
  assert.deepEqual(changed, []);
  assert.match(left_out[0]?.why ?? "", /`git status` failed/);
});

Deno.test("a repository that claims a root elsewhere is not looked at, and only the folder is", async () => {
  await using repo = await repository();
  const { folder, git } = repo;
  const inSub = await gitStatus(join(folder, "sub"), { programs, signal });
  assert.deepEqual(inSub.changed, [{ path: "sub/new.txt", by: "??" }]);
  await git("config", "core.worktree", join(folder, "sub"));
  const { changed, left_out } = await gitStatus(folder, { programs, signal });
  assert.deepEqual([changed, left_out.length], [[], 1]);
});
