/** Access to what changed in the folders of peers and jobs, and the answers of the routes. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { createJob } from "protocol/jobs/contract.ts";
import { readChanges, readJobChanges } from "protocol/changes.ts";
import { addPeer } from "../../../support/daemon/peer_clients.ts";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";
import { FakeSockets, world } from "../../../support/world.ts";
import type { GitHost } from "../../../../daemon/features/changes/git/git.ts";

const TERMINAL = { "x-mesh-terminal": "77" };

/** The peer api in a repository with a change, web of its circle, and far of another. */
async function changesWorld(
  { human = true, settings = {}, git = realGit }: {
    human?: boolean;
    settings?: Readonly<Record<string, string>>;
    git?: GitHost;
  } = {},
) {
  const repo = new TestRepository();
  repo.write("a.txt", "one\n");
  repo.commit();
  repo.write("a.txt", "two\nthree\n");
  repo.write("new.txt", "n\n");
  const sockets = new FakeSockets();
  sockets.holders = human ? [77] : [];
  const w = world({
    settings: {
      "human.name": "sam",
      "spawn.allowed_paths": JSON.stringify([repo.parent]),
      ...settings,
    },
    at_terminal: human,
    sockets,
    git,
  });
  for (const pid of [41, 42]) w.processes.start(pid);
  await addPeer(w, "api", { circle: "main", path: repo.folder, agent_pid: 41 });
  await addPeer(w, "web", { circle: "main", path: repo.folder, agent_pid: 42 });
  await addPeer(w, "far", { circle: "other", path: repo.folder });
  return {
    w,
    repo,
    sockets,
    async get(path: string, headers: Record<string, string> = TERMINAL) {
      const response = await w.fetch(path, { headers });
      return { status: response.status, ...await response.json() };
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      repo[Symbol.dispose]();
    },
  };
}

Deno.test("a person reads what changed in a peer's folder, and its counts alone [4.changes.read]", async () => {
  await using at = await changesWorld();
  const found = await at.get("/peers/api/changes");
  assert.deepEqual([found.state, found.name, found.folder], ["ok", "api", at.repo.folder]);
  assert.deepEqual([found.added, found.removed, found.files_total], [3, 1, 2]);
  const paths = (answer: typeof found) =>
    answer.files.map(({ path, hunks }: { path: string; hunks: unknown }) => [path, hunks !== null]);
  assert.deepEqual(paths(found), [["a.txt", true], ["new.txt", true]]);
  const counts = await at.get("/peers/api/changes?limit=0");
  assert.deepEqual(paths(counts), [["a.txt", false], ["new.txt", false]]);
  assert.deepEqual([counts.added, counts.next], [3, null]);
  const first = await at.get("/peers/api/changes?limit=1");
  assert.deepEqual([paths(first), first.next], [[["a.txt", true], ["new.txt", false]], 1]);
  const second = await at.get("/peers/api/changes?limit=1&offset=1");
  assert.deepEqual([paths(second), second.next], [[["a.txt", false], ["new.txt", true]], null]);
  const one = await at.get("/peers/api/changes?file=a.txt");
  assert.deepEqual(paths(one), [["a.txt", true]]);
  const none = await at.get("/peers/api/changes?file=../a.txt");
  assert.deepEqual([none.status, none.error], [404, "unknown_changed_file"]);
});

Deno.test("the caller's proof and the setting decide who reads changes [4.changes.readers]", async () => {
  const agent = { human: false };
  const cases = [
    // setting, who asks, from_peer, the processes that hold its socket, the refusal
    ["human", {}, undefined, [77], undefined],
    ["off", {}, undefined, [77], undefined],
    ["human", agent, "api", [41], "human_not_proven"],
    ["human", agent, undefined, [], "human_not_proven"],
    ["peers", agent, "web", [42], undefined],
    ["peers", agent, "far", [43], "not_your_changes"],
    ["peers", agent, "web", [41], "not_your_changes"],
    ["off", agent, "web", [42], "not_your_changes"],
  ] as const;
  for (const [transcripts, who, from_peer, holders, refusal] of cases) {
    await using at = await changesWorld({ ...who, settings: { transcripts } });
    at.sockets.holders = holders;
    const query = from_peer === undefined ? "" : `?from_peer=${from_peer}`;
    const answer = await at.get(`/peers/api/changes${query}`);
    assert.equal(answer.error, refusal, `${transcripts} ${from_peer} ${holders}`);
  }
});

Deno.test("an agent reads no folder that spawn.allowed_paths does not allow [4.changes.readers]", async () => {
  const settings = { transcripts: "peers", "spawn.allowed_paths": '["/nonexistent"]' };
  await using at = await changesWorld({ human: false, settings });
  at.sockets.holders = [42];
  const answer = await at.get("/peers/api/changes?from_peer=web");
  assert.deepEqual([answer.status, answer.error], [403, "not_your_changes"]);
});

Deno.test("a folder that cannot be read gives a state and a sentence, never no changes", async () => {
  await using at = await changesWorld({ git: { ...realGit, env: { PATH: "/nonexistent" } } });
  const without = await at.get("/peers/api/changes");
  assert.deepEqual([without.status, without.state], [200, "git_missing"]);
  assert.match(without.detail, /git is not installed/);
  await addPeer(at.w, "lost", { circle: "main", path: join(at.repo.parent, "gone") });
  assert.equal((await at.get("/peers/lost/changes")).state, "no_folder");
  await addPeer(at.w, "bare", { circle: "main", path: at.repo.parent });
  assert.equal((await at.get("/peers/bare/changes")).state, "no_repository");
});

Deno.test("no changes pass the tunnel without relay.allow_admin [4.changes.remote]", () => {
  for (const contract of [readChanges, readJobChanges]) assert.equal(contract.tunnel, "admin");
});

Deno.test("a job shows what changed in its folder [4.changes.read]", async () => {
  await using at = await changesWorld();
  const body = {
    title: "Mend it",
    prompt: "Mend it",
    assigned_peer: "api",
  };
  const job = await at.w.call(createJob, { body });
  assert.ok("job_id" in job);
  const found = await at.get(`/jobs/${job.job_id}/changes`);
  assert.deepEqual([found.job_id, found.state, found.added], [job.job_id, "ok", 3]);
  assert.equal((await at.get("/jobs/work-000000000000/changes")).error, "unknown_job");
});

Deno.test("readers who ask at the same time share one read of a folder [4.changes.bounded]", async () => {
  let runs = 0;
  const git: GitHost = {
    ...realGit,
    readOutput: (argv, options) => {
      if (argv.includes("status")) runs++;
      return realGit.readOutput(argv, options);
    },
  };
  await using at = await changesWorld({ git });
  const answers = await Promise.all([1, 2, 3, 4].map(() => at.get("/peers/api/changes")));
  assert.deepEqual(answers.map(({ state }) => state), ["ok", "ok", "ok", "ok"]);
  assert.equal((await at.get("/peers/web/changes")).state, "ok");
  assert.equal(runs, 1);
  await at.w.clock.advance(1_500);
  at.repo.write("later.txt", "l\n");
  assert.equal((await at.get("/peers/api/changes")).files_total, 3);
  assert.equal(runs, 2);
});
