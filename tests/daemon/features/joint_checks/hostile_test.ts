/** Joint checks of repositories and programs that misbehave, or that are unusual. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { isAlive } from "../../../../daemon/host/processes.ts";
import { CHECK, failTogether, jointWorld } from "../../../support/repositories/joint_world.ts";
import { TestRepository } from "../../../support/repositories/repository.ts";

Deno.test("no program that a repository names runs, and nothing in it is written", async () => {
  await using at = await jointWorld();
  failTogether(at);
  const { repo } = at;
  const names = ["filter.bad.clean", "filter.bad.smudge", "merge.bad.driver", "core.fsmonitor"];
  for (const name of names) repo.git("config", name, repo.canary(name));
  repo.git("config", "filter.bad.required", "true");
  Deno.writeTextFileSync(join(repo.folder, ".git/info/attributes"), "* filter=bad merge=bad\n");
  at.write("api", ".gitattributes", "* filter=bad merge=bad\n");
  for (const hook of ["post-checkout", "post-index-change", "reference-transaction"]) {
    const path = join(repo.folder, ".git/hooks", hook);
    Deno.writeTextFileSync(path, `#!/bin/sh\n${repo.canary(hook)}\n`);
    Deno.chmodSync(path, 0o755);
  }
  const count = () => [...Deno.readDirSync(join(repo.folder, ".git/objects"))].length;
  const before = count();
  assert.equal((await at.pass()).repositories[0].pairs[0].result, "failed");
  assert.deepEqual([repo.ran(), count()], [[], before]);
});

Deno.test("links, nested repositories and folders that a check closes leave nothing behind", async () => {
  const script = "mkdir -p shut/deep && chmod 0 shut; sleep 300 >/dev/null 2>&1 & exit 0";
  const argv = ["sh", "-c", script];
  await using at = await jointWorld({ argv });
  failTogether(at);
  Deno.symlinkSync("/etc/passwd", join(at.trees.api, "link"));
  Deno.mkdirSync(join(at.trees.api, "nested"));
  at.repo.gitIn(join(at.trees.api, "nested"), "init", "-q");
  Deno.writeTextFileSync(join(at.trees.api, "nested", "x"), "x");
  const [{ pairs: [pair] }] = (await at.pass()).repositories;
  assert.equal(pair.result, "passed");
  assert.deepEqual([...Deno.readDirSync(join(at.w.files_dir, "joint-checks"))], []);
});

Deno.test("processes that a check leaves behind end with it, in a session of their own, too", async () => {
  const file = join(Deno.makeTempDirSync(), "pids");
  const left =
    `sleep 300 & echo $! >> ${file}; setsid sh -c 'echo $$ >> ${file}; exec sleep 300' &`;
  await using at = await jointWorld({ argv: ["sh", "-c", `${left} sleep 0.2; ${CHECK}`] });
  failTogether(at);
  assert.equal((await at.pass()).repositories[0].pairs[0].result, "failed");
  const pids = Deno.readTextFileSync(file).trim().split("\n").map(Number);
  assert.ok(pids.length >= 6, "three checks ran or more");
  assert.deepEqual(pids.filter((pid) => isAlive(pid)), []);
  Deno.removeSync(dirname(file), { recursive: true });
});

Deno.test("of an output of 100 MB, the end is kept", async () => {
  const print = 'yes "a long line of output" | head -c 100000000; echo the end';
  await using at = await jointWorld({ argv: ["sh", "-c", `${print}; ${CHECK}`] });
  failTogether(at);
  const [{ pairs: [pair] }] = (await at.pass()).repositories;
  assert.equal(pair.result, "failed");
  assert.ok(pair.detail.length <= 4_096);
  assert.match(pair.detail, /the end\nboth\n$/);
});

for (
  const [what, options] of Object.entries({
    "a folder with spaces, a colon, quotes and a line break": { folder: 'a: "b"\nc\\d' },
    "SHA-256": { init: ["--object-format=sha256"] },
  })
) {
  Deno.test(`a repository with ${what} is joined`, async () => {
    await using at = await jointWorld(options);
    failTogether(at);
    assert.equal((await at.pass()).repositories[0].pairs[0].result, "failed");
    assert.equal((await at.messages("api")).length, 1);
  });
}

Deno.test("a sparse work tree is joined with the files that it leaves out", async () => {
  const argv = ["sh", "-c", `test -e far/b.txt || exit 3; ${CHECK}`];
  await using at = await jointWorld({ argv, prepare: (repo) => repo.write("far/b.txt", "b\n") });
  at.repo.gitIn(at.trees.api, "sparse-checkout", "set", "--cone", "--sparse-index");
  assert.throws(() => Deno.lstatSync(join(at.trees.api, "far")));
  failTogether(at);
  const [{ pairs: [pair], work_trees }] = (await at.pass()).repositories;
  assert.equal(pair.result, "failed");
  assert.deepEqual(work_trees.map(({ files }: { files: number }) => files), [1, 1]);
});

Deno.test("a submodule is an empty folder in the joined work", async () => {
  using inner = new TestRepository();
  inner.write("inside.txt", "inside\n");
  inner.commit();
  const argv = ["sh", "-c", `test -d sub && test ! -e sub/inside.txt || exit 3; ${CHECK}`];
  const prepare = (repo: TestRepository) =>
    void repo.git("submodule", "--quiet", "add", inner.folder, "sub");
  await using at = await jointWorld({ argv, prepare });
  failTogether(at);
  const [{ pairs: [pair], work_trees }] = (await at.pass()).repositories;
  const results = work_trees.map(({ result }: { result: string }) => result);
  assert.deepEqual([pair.result, results], ["failed", ["passed", "passed"]]);
});

Deno.test("a work tree whose branch was deleted is not joined, and says why", async () => {
  await using at = await jointWorld();
  failTogether(at);
  at.repo.git("update-ref", "-d", "refs/heads/work-web");
  const [{ pairs: [pair], work_trees }] = (await at.pass()).repositories;
  const web = work_trees.find(({ name }: { name: string }) => name === "web");
  assert.deepEqual([pair.result, web.detail], ["unknown", "its branch has no commit"]);
});

Deno.test("work with more than 100,000 files is not checked, and says why", async () => {
  const names = Array.from({ length: 1_010 }, (_, at) => `many/${at}`);
  await using at = await jointWorld({
    prepare: (repo) => names.forEach((name) => repo.write(name, "")),
  });
  const git = (...args: string[]) => at.repo.gitIn(at.trees.api, ...args);
  let many = git("rev-parse", "HEAD:many");
  for (const [level, times] of [10, 10].entries()) {
    for (let at = 0; at < times; at++) git("read-tree", `--prefix=all${level}/${at}/`, many);
    many = git("rev-parse", `${git("write-tree")}:all${level}`);
  }
  git("commit", "-q", "-m", "many files");
  git("sparse-checkout", "set", "--no-cone", "/a.txt");
  failTogether(at);
  const [{ pairs: [pair] }] = (await at.pass()).repositories;
  const why = "the repository is too large to be checked in a temporary folder";
  assert.deepEqual([pair.result, pair.detail], ["unknown", why]);
});
