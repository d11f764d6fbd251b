/** The queue of reviews: what is ready, in which order, and what a person decides. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { programRunnerOf } from "../../../../daemon/host/programs.ts";
import { ask, reportSessions } from "../../../support/daemon/peer_clients.ts";
import { type ReviewAnswer, reviewWorld } from "../../../support/repositories/review_world.ts";
import { until } from "../../../support/waiting.ts";

const names = ({ reviews }: ReviewAnswer) =>
  reviews.map(({ author, state }: { author: { name: string }; state: string }) =>
    `${author.name} ${state}`
  );

Deno.test("changes of an idle agent are ready, those of one at work are not [4.reviews.ready]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  assert.deepEqual(names(await at.list()), []);
  at.write(folder, "a.txt", "one\n2\nthree\n");
  await at.w.clock.advance(61_000);
  const found = await at.list();
  assert.deepEqual([names(found), found.ready], [["api ready"], 1]);
  const [review] = found.reviews;
  assert.deepEqual([review.added, review.removed, review.files_total], [1, 1, 1]);
  assert.equal(review.rank.words, "2 lines in 1 file");
  await at.w.post("/peers/api/turn", { turn_state: "working", prompt: "go on" });
  assert.deepEqual(names(await at.list()), []);
  assert.deepEqual(names(await at.list("all=true")), ["api working"]);
});

Deno.test("the end of a turn reads the folder again, without anybody asking", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  await at.w.post("/peers/api/turn", { turn_state: "working", prompt: "go" });
  at.write(folder, "new.txt", "n\n");
  await at.w.post("/peers/api/turn", { turn_state: "idle" });
  await at.w.tick(2);
  await at.w.clock.advanceUntil(
    "the read",
    () => at.w.events.some(({ type }) => type === "review_changed"),
    0,
  );
  assert.equal((await at.get("/reviews?limit=0")).ready, 1);
  assert.deepEqual((await at.get("/reviews?limit=0")).reviews, []);
});

Deno.test("an answered ask is the task, and what waits for the author comes first [4.reviews.order]", async () => {
  await using at = await reviewWorld();
  const [api, web] = [await at.agent("api"), await at.agent("web")];
  at.write(api.folder, "b.txt", "b\nc\n");
  at.write(web.folder, "a.txt", "one\n");
  const done = await ask(at.w, "web", "api", "Mend the login\nwith care");
  await at.w.post("/ack", { correlation_id: done, message: "done" });
  const waiting = await ask(at.w, "api", "web", "When is yours done?");
  const { reviews } = await at.list();
  assert.deepEqual(reviews.map(({ author }: ReviewAnswer) => author.name), ["web", "api"]);
  assert.equal(reviews[0].rank.words, "waits: 1 ask · 2 lines in 1 file");
  assert.ok(waiting);
  const { id, title, kind, from, state } = reviews[1].task;
  assert.deepEqual([id, title, kind, from, state], [
    done,
    "Mend the login",
    "ask",
    "web",
    "closed",
  ]);
});

Deno.test("two reviews of one repository that touch the same file are joined [4.reviews.joined]", async () => {
  await using at = await reviewWorld();
  const [api, web, far] = [await at.agent("api"), await at.agent("web"), await at.agent("far")];
  at.write(api.folder, "a.txt", "1\n");
  at.write(web.folder, "a.txt", "2\n");
  at.write(web.folder, "b.txt", "2\n");
  at.write(far.folder, "c.txt", "3\n");
  const { reviews } = await at.list();
  const joined = reviews.map(({ author, joined }: ReviewAnswer) => [author.name, joined]);
  const of = (name: string) => joined.find(([by]: [string]) => by === name)[1];
  assert.deepEqual(of("far"), []);
  assert.deepEqual(of("api").map(({ name, files }: ReviewAnswer) => [name, files]), [["web", [
    "a.txt",
  ]]]);
  assert.deepEqual(of("web").map(({ name }: ReviewAnswer) => name), ["api"]);
});

Deno.test("accepting records exactly this diff, and a later change makes it ready again [4.reviews.accept]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  at.write(folder, "a.txt", "1\n");
  const [before] = (await at.list()).reviews;
  const accept = (digest?: string) =>
    at.post("/reviews", { reviews: [{ id: before.review_id, digest }, { id: "nobody" }] });
  at.write(folder, "a.txt", "2\n");
  await at.w.clock.advance(1_500);
  const old = await accept(before.digest);
  assert.deepEqual(old.results[0].accepted, false);
  assert.match(old.results[0].detail, /others now/);
  const done = await accept();
  assert.deepEqual(done.results.map(({ accepted }: ReviewAnswer) => accepted), [true, false]);
  assert.deepEqual(names(await at.list("all=true")), ["api accepted"]);
  // The commit of the same changes is the same diff.
  at.repo.gitIn(folder, "commit", "-qam", "two");
  await at.w.clock.advance(61_000);
  const [committed] = (await at.list("all=true")).reviews;
  assert.deepEqual([committed.state, committed.decision.by], ["accepted", "sam"]);
  at.write(folder, "a.txt", "3\n");
  await at.w.clock.advance(61_000);
  const [changed] = (await at.list()).reviews;
  assert.deepEqual([changed.state, changed.decision.is_current], ["ready", false]);
  assert.equal(at.repo.gitIn(folder, "log", "--oneline", "main").split("\n").length, 1);
});

Deno.test("changes that are sent back are ready again once their author has answered [4.reviews.send-back]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  at.write(folder, "a.txt", "1\n");
  await at.list();
  const sent = await at.post("/reviews/api/send-back", { text: "Keep the second line" });
  assert.equal(sent.status, 200);
  const [id] = sent.correlation_ids;
  assert.match((await at.get(`/asks/${id}`)).text, /are sent back:\n\nKeep the second line/);
  const [back] = (await at.list("all=true")).reviews;
  assert.deepEqual([back.state, back.decision.correlation_id], ["sent_back", id]);
  assert.deepEqual([back.rank.waiting_asks, back.rank.words], [0, "4 lines in 1 file"]);
  await at.w.post("/ack", { correlation_id: id, message: "done" });
  const [again] = (await at.list()).reviews;
  assert.deepEqual([again.state, again.task, again.decision.kind], ["ready", null, "sent_back"]);
});

Deno.test("a person takes changes out of the queue and puts those at work in [4.reviews.place]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  at.write(folder, "a.txt", "1\n");
  await at.list();
  await at.post("/reviews/api/place", { placed: "out" });
  assert.deepEqual(names(await at.list("all=true")), ["api out"]);
  await at.w.post("/peers/api/turn", { turn_state: "working", prompt: "go on" });
  await at.post("/reviews/api/place", { placed: "in" });
  assert.deepEqual(names(await at.list()), ["api ready"]);
  await at.post("/reviews/api/place", { placed: null });
  assert.deepEqual(names(await at.list("all=true")), ["api working"]);
});

Deno.test("a review shows what began its task, and what the checked answer has shown", async () => {
  const settings = { "jobs.checks": JSON.stringify({ tests: { argv: ["tests"] } }) };
  const programs = { run: () => Promise.resolve({ exit: 0, output: "" }) };
  await using at = await reviewWorld(settings, programs);
  const { folder } = await at.agent("api");
  at.write(folder, "b.txt", "b\nc\n");
  const body = { from_peer: "sam", to_peer: "api", text: "Mend the login", prove: ["tests"] };
  const { correlation_id } = await at.post("/ask", body);
  await at.w.post("/ack", { correlation_id, message: "done" });
  await until("the checks to end", () => at.w.daemon.ctx.background.size === 0);
  const [{ task, checks }] = (await at.list()).reviews;
  assert.deepEqual([task.id, task.chain.origin], [correlation_id, "person"]);
  assert.deepEqual(checks, [{ name: "tests", passed: true }]);
});

Deno.test("a review names the peers whose work fails together with it", async () => {
  const both = "if grep -q A2 a.txt && grep -q B2 a.txt; then exit 1; fi";
  const settings = {
    "jobs.checks": JSON.stringify({ tests: { argv: ["sh", "-c", both] } }),
    "joint_checks.check": "tests",
  };
  const env = { PATH: Deno.env.get("PATH") ?? "" };
  await using at = await reviewWorld(settings, programRunnerOf(systemClock, env));
  const [api, web] = [await at.agent("api"), await at.agent("web")];
  at.write(api.folder, "a.txt", "A2\ntwo\nthree\n");
  at.write(web.folder, "a.txt", "one\ntwo\nthree\nB2\n");
  reportSessions(at.w);
  await at.w.tick(1);
  await until("the joint checks to end", () => at.w.daemon.ctx.background.size === 0);
  const { reviews } = await at.list();
  const found = reviews.map((
    { author, fails_with, rank }: ReviewAnswer,
  ) => [author.name, fails_with, rank.failing_neighbours]);
  assert.deepEqual(found.toSorted(), [["api", ["web"], 1], ["web", ["api"], 1]]);
});
