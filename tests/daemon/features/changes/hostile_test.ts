/** Repositories that try to run programs, to leave their folder, or to exhaust the machine. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { changedLines, changesIn, summary } from "../../../support/repositories/reading.ts";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";
import { findRepository } from "../../../../daemon/features/changes/git/repository.ts";
import type { OutputOptions } from "../../../../daemon/host/program_output.ts";

const SECRET = "outside of the folder";

/** All settings that name a program, as of git 2.47. */
function nameProgramsIn(repo: TestRepository): void {
  const { git } = { git: (name: string, value: string) => repo.git("config", name, value) };
  for (
    const name of [
      ...["core.fsmonitor", "core.pager", "core.editor", "core.askPass", "core.sshCommand"],
      ...["core.gitProxy", "core.alternateRefsCommand", "diff.external", "diff.bad.command"],
      ...["diff.bad.textconv", "filter.bad.clean", "filter.bad.smudge", "filter.bad.process"],
      ...["merge.bad.driver", "credential.helper", "gpg.program", "gpg.ssh.program"],
      ...["gpg.ssh.defaultKeyCommand", "sequence.editor", "pager.diff", "pager.status"],
      ...["pager.log", "interactive.diffFilter", "uploadpack.packObjectsHook", "help.browser"],
      ...["trailer.bad.command", "alias.diff", "alias.status", "remote.far.uploadpack"],
      ...["hook.bad.command", "diff.tool", "man.viewer"],
    ]
  ) git(name, repo.canary(name));
  const flags = {
    "log.showSignature": "true",
    "filter.bad.required": "true",
    "core.bare": "false",
  };
  for (const [name, value] of Object.entries(flags)) git(name, value);
  git("core.hooksPath", join(repo.folder, "hooks"));
  git("hook.bad.event", "post-index-change");
  git("include.path", join(repo.folder, "more.config"));
}

Deno.test("no program that a repository names is run, and nothing in it is written [4.changes.hostile]", async () => {
  using repo = new TestRepository();
  repo.write("a.txt", "one\n");
  repo.write("b.txt", "one\n");
  repo.commit();
  repo.write("a.txt", "two\n");
  nameProgramsIn(repo);
  repo.write(
    "more.config",
    `[filter "bad"]\n\tclean = ${JSON.stringify(repo.canary("included"))}\n`,
  );
  repo.write(".gitattributes", "* filter=bad diff=bad merge=bad\n");
  repo.write(".git/info/attributes", "* filter=bad diff=bad\n");
  for (const folder of ["hooks", ".git/hooks"]) {
    for (const hook of ["post-index-change", "fsmonitor-watchman", "reference-transaction"]) {
      repo.write(`${folder}/${hook}`, `#!/bin/sh\n${repo.canary(hook)}\n`);
      Deno.chmodSync(join(repo.folder, folder, hook), 0o755);
    }
  }
  const index = join(repo.folder, ".git/index");
  Deno.utimeSync(join(repo.folder, "b.txt"), new Date(1), new Date(1));
  const before = [
    Deno.readFileSync(index),
    [...Deno.readDirSync(join(repo.folder, ".git"))].length,
  ];
  const found = await changesIn(repo.folder);
  assert.deepEqual(repo.ran(), []);
  assert.ok(summary(found).includes("modified a.txt +1 -1"));
  assert.ok(!summary(found).some((line) => line.includes("b.txt")));
  const after = [Deno.readFileSync(index), [...Deno.readDirSync(join(repo.folder, ".git"))].length];
  assert.deepEqual(after, before);
  // The canaries are real: git itself would run them.
  assert.throws(() => repo.git("diff", "--stat"));
  assert.notDeepEqual(repo.ran(), []);
});

Deno.test("nothing is fetched for objects that are missing [4.changes.hostile]", async () => {
  using repo = new TestRepository();
  repo.write("a", "1\n");
  repo.commit();
  repo.write("a", "2\n");
  const settings = {
    "core.repositoryFormatVersion": "1",
    "extensions.partialClone": "far",
    "remote.far.promisor": "true",
    "remote.far.url": repo.folder,
    "remote.far.uploadpack": repo.canary("fetched"),
  };
  for (const [name, value] of Object.entries(settings)) repo.git("config", name, value);
  Deno.removeSync(join(repo.folder, ".git/objects"), { recursive: true });
  Deno.mkdirSync(join(repo.folder, ".git/objects"));
  await assert.rejects(changesIn(repo.folder), { why: "git_failed" });
  assert.deepEqual(repo.ran(), []);
});

