/** Comments on lines: asks to the author, with the line as it was and its place now. */

import assert from "node:assert/strict";
import { type ReviewAnswer, reviewWorld } from "../../../support/repositories/review_world.ts";

Deno.test("comments are sent together, each as an ask with its line, and answered beside it [4.reviews.comment]", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  at.write(folder, "a.txt", "one\n2\nthree\n");
  await at.list();
  const sent = await at.post("/reviews/api/comments", {
    comments: [
      { file: "a.txt", line: 2, text: "Write it out", seen: "2" },
      { file: "a.txt", line: 2, side: "old", text: "This was right", seen: "two" },
    ],
  });
  const [first, second] = sent.correlation_ids;
  const asked = await at.get(`/asks/${first}`);
  assert.match(asked.text, /comment 1 of 2 .*a\.txt line 2:\n\n> 2\n\nWrite it out/);
  assert.deepEqual([asked.voice, asked.to_peer_name], ["human", "api"]);
  assert.deepEqual([asked.chain.origin, asked.chain.root], ["person", first]);
  assert.match((await at.get(`/asks/${second}`)).text, /line 2 before the changes:\n\n> two\n/);
  await at.w.post("/ack", { correlation_id: first, message: "Written out" });
  at.write(folder, "a.txt", "zero\none\n2\nthree\n");
  await at.w.clock.advance(1_500);
  const { comments, review } = await at.get("/reviews/api");
  assert.deepEqual(
    comments.map(({ reply, now, line_text }: ReviewAnswer) => [line_text, reply, now]),
    [
      ["2", "Written out", { state: "moved", line: 3 }],
      ["two", null, { state: "here", line: 2 }],
    ],
  );
  assert.match(comments[0].blob, /^[0-9a-f]{40}$/);
  assert.deepEqual(review.comments, { sent: 2, answered: 1 });
  at.write(folder, "a.txt", "zero\n");
  await at.w.clock.advance(1_500);
  const later = await at.get("/reviews/api");
  assert.deepEqual(later.comments[0].now, { state: "gone", line: null });
});

Deno.test("no comment is sent if one of them is about a line that is another now", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  at.write(folder, "a.txt", "one\n2\n");
  await at.list();
  const send = (...comments: Record<string, unknown>[]) =>
    at.post("/reviews/api/comments", { comments });
  const good = { file: "a.txt", line: 1, text: "Good" };
  const cases: [Record<string, unknown>, string][] = [
    [{ file: "a.txt", line: 2, text: "x", seen: "two" }, "line_changed"],
    [{ file: "a.txt", line: 99, text: "x" }, "no_such_line"],
    [{ file: "b.txt", line: 1, text: "x" }, "unknown_changed_file"],
    [{ file: "../a.txt", line: 1, text: "x" }, "unknown_changed_file"],
  ];
  for (const [bad, error] of cases) assert.equal((await send(good, bad)).error, error);
  assert.deepEqual((await at.get("/asks")).asks, []);
  assert.equal((await send(good)).status, 200);
});

Deno.test("a repeated request sends its comments once", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  at.write(folder, "a.txt", "one\n2\n");
  await at.list();
  const headers = { "x-mesh-terminal": "77", "idempotency-key": "one-key-of-a-page" };
  const comments = [{ file: "a.txt", line: 2, text: "Write it out" }];
  const first = await at.post("/reviews/api/comments", { comments }, headers);
  const again = await at.post("/reviews/api/comments", { comments }, headers);
  assert.deepEqual(again.correlation_ids, first.correlation_ids);
  assert.equal((await at.get("/asks")).asks.length, 1);
});

Deno.test("secrets in a commented line are masked", async () => {
  await using at = await reviewWorld();
  const { folder } = await at.agent("api");
  const secret = `ghp_${"a1B2".repeat(9)}`;
  at.write(folder, "a.txt", `key = ${secret}\n`);
  await at.list();
  const comments = [{ file: "a.txt", line: 1, text: "Not here" }];
  const { correlation_ids: [id] } = await at.post("/reviews/api/comments", { comments });
  assert.ok(!(await at.get(`/asks/${id}`)).text.includes(secret));
});
