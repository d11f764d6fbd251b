/** `mesh changes`: what it prints, its exit codes, and its JSON. */

import assert from "node:assert/strict";
import { createJob } from "protocol/jobs/contract.ts";
import { addPeer } from "../../support/daemon/peer_clients.ts";
import { serveDaemon } from "../../support/cli/listening_daemon.ts";
import { realGit, TestRepository } from "../../support/repositories/repository.ts";
import { world } from "../../support/world.ts";

/** A person's terminal, and the peer api in a repository with two changed files. */
async function changesFixture() {
  const repo = new TestRepository();
  repo.write("a.txt", "one\ntwo\n");
  const base = repo.commit().slice(0, 7);
  repo.git("checkout", "-q", "-b", "feature");
  repo.write("a.txt", "one\nTWO\x1b[2J\n");
  repo.write("b.txt", "b\n");
  const w = world({ settings: { "human.name": "sam" }, at_terminal: true, git: realGit });
  await addPeer(w, "api", { path: repo.folder });
  const daemon = serveDaemon(w);
  return {
    base,
    repo,
    w,
    mesh: (args: readonly string[], colours = false) =>
      daemon.mesh(args, {}, { interactive: true, colours }),
    async [Symbol.asyncDispose]() {
      await daemon.stop();
      await w[Symbol.asyncDispose]();
      repo[Symbol.dispose]();
    },
  };
}

Deno.test("mesh changes prints the branch point, the files and their changed lines [4.changes.read]", async () => {
  await using at = await changesFixture();
  const { code, out } = await at.mesh(["changes", "api"]);
  assert.equal(code, 0);
  assert.equal(
    out,
    [
      `api: +2 −1 in 2 files since main (${at.base}, 0 commits)`,
      `folder  ${at.repo.folder}`,
      "branch  feature",
      "",
      "modified     a.txt  +1 −1  (unstaged)",
      "untracked    b.txt  +1 −0",
      "",
      "a.txt",
      "@@ -1 +1 @@",
      " one",
      "-two",
      "+TWO⟨U+001B⟩[2J",
      "",
      "b.txt",
      "@@ -0 +1 @@",
      "+b",
      "",
    ].join("\n"),
  );
  const stat = await at.mesh(["changes", "api", "--stat"]);
  assert.ok(!stat.out.includes("@@"));
  const one = await at.mesh(["changes", "api", "--file", "b.txt"], true);
  assert.ok(one.out.includes("\x1b[32m+b\x1b[0m"));
  assert.ok(!one.out.includes("two"));
  const json = JSON.parse((await at.mesh(["changes", "api", "--json"])).out);
  assert.deepEqual([json.state, json.files.length, json.files[0].added], ["ok", 2, 1]);
});

Deno.test("mesh changes says why it shows nothing, and exits with 1 [4.changes.read]", async () => {
  await using at = await changesFixture();
  await addPeer(at.w, "lost", { path: at.repo.parent });
  const { code, out } = await at.mesh(["changes", "lost"]);
  assert.deepEqual([code, out], [1, "lost: Its folder is in no git repository\n"]);
  at.repo.git("stash", "-q", "-u");
  const { out: none } = await at.mesh(["changes", "api"]);
  assert.match(none, /^api: no changes since main/);
});

Deno.test("a job's changes are shown with it, and by mesh jobs changes [4.changes.read]", async () => {
  await using at = await changesFixture();
  const job = await at.w.call(createJob, {
    body: { title: "Mend it", prompt: "Mend it", assigned_peer: "api" },
  });
  assert.ok("job_id" in job);
  const found = await at.mesh(["jobs", "changes", job.job_id, "--stat"]);
  assert.match(found.out, /\+2 −1 in 2 files/);
  const shown = await at.mesh(["jobs", "show", job.job_id]);
  assert.match(shown.out, /changes +\+2 −1 in 2 files since main .*\n/);
});