Deno.test("a repository whose parts lie elsewhere is not read [4.changes.hostile]", () => {
  using other = new TestRepository();
  other.write("private", `${SECRET}\n`);
  other.commit();
  const otherGit = join(other.folder, ".git");
  const cases: Readonly<Record<string, (repo: TestRepository) => void>> = {
    "a link to another .git": (repo) => {
      Deno.removeSync(join(repo.folder, ".git"), { recursive: true });
      Deno.symlinkSync(otherGit, join(repo.folder, ".git"));
    },
    "a file that names another .git": (repo) => {
      Deno.removeSync(join(repo.folder, ".git"), { recursive: true });
      repo.write(".git", `gitdir: ${otherGit}\n`);
    },
    "a work tree that only it names": (repo) => {
      const { folder } = repo;
      Deno.renameSync(join(folder, ".git"), join(folder, "git"));
      repo.write("git/gitdir", join(folder, ".git"));
      repo.write("git/commondir", otherGit);
      repo.write(".git", `gitdir: ${join(folder, "git")}\n`);
    },
    "alternates": (repo) => repo.write(".git/objects/info/alternates", `${otherGit}/objects\n`),
    "linked objects": (repo) => {
      Deno.removeSync(join(repo.folder, ".git/objects"), { recursive: true });
      Deno.symlinkSync(join(otherGit, "objects"), join(repo.folder, ".git/objects"));
    },
    "a linked folder of objects": (repo) => {
      const [name = ""] = [...Deno.readDirSync(join(otherGit, "objects"))].map(({ name }) => name);
      Deno.symlinkSync(join(otherGit, "objects", name), join(repo.folder, ".git/objects/zz"));
    },
    "a linked index": (repo) => {
      Deno.symlinkSync(join(otherGit, "index"), join(repo.folder, ".git/index"));
    },
    "linked branches": (repo) => {
      Deno.removeSync(join(repo.folder, ".git/refs"), { recursive: true });
      Deno.symlinkSync(join(otherGit, "refs"), join(repo.folder, ".git/refs"));
    },
  };
  for (const [name, change] of Object.entries(cases)) {
    using repo = new TestRepository();
    change(repo);
    assert.equal(findRepository(repo.folder), "elsewhere", name);
  }
});

Deno.test("a configured work tree and a common folder elsewhere are ignored", async () => {
  using repo = new TestRepository();
  repo.write("a", "1\n");
  repo.commit();
  repo.outside("private", `${SECRET}\n`);
  repo.git("config", "core.worktree", repo.parent);
  repo.write(".git/commondir", "/nonexistent");
  repo.write("b", "1\n");
  assert.deepEqual(summary(await changesIn(repo.folder)), ["untracked b +1 -0"]);
});

Deno.test("links in the folder are shown as links, and are not followed [4.changes.hostile]", async () => {
  using repo = new TestRepository();
  const secret = repo.outside("private", `${SECRET}\n`);
  repo.write("file", "1\n");
  repo.write("dir/private", "inside\n");
  repo.commit();
  Deno.removeSync(join(repo.folder, "file"));
  Deno.symlinkSync(secret, join(repo.folder, "file"));
  Deno.removeSync(join(repo.folder, "dir"), { recursive: true });
  Deno.symlinkSync(repo.parent, join(repo.folder, "dir"));
  Deno.symlinkSync(secret, join(repo.folder, "untracked"));
  Deno.symlinkSync(secret, join(repo.folder, ".gitignore"));
  const found = await changesIn(repo.folder);
  assert.ok(!JSON.stringify(found.files).includes(SECRET));
  assert.ok(changedLines(found, "file").includes(`+${secret}`));
  assert.ok(summary(found).includes("deleted dir/private +0 -1"));
  assert.ok(summary(found).includes("untracked untracked binary"));
});

Deno.test("a file that lies beyond a link is not read, even if it is named as untracked", async () => {
  using repo = new TestRepository();
  repo.commit();
  repo.outside("private", `${SECRET}\n`);
  Deno.mkdirSync(join(repo.folder, "dir"));
  repo.write("dir/private", "inside\n");
  const { readOutput } = realGit;
  const git = {
    ...realGit,
    // Between git's answer and our reading, the folder becomes a link.
    readOutput: async (argv: readonly string[], options: OutputOptions) => {
      const output = await readOutput(argv, options);
      if (argv.includes("status")) {
        Deno.removeSync(join(repo.folder, "dir"), { recursive: true });
        Deno.symlinkSync(repo.parent, join(repo.folder, "dir"));
      }
      return output;
    },
  };
  const found = await changesIn(repo.folder, { git });
  assert.ok(!JSON.stringify(found).includes(SECRET));
});

Deno.test("names and lines show hidden characters, and cannot forge a file [4.changes.masked]", async () => {
  using repo = new TestRepository();
  repo.commit();
  const names = [
    "a\n@@ -1 +1 @@\n+forged",
    "\u202egpj.exe",
    "\x1b[31mred",
    'q"uote\\',
    "tab\t",
    "ü",
  ];
  for (const name of names) {
    repo.write(name, "diff --git a/x b/x\n@@ -1 +1 @@\n+x\x1b[2J\u202e\r\n");
  }
  repo.git("add", ".");
  const found = await changesIn(repo.folder);
  assert.deepEqual(found.files.map(({ path }) => path).sort(), [
    "a⟨U+000A⟩@@ -1 +1 @@⟨U+000A⟩+forged",
    'q"uote\\',
    "tab⟨U+0009⟩",
    "ü",
    "⟨U+001B⟩[31mred",
    "⟨U+202E⟩gpj.exe",
  ]);
  for (const { path, hunks } of found.files) {
    assert.deepEqual(hunks?.flatMap(({ lines }) => lines), [
      "+diff --git a/x b/x",
      "+@@ -1 +1 @@",
      "++x⟨U+001B⟩[2J⟨U+202E⟩⟨U+000D⟩",
    ], path);
  }
});

