/** `mesh review`: the queue, one review with its comments, and the person's decisions. */

import assert from "node:assert/strict";
import { serveDaemon } from "../../../support/cli/listening_daemon.ts";
import { addPeer } from "../../../support/daemon/peer_clients.ts";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";
import { world } from "../../../support/world.ts";

/** A person's terminal, and the peer api in a repository with a changed file. */
async function reviewFixture() {
  const repo = new TestRepository();
  repo.write("a.txt", "one\ntwo\n");
  repo.commit();
  repo.write("a.txt", "one\nTWO\n");
  const w = world({ settings: { "human.name": "sam" }, at_terminal: true, git: realGit });
  await addPeer(w, "api", { path: repo.folder });
  const daemon = serveDaemon(w);
  return {
    w,
    repo,
    mesh: (...args: string[]) => daemon.mesh(["review", ...args], {}, { interactive: true }),
    async [Symbol.asyncDispose]() {
      await daemon.stop();
      await w[Symbol.asyncDispose]();
      repo[Symbol.dispose]();
    },
  };
}

Deno.test("mesh review lists what is ready, and shows the first with --next [4.reviews.ready]", async () => {
  await using at = await reviewFixture();
  const list = await at.mesh();
  assert.equal(list.code, 0);
  assert.match(list.out, /api +ready +2 lines in 1 file/);
  const next = await at.mesh("--next");
  assert.match(next.out, /review +api: ready/);
  assert.match(next.out, /-two\n\+TWO/);
  assert.ok(!(await at.mesh("api", "--stat")).out.includes("@@"));
});

Deno.test("mesh review comments on a line, and shows the answer below it [4.reviews.comment]", async () => {
  await using at = await reviewFixture();
  const sent = await at.mesh("api", "--comment", "a.txt:2", "Why so loud?");
  const [, id = ""] = /^Sent as (ask-[0-9a-f]+)/.exec(sent.out) ?? [];
  assert.notEqual(id, "", sent.out + sent.err);
  const open = await at.mesh("api");
  assert.match(
    open.out,
    /a\.txt:2 .*the line is still there\n> TWO\nWhy so loud\?\napi: not seen yet/,
  );
  await at.w.post("/ack", { correlation_id: id, message: "It was asked for" });
  assert.match((await at.mesh("api")).out, /api: It was asked for/);
});

Deno.test("mesh review accepts, and exits with 1 for what it cannot accept [4.reviews.accept]", async () => {
  await using at = await reviewFixture();
  const mixed = await at.mesh("api,nobody", "--accept");
  assert.equal(mixed.code, 1);
  assert.match(mixed.out, /api: accepted; nothing was merged or pushed\nnobody: not accepted: /);
  const empty = await at.mesh();
  assert.deepEqual([empty.code, empty.out], [1, "Nothing is ready to review\n"]);
  assert.match((await at.mesh("--all")).out, /api +accepted/);
  assert.equal((await at.mesh("api", "--send-back", "No")).code, 0);
  assert.match((await at.mesh("--all")).out, /api +sent back/);
  await at.mesh("api", "--in");
  assert.match((await at.mesh()).out, /api +ready/);
});

Deno.test("mesh review --accept --digest accepts the diff that was shown, and no later one", async () => {
  await using at = await reviewFixture();
  const [, digest = ""] = /digest +(\S+)/.exec((await at.mesh("api")).out) ?? [];
  at.repo.write("a.txt", "one\nthree\n");
  const late = await at.mesh("api", "--accept", "--digest", digest);
  assert.equal(late.code, 1);
  assert.match(late.out, /api: not accepted: Its changes are others now/);
  at.repo.write("a.txt", "one\nTWO\n");
  assert.equal((await at.mesh("api", "--accept", "--digest", digest)).code, 0);
  const misused = [["api", "--digest", digest], ["api,web", "--accept", "--digest", digest]];
  for (const args of misused) assert.equal((await at.mesh(...args)).code, 2, args.join(" "));
});

Deno.test("mesh review refuses a text without a line, and a line in another form", async () => {
  await using at = await reviewFixture();
  for (const args of [["api", "why"], ["api", "--comment", "a.txt", "why"]]) {
    const refused = await at.mesh(...args);
    assert.equal(refused.code, 2, refused.out);
    assert.match(refused.err, /FILE:LINE/);
  }
});
