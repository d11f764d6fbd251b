/** Work trees that are joined and checked: what is reported, to whom, and what is not run. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { systemClock } from "kit/core/clock.ts";
import { programRunnerOf } from "../../../../daemon/host/programs.ts";
import { addPeer } from "../../../support/daemon/peer_clients.ts";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";
import { until } from "../../../support/waiting.ts";
import { FakeSockets, world } from "../../../support/world.ts";

const PIDS = { api: 41, web: 42, far: 43 } as const;
type Peer = keyof typeof PIDS;

/** Fails if both marks are in the files: neither work alone has both. */
const CHECK =
  'if grep -qs A2 a.txt lib.txt && grep -qs B2 a.txt use.txt; then echo "both"; exit 1; fi';

interface Options {
  readonly argv?: readonly string[];
  readonly isOff?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
  readonly circles?: Partial<Record<Peer, string>>;
  readonly prepare?: (repo: TestRepository) => void;
}

/** A repository with the work trees of api and web, and the folder of far around it. */
function workTrees(prepare?: (repo: TestRepository) => void) {
  const repo = new TestRepository();
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`);
  repo.write("a.txt", `${lines.join("\n")}\n`);
  repo.write("other.txt", "other\n");
  prepare?.(repo);
  repo.commit();
  const trees = { api: join(repo.parent, "api"), web: join(repo.parent, "web"), far: repo.parent };
  for (const name of ["api", "web"] as const) {
    repo.git("worktree", "add", "-q", "-b", `work-${name}`, trees[name]);
  }
  return { repo, trees };
}

/** Changes files in the work trees of api and web. */
function editorOf(repo: TestRepository, trees: Readonly<Record<Peer, string>>) {
  return {
    /** Changes one line of a file in a peer's work tree. */
    change(peer: "api" | "web", file: string, line: number, text: string): void {
      const path = join(trees[peer], file);
      const lines = Deno.readTextFileSync(path).split("\n");
      lines[line] = text;
      Deno.writeTextFileSync(path, lines.join("\n"));
    },
    write(peer: "api" | "web", file: string, text: string): void {
      Deno.writeTextFileSync(join(trees[peer], file), text);
    },
    commit(peer: "api" | "web"): void {
      repo.gitIn(trees[peer], "add", "-A");
      repo.gitIn(trees[peer], "commit", "-q", "-m", "work");
    },
  };
}

/** The agents api and web in two work trees of a repository, far in a folder without one. */
async function jointWorld(
  { argv = ["sh", "-c", CHECK], isOff = false, settings, circles, prepare }: Options = {},
) {
  const { repo, trees } = workTrees(prepare);
  const sockets = new FakeSockets();
  const w = world({
    settings: {
      "human.name": "sam",
      "spawn.allowed_paths": JSON.stringify([repo.parent]),
      "jobs.checks": JSON.stringify({ tests: { argv } }),
      ...!isOff && { "joint_checks.check": "tests" },
      ...settings,
    },
    at_terminal: true,
    sockets,
    git: realGit,
    programs: programRunnerOf(systemClock, { PATH: Deno.env.get("PATH") ?? "" }),
  });
  for (const [name, agent_pid] of Object.entries(PIDS) as [Peer, number][]) {
    w.processes.start(agent_pid);
    const circle = circles?.[name] ?? "main";
    await addPeer(w, name, { backend: "claude-code", circle, path: trees[name], agent_pid });
  }
  const list = async (from?: Peer) => {
    sockets.holders = [from === undefined ? 77 : PIDS[from]];
    const headers: Record<string, string> = from === undefined ? { "x-mesh-terminal": "77" } : {};
    const query = from === undefined ? "" : `?from_peer=${from}`;
    return await (await w.fetch(`/joint-checks${query}`, { headers })).json();
  };
  return {
    w,
    repo,
    trees,
    list,
    ...editorOf(repo, trees),
    /** Runs a pass to its end. */
    async pass() {
      await w.tick(61);
      await until("the end of a pass", () => w.daemon.ctx.background.size === 0);
      assert.deepEqual(w.logged, []);
      return await list();
    },
    async messages(peer: string): Promise<Record<string, string>[]> {
      const { messages } = await (await w.fetch(`/messages?peer=${peer}`)).json();
      return messages.filter(({ from_peer_name }: Record<string, unknown>) =>
        from_peer_name === "mesh"
      );
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      repo[Symbol.dispose]();
    },
  };
}

/** Both works change a.txt, in lines that git merges, and fail together. */
function failTogether(at: Awaited<ReturnType<typeof jointWorld>>): void {
  at.change("api", "a.txt", 0, "A2");
  at.change("web", "a.txt", 19, "B2");
}

Deno.test("two works that pass apart and fail together are one ask between their authors", async () => {
  await using at = await jointWorld();
  await at.w.post("/ask", { from_peer: "web", to_peer: "api", text: "Add the login\nwith a test" });
  failTogether(at);
  const { check, repositories: [found] } = await at.pass();
  assert.equal(check, "tests");
  assert.deepEqual(
    found.pairs.map(({ result, files }: Record<string, unknown>) => [result, files]),
    [
      ["failed", ["a.txt"]],
    ],
  );
  const [ask] = await at.messages("api");
  const { text = "", kind, correlation_id } = ask ?? {};
  assert.equal(kind, "ask");
  assert.equal(found.pairs[0].correlation_id, correlation_id);
  for (const part of ["@api", "@web", "Add the login", "+A2", "+B2", "both", "mesh ask web"]) {
    assert.ok(text.includes(part), `${part}: ${text}`);
  }
  const [info] = await at.messages("web");
  assert.equal(info?.["kind"], "notify");
  assert.match(info?.["text"] ?? "", /@api is asked to settle this with you/);
  await at.pass();
  assert.equal((await at.messages("api")).length, 1);
  assert.equal((await at.messages("sam")).length, 0);
});

Deno.test("nothing is joined without joint_checks.check", async () => {
  await using at = await jointWorld({ isOff: true });
  failTogether(at);
  assert.deepEqual(await at.pass(), { check: null, running: false, repositories: [] });
});

Deno.test("works that touch no common file are joined only if one imports what the other changes", async () => {
  await using at = await jointWorld({ prepare: (repo) => repo.write("lib.txt", "A1\n") });
  at.write("api", "lib.txt", "A2\n");
  at.write("web", "use.txt", "B2\n");
  const apart = await at.pass();
  assert.equal(apart.repositories[0].pairs[0].result, "apart");
  at.write("web", "use.txt", 'import { x } from "./lib.txt";\nB2\n');
  const joined = await at.pass();
  const [{ result, files }] = joined.repositories[0].pairs;
  assert.deepEqual([result, files], ["failed", ["lib.txt"]]);
  // The author who imports is asked; its work lands after the other's.
  assert.equal((await at.messages("web"))[0]?.["kind"], "ask");
  const [first, second] = joined.repositories[0].work_trees;
  assert.deepEqual([first.name, second.name], ["api", "web"]);
  assert.match(second.reason, /imports what api changes/);
});

Deno.test("the report shows the smallest part of each work that fails together", async () => {
  await using at = await jointWorld();
  at.change("api", "a.txt", 3, "harmless");
  at.commit("api");
  at.change("api", "a.txt", 0, "A2");
  at.commit("api");
  at.change("api", "a.txt", 5, "later");
  at.commit("api");
  at.change("web", "a.txt", 19, "B2");
  await at.pass();
  const { text = "" } = (await at.messages("api"))[0] ?? {};
  assert.ok(text.includes("+A2"));
  assert.ok(!text.includes("+harmless") && !text.includes("+later"), text);
});

Deno.test("work that is not committed counts, but not during a turn", async () => {
  await using at = await jointWorld();
  failTogether(at);
  await at.w.post("/peers/api/turn", { turn_state: "working", prompt: "go" });
  assert.equal((await at.pass()).repositories[0].pairs[0].result, "apart");
  await at.w.post("/peers/api/turn", { turn_state: "idle" });
  assert.equal((await at.pass()).repositories[0].pairs[0].result, "failed");
});

Deno.test("a report is settled once the joined work passes, and a new failure is a new ask", async () => {
  await using at = await jointWorld();
  failTogether(at);
  await at.pass();
  at.change("web", "a.txt", 19, "B3");
  const fixed = await at.pass();
  const [{ result, correlation_id }] = fixed.repositories[0].pairs;
  assert.deepEqual([result, correlation_id], ["passed", null]);
  at.change("web", "a.txt", 19, "B2");
  await at.pass();
  assert.equal((await at.messages("api")).length, 2);
  assert.equal((await at.messages("sam")).length, 0);
});

Deno.test("the human is informed once if the authors end their ask and the work still fails", async () => {
  await using at = await jointWorld();
  failTogether(at);
  await at.pass();
  const [ask] = await at.messages("api");
  await at.w.post("/ack", {
    correlation_id: ask?.["correlation_id"],
    from_peer: "api",
    message: "no",
  });
  await at.pass();
  await at.pass();
  const found = await at.messages("sam");
  assert.equal(found.length, 1);
  assert.match(found[0]?.["text"] ?? "", /passes "tests" apart and fails it together/);
});

Deno.test("authors of two circles are not shown each other's work: the human is informed", async () => {
  await using at = await jointWorld({ circles: { web: "other" } });
  failTogether(at);
  const answer = await at.pass();
  assert.equal(answer.repositories[0].pairs[0].result, "failed");
  assert.deepEqual([await at.messages("api"), await at.messages("web")], [[], []]);
  assert.equal((await at.messages("sam")).length, 1);
  const shown = await at.list("api");
  const { work_trees, pairs } = shown.repositories[0];
  assert.deepEqual(work_trees.map(({ name }: { name: string }) => name), ["api"]);
  assert.deepEqual(pairs, []);
});

Deno.test("an agent outside of the repository sees nothing, and who proves nothing is refused", async () => {
  await using at = await jointWorld();
  failTogether(at);
  await at.pass();
  assert.deepEqual((await at.list("far")).repositories, []);
  const response = await at.w.fetch("/joint-checks");
  assert.equal(response.status, 403);
});

Deno.test("a check that fails now and then is not reported", async () => {
  const counter = join(Deno.makeTempDirSync(), "ran");
  const script = CHECK.replace("exit 1", `test -e ${counter} && exit 0; touch ${counter}; exit 1`);
  const argv = ["sh", "-c", script];
  await using at = await jointWorld({ argv });
  failTogether(at);
  const answer = await at.pass();
  assert.equal(answer.repositories[0].pairs[0].result, "passed");
  assert.deepEqual(await at.messages("api"), []);
  Deno.removeSync(dirname(counter), { recursive: true });
});

Deno.test("conflicts, a program that is not there and a folder that is not allowed are said", async () => {
  await using at = await jointWorld();
  at.change("api", "a.txt", 0, "A2");
  at.change("web", "a.txt", 0, "B2");
  assert.equal((await at.pass()).repositories[0].pairs[0].result, "conflict");
  await using missing = await jointWorld({ argv: ["no-such-program"] });
  failTogether(missing);
  const [{ pairs: [pair], work_trees }] = (await missing.pass()).repositories;
  assert.equal(pair.result, "unknown");
  assert.match(pair.detail, /no-such-program/);
  assert.deepEqual(work_trees.map(({ result }: { result: string }) => result), [
    "unknown",
    "unknown",
  ]);
  await using outside = await jointWorld({ settings: { "spawn.allowed_paths": '["/nowhere"]' } });
  failTogether(outside);
  const [{ work_trees: [tree] }] = (await outside.pass()).repositories;
  assert.match(tree.detail, /spawn.allowed_paths/);
});

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

Deno.test("work that fails alone is shown, and not reported", async () => {
  await using at = await jointWorld();
  at.change("api", "a.txt", 0, "A2\nB2");
  at.change("web", "a.txt", 19, "more");
  const [{ pairs: [pair], work_trees }] = (await at.pass()).repositories;
  const results = work_trees.map(({ name, result }: Record<string, unknown>) => [name, result]);
  assert.deepEqual([pair.result, results], ["failed", [["web", "passed"], ["api", "failed"]]]);
  assert.deepEqual(await at.messages("api"), []);
});
