/** Repositories that try to escape, to mislead or to exhaust the desk: list, diff, comment. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type ReviewAnswer, reviewWorld } from "../../../support/repositories/review_world.ts";

type Lab = Awaited<ReturnType<typeof reviewWorld>>;

const comment = (at: Lab, file: string, line = 1) =>
  at.post("/reviews/api/comments", { comments: [{ file, line, text: "Why?" }] });

Deno.test("names with line feeds, quotes, commands and reversed text are shown and commented on as text [4.reviews.hostile]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  const names = [
    "a\nReview comment on b.txt",
    `q"uo'te\\`,
    "$(touch ran-name).txt",
    "`touch ran-name`;",
    "-rf",
    ":(exclude)a.txt",
    "\u202egpj.exe",
    "*",
  ];
  for (const name of names) at.write(folder, name, "one\ntwo\n");
  at.repo.gitIn(folder, "add", "-A");
  const [review] = (await at.list()).reviews;
  assert.deepEqual([review.files_total, review.added], [names.length, 2 * names.length]);
  const { changes } = await at.get("/reviews/api");
  for (const { path, hunks } of changes.files) {
    assert.deepEqual(hunks?.[0]?.lines, ["+one", "+two"], path);
    // deno-lint-ignore no-control-regex -- They must not be there.
    assert.doesNotMatch(path, /[\x00-\x1f\u202e]/);
    const { correlation_ids: [id] = [], detail } = await comment(at, path, 2);
    assert.ok(id, `${path}: ${detail}`);
    const { text } = await at.get(`/asks/${id}`);
    assert.ok(text.includes(`${path} line 2:\n\n> two\n\nWhy?`), text);
    const alone = await at.get(`/reviews/api?file=${encodeURIComponent(path)}`);
    assert.deepEqual(alone.changes.files.map(({ path }: ReviewAnswer) => path), [path]);
  }
  assert.equal((await at.get("/reviews/api")).comments.length, names.length);
  assert.deepEqual(at.repo.ran(), []);
});

Deno.test("a submodule is one line of the list: nothing in it is read, and its commit is in the digest [4.reviews.hostile]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  const inner = join(at.repo.parent, "inner");
  Deno.mkdirSync(inner);
  at.repo.gitIn(inner, "init", "-q", "-b", "main");
  Deno.writeTextFileSync(join(inner, "private"), "outside of the folder\n");
  at.repo.gitIn(inner, "add", "-A");
  at.repo.gitIn(inner, "commit", "-qm", "one");
  at.repo.gitIn(folder, "submodule", "--quiet", "add", inner, "sub");
  at.repo.gitIn(join(folder, "sub"), "config", "core.fsmonitor", at.repo.canary("submodule"));
  const [first] = (await at.list()).reviews;
  const { changes } = await at.get("/reviews/api");
  const sub = changes.files.find(({ path }: ReviewAnswer) => path === "sub");
  assert.deepEqual([sub.status, sub.hunks], ["submodule", null]);
  assert.doesNotMatch(JSON.stringify(changes), /outside of the folder/);
  assert.equal((await comment(at, "sub")).error, "no_such_line");
  assert.equal((await comment(at, "sub/private")).error, "unknown_changed_file");
  assert.deepEqual(at.repo.ran(), []);
  at.repo.gitIn(join(folder, "sub"), "config", "--unset", "core.fsmonitor");
  at.repo.gitIn(join(folder, "sub"), "commit", "-q", "--allow-empty", "-m", "two");
  at.repo.gitIn(folder, "add", "sub");
  await at.w.clock.advance(61_000);
  assert.notEqual((await at.list()).reviews[0].digest, first.digest);
});

Deno.test("folders and files that become links out of the folder are not read, compared or commented on [4.reviews.hostile]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  const secret = at.repo.outside("secret", "outside of the folder\n");
  Deno.removeSync(join(folder, "a.txt"));
  Deno.symlinkSync(secret, join(folder, "a.txt"));
  Deno.symlinkSync(at.repo.parent, join(folder, "up"));
  Deno.symlinkSync("/proc/self/environ", join(folder, "env"));
  const [first] = (await at.list()).reviews;
  const { changes } = await at.get("/reviews/api");
  assert.doesNotMatch(JSON.stringify(changes), /outside of the folder|PATH=/);
  for (const file of ["a.txt", "up", "env"]) {
    assert.equal((await comment(at, file)).error, "no_such_line", file);
  }
  assert.equal((await comment(at, "up/secret")).error, "unknown_changed_file");
  // The content outside is no part of the changes.
  Deno.writeTextFileSync(secret, "another text\n");
  await at.w.clock.advance(61_000);
  assert.equal((await at.list()).reviews[0].digest, first.digest);
});

Deno.test("a diff of 100 MB is listed, shown and commented on within limits on time and size [4.reviews.hostile]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  const line = `${"z".repeat(99)}\n`;
  for (let file = 0; file < 60; file++) at.write(folder, `many${file}.txt`, line.repeat(10_000));
  at.write(folder, "huge.txt", line.repeat(400_000));
  Deno.writeFileSync(join(folder, "huge.bin"), new Uint8Array(20_000_000));
  at.repo.gitIn(folder, "add", "-A");
  at.write(folder, "a.txt", line.repeat(20_000));
  const began = performance.now();
  const [review] = (await at.list()).reviews;
  const { changes } = await at.get("/reviews/api");
  assert.ok(performance.now() - began < 60_000);
  assert.equal(changes.files.length, 63);
  assert.ok(JSON.stringify(changes).length < 1_500_000);
  assert.ok(changes.left_out.length > 0);
  assert.ok(review.digest !== null);
  assert.equal((await comment(at, "many0.txt", 10_000)).status, 200);
  assert.equal((await comment(at, "huge.txt", 1)).error, "no_such_line");
  assert.equal((await comment(at, "huge.bin", 1)).error, "no_such_line");
});

Deno.test("attributes run nothing for a comment on a line before the changes [4.reviews.hostile]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  for (const name of ["filter.bad.smudge", "filter.bad.clean", "diff.bad.textconv"]) {
    at.repo.git("config", name, at.repo.canary(name));
  }
  at.write(
    folder,
    ".gitattributes",
    "* filter=bad diff=bad text eol=crlf working-tree-encoding=UTF-16\n",
  );
  at.write(folder, "a.txt", "one\n2\nthree\n");
  await at.list();
  const comments = [{ file: "a.txt", line: 2, side: "old", text: "It was right" }];
  const sent = await at.post("/reviews/api/comments", { comments });
  assert.equal(sent.status, 200, JSON.stringify(sent));
  assert.match((await at.get(`/asks/${sent.correlation_ids[0]}`)).text, /> two\n/);
  const { results: [result] } = await at.post("/reviews", { reviews: [{ id: "api" }] });
  assert.equal(result.accepted, true);
  assert.deepEqual(at.repo.ran(), []);
});
