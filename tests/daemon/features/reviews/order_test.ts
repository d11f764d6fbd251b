/** The order of reviews in situations made by hand, and the reasons that are shown. */

import assert from "node:assert/strict";
import { join } from "node:path";
import * as fileUses from "../../../../daemon/features/files/store.ts";
import { attemptOf, create, update } from "../../../support/daemon/jobs.ts";
import { ask, reportSessions } from "../../../support/daemon/peer_clients.ts";
import { type ReviewAnswer, reviewWorld } from "../../../support/repositories/review_world.ts";

const lines = (count: number) => "x\n".repeat(count);
const order = ({ reviews }: ReviewAnswer): [string, string][] =>
  reviews.map(({ author, rank }: ReviewAnswer) => [author.name, rank.words]);

Deno.test("a queued job counts as an ask, and of two that hold up one each, the longer wait is first [4.reviews.order]", async () => {
  await using at = await reviewWorld();
  for (const name of ["api", "web", "far"]) {
    const { folder } = await at.agent(name);
    at.write(folder, `${name}.txt`, lines(2));
  }
  await ask(at.w, "api", "far", "Is it done?");
  await at.w.clock.advance(5_000);
  await ask(at.w, "api", "web", "Is yours?");
  assert.deepEqual(order(await at.list()), [
    ["far", "waits: 1 ask · 2 lines in 1 file"],
    ["web", "waits: 1 ask · 2 lines in 1 file"],
    ["api", "2 lines in 1 file"],
  ]);
  await at.w.post("/peers/web/turn", { turn_state: "working", prompt: "go" });
  // Its message waits for the end of the turn.
  await create(at.w, { prompt: "Then this", assigned_peer: "web" });
  await at.post("/reviews/web/place", { placed: "in" });
  assert.deepEqual(order(await at.list())[0], ["web", "waits: 1 ask, 1 job · 2 lines in 1 file"]);
});

Deno.test("of reviews that hold up nothing, the smaller risk is first: new files weigh more than lines [4.reviews.order]", async () => {
  await using at = await reviewWorld();
  const agents = [];
  for (const name of ["api", "web", "far"]) agents.push(await at.agent(name));
  const [api, web, far] = agents;
  assert.ok(api && web && far);
  reportSessions(at.w);
  const { db, clock } = at.w.daemon.ctx;
  const repository = join(at.repo.folder, ".git");
  const knows = (peer_id: string, root: string, path: string) =>
    db.transact((tx) =>
      fileUses.add(tx, { repository, path, peer_id, root, wrote: true, at: clock.now() })
    );
  // Each wrote a.txt before its task. far alone changes a file that it has never written.
  for (const { peer_id, folder } of [api, web, far]) knows(peer_id, folder, "a.txt");
  await at.w.clock.advance(1_000);
  for (const name of ["api", "web", "far"]) {
    const id = await ask(at.w, "sam", name, `Task of ${name}`);
    await at.w.post("/ack", { correlation_id: id, message: "done" });
  }
  at.write(api.folder, "a.txt", lines(20));
  at.write(web.folder, "a.txt", lines(9));
  at.write(far.folder, "b.txt", lines(9));
  const found = await at.list();
  assert.deepEqual(order(found), [
    ["web", "12 lines in 1 file"],
    ["api", "23 lines in 1 file"],
    ["far", "10 lines in 1 file · 1 new file"],
  ]);
});

Deno.test("a review that shares files with one whose job has failed comes later, and says so [4.reviews.order]", async () => {
  await using at = await reviewWorld();
  const [api, web, far] = [await at.agent("api"), await at.agent("web"), await at.agent("far")];
  at.write(api.folder, "a.txt", lines(2));
  at.write(web.folder, "a.txt", lines(3));
  at.write(far.folder, "c.txt", lines(200));
  const { job_id } = await create(at.w, { prompt: "Mend it", assigned_peer: "web" });
  await at.w.clock.advance(1_000);
  const attempt_id = await attemptOf(at.w, job_id);
  await update(at.w, job_id, { state: "failed", error: "No luck", attempt_id });
  const names = (found: ReviewAnswer) => order(found).filter(([name]) => name !== "web");
  assert.deepEqual(names(await at.list("all=true")), [
    ["far", "200 lines in 1 file"],
    ["api", "5 lines in 1 file · 1 failing neighbour"],
  ]);
});

Deno.test("without a known task, nothing is said on new files", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  reportSessions(at.w);
  at.write(folder, "new.txt", lines(4));
  const found = await at.list();
  assert.deepEqual(order(found), [["api", "4 lines in 1 file"]]);
  assert.equal(found.reviews[0].rank.new_files, null);
});

Deno.test("the person's own ask by which changes are sent back holds up nothing [4.reviews.order]", async () => {
  await using at = await reviewWorld();
  const [api, web] = [await at.agent("api"), await at.agent("web")];
  at.write(api.folder, "a.txt", lines(2));
  at.write(web.folder, "b.txt", lines(1));
  await at.list();
  await at.post("/reviews/api/send-back", { text: "Add a test" });
  const comments = [{ file: "a.txt", line: 1, text: "Why?" }];
  await at.post("/reviews/api/comments", { comments });
  assert.deepEqual(order(await at.list("all=true")), [
    ["web", "2 lines in 1 file"],
    ["api", "5 lines in 1 file"],
  ]);
});
