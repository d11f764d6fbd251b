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

Deno.test("mesh review decides about several by the digests that were shown, and names those that changed [4.reviews.batch]", async () => {
  await using at = await reviewFixture();
  using other = new TestRepository();
  other.write("b.txt", "one\n");
  other.commit();
  other.write("b.txt", "two\n");
  await addPeer(at.w, "web", { path: other.folder });
  const digests = async () => {
    const { out } = await at.mesh("--all");
    const found = out.matchAll(/^(\w+) .*\b([0-9a-f]{8})\b/gm);
    return Object.fromEntries(Array.from(found, ([, name, digest]) => [name, `${name}:${digest}`]));
  };
  const { api, web } = await digests();
  assert.ok(api && web);
  at.repo.write("a.txt", "three\n");
  await at.w.clock.advance(61_000);
  const back = await at.mesh(`${api},${web}`, "--send-back", "Add a test");
  assert.equal(back.code, 1);
  assert.match(
    back.out,
    /^api: not sent back: .*The changes of api are others now.*\nweb: sent back\n$/,
  );
  const accepted = await at.mesh(`${api},${web}`, "--accept");
  assert.equal(accepted.code, 1);
  assert.match(
    accepted.out,
    /^api: not accepted: The changes of api are others now.*\nweb: accepted; nothing was merged or pushed\n$/,
  );
  const { api: now } = await digests();
  assert.equal((await at.mesh(now ?? "", "--accept")).code, 0);
  const { asks } = await (await at.w.fetch("/asks")).json();
  assert.equal(asks.length, 1);
});

Deno.test("mesh review refuses a text without a line, and a line in another form", async () => {
  await using at = await reviewFixture();
  for (const args of [["api", "why"], ["api", "--comment", "a.txt", "why"]]) {
    const refused = await at.mesh(...args);
    assert.equal(refused.code, 2, refused.out);
    assert.match(refused.err, /FILE:LINE/);
  }
});