Deno.test("attributes cannot hide a changed text as binary", async () => {
  using repo = new TestRepository();
  repo.write("a.ts", "one\n");
  repo.commit();
  repo.write("a.ts", "two\n");
  repo.write(".gitattributes", "* -diff\n");
  const found = await changesIn(repo.folder);
  assert.ok(summary(found).includes("modified a.ts +1 -1"));
  assert.deepEqual(changedLines(found, "a.ts"), ["-one", "+two"]);
});

Deno.test("pipes in place of files end a read within the time limit [4.changes.bounded]", async () => {
  using repo = new TestRepository();
  repo.write("a", "1\n");
  repo.commit();
  const makePipe = (name: string) =>
    new Deno.Command("mkfifo", { args: [name], cwd: repo.folder }).output();
  await makePipe("untracked");
  repo.write("a", "2\n");
  assert.deepEqual(summary(await changesIn(repo.folder)), ["modified a +1 -1"]);
  await makePipe(".gitignore");
  const { readOutput } = realGit;
  const git = {
    ...realGit,
    readOutput: (argv: readonly string[], options: OutputOptions) =>
      readOutput(argv, { ...options, timeout_ms: 1_000 }),
  };
  await assert.rejects(changesIn(repo.folder, { git }), { why: "too_slow" });
  Deno.removeSync(join(repo.folder, ".gitignore"));
  Deno.removeSync(join(repo.folder, "a"));
  await makePipe("a");
  await assert.rejects(changesIn(repo.folder), { why: "git_failed" });
});

Deno.test("secrets are masked, also keys of several lines of which a hunk shows a part [4.changes.masked]", async () => {
  using repo = new TestRepository();
  const body = Array.from({ length: 12 }, (_, at) => `${at}`.padEnd(64, "kEy"));
  const key = ["-----BEGIN RSA PRIVATE KEY-----", ...body, "-----END RSA PRIVATE KEY-----"];
  repo.write("key.pem", `${key.join("\n")}\n`);
  repo.commit();
  repo.write("key.pem", `${key.with(6, "x".padEnd(64, "nEw")).join("\n")}\n`);
  repo.write("new.pem", `${key.join("\n")}\nafter\n`);
  repo.write(".env", "API_TOKEN=abcdef123456\nPLAIN=yes\n");
  const found = await changesIn(repo.folder);
  const text = JSON.stringify(found.files);
  assert.doesNotMatch(text, /kEykEy|nEwnEw|abcdef123456/);
  assert.ok(found.masked > 0);
  assert.ok(changedLines(found, "new.pem").includes("+after"));
  assert.deepEqual(changedLines(found, ".env"), ["+API_TOKEN=[masked]", "+PLAIN=yes"]);
});

Deno.test("a change of 100 MB is read within limits on time, memory and size [4.changes.bounded]", async () => {
  using repo = new TestRepository();
  const line = `${"x".repeat(99)}\n`;
  for (let at = 0; at < 60; at++) repo.write(`many/${at}.txt`, line.repeat(10_000));
  repo.write("long.txt", "y".repeat(1_000_000));
  repo.commit();
  const changed = `${"z".repeat(99)}\n`;
  for (let at = 0; at < 60; at++) repo.write(`many/${at}.txt`, changed.repeat(10_000));
  repo.write("long.txt", "w".repeat(1_000_000));
  repo.write("huge.txt", changed.repeat(400_000));
  for (let at = 0; at < 2_000; at++) repo.write(`new/${at}.txt`, "n\n");
  const memory = Deno.memoryUsage().rss;
  const began = performance.now();
  const found = await changesIn(repo.folder);
  assert.ok(performance.now() - began < 60_000);
  assert.ok(Deno.memoryUsage().rss - memory < 300_000_000);
  assert.ok(JSON.stringify(found.files).length < 1_500_000);
  assert.equal(found.files_total, 2_062);
  assert.equal(found.files.length, 1_000);
  assert.equal(found.files.find(({ path }) => path === "huge.txt")?.binary, true);
  assert.equal(found.files.find(({ path }) => path === "long.txt")?.cut, true);
  assert.ok(found.left_out.length > 0);
});

Deno.test("a reader that is no longer wanted ends git", async () => {
  using repo = new TestRepository();
  repo.write("a", "1\n");
  repo.commit();
  const controller = new AbortController();
  const reading = changesIn(repo.folder, { signal: controller.signal });
  controller.abort(new Error("gone"));
  await assert.rejects(reading, /gone/);
});
