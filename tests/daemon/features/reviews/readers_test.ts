/** Who reads and decides reviews, and what a repository can do to those who read them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type ReviewAnswer, reviewWorld } from "../../../support/repositories/review_world.ts";

Deno.test("an agent reads its own review alone, and decides nothing [4.reviews.readers]", async () => {
  await using at = await reviewWorld();
  const [api, web] = [await at.agent("api"), await at.agent("web", { circle: "other" })];
  at.write(api.folder, "a.txt", "1\n");
  at.write(web.folder, "a.txt", "2\n");
  const { reviews } = await at.list();
  const foreign = reviews.find(({ author }: ReviewAnswer) => author.name === "web").review_id;
  at.sockets.holders = [api.pid];
  const own = await at.get("/reviews?from_peer=api", {});
  const shown = own.reviews.map(({ author, joined }: ReviewAnswer) => [author.name, joined]);
  assert.deepEqual(shown, [["api", []]]);
  assert.equal((await at.get("/reviews/api?from_peer=api", {})).changes.added, 1);
  assert.equal((await at.get(`/reviews/${foreign}?from_peer=api`, {})).error, "unknown_review");
  assert.equal((await at.get("/reviews?from_peer=web", {})).error, "human_not_proven");
  assert.equal((await at.get("/reviews", {})).error, "human_not_proven");
  const acts: [string, unknown][] = [
    ["/reviews", { reviews: [{ id: "api" }] }],
    ["/reviews/api/send-back", { text: "no" }],
    ["/reviews/api/place", { placed: "in" }],
    ["/reviews/api/comments", { comments: [{ file: "a.txt", line: 1, text: "x" }] }],
  ];
  for (const [path, body] of acts) {
    assert.equal((await at.post(path, body, {})).error, "human_not_proven", path);
  }
  assert.deepEqual((await at.get("/asks", {})).asks, []);
});

Deno.test("an agent does not read a folder that spawn.allowed_paths does not allow", async () => {
  await using at = await reviewWorld({ "spawn.allowed_paths": '["/nonexistent"]' });
  const api = await at.agent("api");
  at.write(api.folder, "a.txt", "1\n");
  await at.list();
  at.sockets.holders = [api.pid];
  assert.deepEqual((await at.get("/reviews?from_peer=api", {})).reviews, []);
  assert.equal((await at.get("/reviews/api?from_peer=api", {})).error, "unknown_review");
});

Deno.test("no program of a repository runs for its review, and no link leads out of it [4.reviews.hostile]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  const secret = at.repo.outside("secret", "outside of the folder\n");
  for (const name of ["core.fsmonitor", "diff.external", "filter.bad.clean", "diff.bad.textconv"]) {
    at.repo.git("config", name, at.repo.canary(name));
  }
  at.write(folder, ".gitattributes", "* filter=bad diff=bad\n");
  at.write(folder, "a.txt", "1\n");
  at.write(folder, "line\nfeed \x1b[31m.txt", "x\n");
  Deno.symlinkSync(secret, join(folder, "link"));
  Deno.symlinkSync(at.repo.parent, join(folder, "up"));
  const { reviews } = await at.list();
  const { changes } = await at.get("/reviews/api");
  const comments = [{ file: "link", line: 1, text: "x" }];
  assert.equal((await at.post("/reviews/api/comments", { comments })).error, "no_such_line");
  const named = changes.files.map(({ path }: ReviewAnswer) => path);
  assert.ok(named.includes("line⟨U+000A⟩feed ⟨U+001B⟩[31m.txt"), named.join());
  const odd = [{ file: "line⟨U+000A⟩feed ⟨U+001B⟩[31m.txt", line: 1, text: "x" }];
  const { correlation_ids: [id] } = await at.post("/reviews/api/comments", { comments: odd });
  // deno-lint-ignore no-control-regex -- The escape sequence must not arrive.
  assert.doesNotMatch((await at.get(`/asks/${id}`)).text, /\x1b/);
  assert.doesNotMatch(JSON.stringify([reviews, changes]), /outside of the folder/);
  assert.deepEqual(at.repo.ran(), []);
});

Deno.test("a change of a large file is seen by its size and time, and the review says so [4.reviews.hostile]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  Deno.writeFileSync(join(folder, "large.bin"), new Uint8Array(100_000_000));
  const [review] = (await at.list()).reviews;
  assert.match(review.inexact, /1 large file is compared by size and time/);
  Deno.writeFileSync(join(folder, "large.bin"), new Uint8Array(100_000_001));
  await at.w.clock.advance(61_000);
  assert.notEqual((await at.list()).reviews[0].digest, review.digest);
});

Deno.test("a diff with more files than a list holds cannot be accepted, and the answer says why", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  Deno.mkdirSync(join(folder, "many"));
  for (let at = 0; at < 1_200; at++) Deno.writeTextFileSync(join(folder, "many", `${at}`), "x\n");
  const [review] = (await at.list()).reviews;
  assert.deepEqual([review.digest, review.files_total], [null, 1_200]);
  const { results: [result] } = await at.post("/reviews", { reviews: [{ id: "api" }] });
  assert.equal(result.accepted, false);
  assert.match(result.detail, /not all changed files are known/);
});
