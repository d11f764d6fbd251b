/** Reads after a registration and after a start, and lists while folders are to be read. */

import assert from "node:assert/strict";
import { addPeer, ask } from "../../../support/daemon/peer_clients.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";
import { type ReviewAnswer, reviewWorld } from "../../../support/repositories/review_world.ts";
import { until } from "../../../support/waiting.ts";
import type { World } from "../../../support/world.ts";

const isRead = (w: World) => until("the reads to end", () => w.daemon.ctx.background.size === 0);

Deno.test("the folder of a peer that registers is read without anybody asking [4.reviews.cold]", async () => {
  await using at = await reviewWorld();
  at.repo.write("a.txt", "1\n");
  await at.w.tick(1);
  at.w.processes.start(31);
  await addPeer(at.w, "api", { circle: "main", path: at.repo.folder, agent_pid: 31 });
  await at.w.tick(3);
  await isRead(at.w);
  const { ready, reading, unread } = await at.get("/reviews");
  assert.deepEqual([ready, reading, unread], [1, 0, []]);
});

Deno.test("a list names the folders that were never read, and each can be opened at once [4.reviews.cold]", async () => {
  await using at = await reviewWorld();
  const [api, web] = [await at.agent("api"), await at.agent("web")];
  for (const { folder } of [api, web]) at.write(folder, "a.txt", "1\n");
  await ask(at.w, "api", "web", "Is it done?");
  const first = await at.get("/reviews");
  const names = first.unread.map(({ author }: ReviewAnswer) => author.name);
  assert.deepEqual([first.reviews, names, first.reading], [[], ["web", "api"], 2]);
  const { review, changes } = await at.get(`/reviews/${api.peer_id}`);
  assert.deepEqual([review.author.name, changes.added], ["api", 1]);
  const { results: [result] } = await at.post("/reviews", {
    reviews: [{ id: api.peer_id, digest: review.digest }],
  });
  assert.equal(result.accepted, true);
  await isRead(at.w);
  const later = await at.get("/reviews?all=true");
  assert.deepEqual([later.reviews.length, later.unread, later.reading], [2, [], 0]);
});

Deno.test("a daemon that ends while it reads a folder logs no failure, and says that it ends", async () => {
  const at = await reviewWorld();
  const { folder } = await at.agent("api");
  at.write(folder, "a.txt", "1\n");
  const answers = [at.get("/reviews"), at.get("/reviews/api")];
  await at.w[Symbol.asyncDispose]();
  assert.deepEqual(at.w.logged, []);
  for (const { status, error } of await Promise.all(answers)) {
    assert.equal(error, status === 200 ? undefined : "shutting_down");
  }
  at.repo[Symbol.dispose]();
});

Deno.test("numbers that are read again are marked, and one event says when all are read", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  at.write(folder, "a.txt", "1\n");
  const [{ is_due }] = (await at.list()).reviews;
  assert.equal(is_due, false);
  await at.w.clock.advance(61_000);
  await isRead(at.w);
  const old = await at.get("/reviews");
  assert.deepEqual([old.reviews[0].is_due, old.reading], [true, 1]);
  const before = at.w.events.length;
  await isRead(at.w);
  await at.w.tick(0);
  const events = at.w.events.slice(before).filter(({ type }) => type === "review_changed");
  assert.equal(events.length, 1);
  assert.equal((await at.get("/reviews")).reviews[0].is_due, false);
});

Deno.test("a start reads again what may have changed meanwhile, and a killed daemon keeps the task [4.reviews.restart]", async () => {
  using repo = new TestRepository();
  repo.write("a.txt", "one\n");
  repo.commit();
  const settings = { "human.name": "sam" };
  using daemons = restartableWorld({ settings, git: realGit, at_terminal: true });
  let task: string;
  {
    await using w = daemons.start();
    w.processes.start(31);
    await addPeer(w, "api", { circle: "main", path: repo.folder, agent_pid: 31 });
    repo.write("a.txt", "two\n");
    await listOf(w, "fresh=true");
    task = await ask(w, "sam", "api", "Mend it");
    // The answer is stored, and the daemon dies before it has read the folder again.
    await w.post("/ack", { correlation_id: task, message: "done" });
    repo.write("a.txt", "three\nfour\n");
    await using next = daemons.startFromCrash();
    await next.tick(1);
    await isRead(next);
    const { reviews: [review] } = await listOf(next, "");
    assert.deepEqual([review.added, review.task?.id, review.is_due], [2, task, false]);
  }
});

async function listOf(w: World, query: string): Promise<ReviewAnswer> {
  const headers = { "x-mesh-terminal": "7" };
  return await (await w.fetch(`/reviews?${query}`, { headers })).json();
}
