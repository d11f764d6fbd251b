/** Work trees that are joined and checked: what is reported, to whom, and what is not run. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { CHECK, failTogether, jointWorld } from "../../../support/repositories/joint_world.ts";

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
  const { text = "", kind, correlation_id, chain } = ask ?? {};
  assert.deepEqual([kind, chain], ["ask", null], "no work causes it");
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
  const { events } = await (await at.w.fetch("/events?type=joint_checked&replay=9")).json();
  assert.deepEqual(events.map((event: Record<string, unknown>) => event["failing_pairs"]), [1]);
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
  assert.match(second.reason, /imports changes of api/);
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

Deno.test("a turn of an author neither settles a report nor informs the human", async () => {
  await using at = await jointWorld();
  failTogether(at);
  await at.pass();
  const [ask] = await at.messages("api");
  await at.w.post("/peers/api/turn", { turn_state: "working", prompt: "go" });
  assert.equal((await at.pass()).repositories[0].pairs[0].correlation_id, ask?.["correlation_id"]);
  const answer = { correlation_id: ask?.["correlation_id"], from_peer: "api", message: "no" };
  await at.w.post("/ack", answer);
  at.commit("api");
  assert.equal((await at.pass()).repositories[0].pairs[0].result, "failed");
  assert.equal((await at.messages("sam")).length, 0);
  await at.w.post("/peers/api/turn", { turn_state: "idle" });
  await at.pass();
  assert.equal((await at.messages("api")).length, 1);
  assert.equal((await at.messages("sam")).length, 1);
});

Deno.test("an author who is offline for a while is not asked again", async () => {
  await using at = await jointWorld();
  failTogether(at);
  await at.pass();
  const setStatus = (status: string) =>
    at.w.daemon.ctx.db.transact((tx) =>
      tx.run("update peers set status = :status where name = 'web'", { status })
    );
  setStatus("offline");
  assert.deepEqual((await at.pass()).repositories, []);
  setStatus("online");
  assert.equal((await at.pass()).repositories[0].pairs[0].result, "failed");
  assert.equal((await at.messages("api")).length, 1);
});

Deno.test("a peer whose agent did not report its session is not joined, and reads no other's work", async () => {
  await using at = await jointWorld();
  failTogether(at);
  at.w.daemon.ctx.db.transact((tx) =>
    tx.run("update peers set session_proved = 0 where name = 'web'", {})
  );
  assert.deepEqual((await at.pass()).repositories, []);
  assert.deepEqual([await at.messages("api"), await at.messages("web")], [[], []]);
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

Deno.test("a peer that others registered in the folder of the work is shown none of it", async () => {
  await using at = await jointWorld({ folders: { far: "api" } });
  failTogether(at);
  await at.pass();
  assert.equal((await at.list("far")).repositories[0].pairs[0].result, "failed");
  at.w.daemon.ctx.db.transact((tx) =>
    tx.run("update peers set session_proved = 0 where name = 'far'", {})
  );
  assert.deepEqual((await at.list("far")).repositories, []);
  assert.equal((await at.list()).repositories.length, 1);
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

Deno.test("a check that fills its folder is ended, and accuses nobody", async () => {
  const argv = ["sh", "-c", "head -c 30000000 /dev/zero > full; sleep 60"];
  await using at = await jointWorld({
    argv,
    settings: { "joint_checks.disk_bytes_max": "10000000" },
  });
  failTogether(at);
  const [{ pairs: [pair] }] = (await at.pass()).repositories;
  assert.deepEqual([pair.result, pair.detail], ["unknown", "Its folder grew to more than 10 MiB"]);
  assert.deepEqual(await at.messages("api"), []);
  assert.deepEqual([...Deno.readDirSync(join(at.w.files_dir, "joint-checks"))], []);
});

Deno.test("a check whose sandbox fails itself accuses nobody", async () => {
  const argv = ["sh", "-c", "echo 'bwrap: no namespace' >&2; exit 1", "bwrap"];
  await using at = await jointWorld({ argv });
  failTogether(at);
  const [{ pairs: [pair] }] = (await at.pass()).repositories;
  assert.equal(pair.result, "unknown");
  assert.match(pair.detail, /^bwrap: no namespace\n+Its sandbox \(bwrap\) could not run it/);
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
