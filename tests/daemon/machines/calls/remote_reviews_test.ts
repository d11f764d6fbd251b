/** Reviews on another machine: read and decided by a person here, if that machine allows it. */

import assert from "node:assert/strict";
import { cleanDetail, cleanList } from "../../../../daemon/features/reviews/elsewhere.ts";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";
import { laptopAndBuildbox } from "../../../support/machines/memory_network.ts";

const TERMINAL = { "x-mesh-terminal": "7" };

/** A laptop with a person, and a buildbox where painter has changed a file. */
async function paintersReview(allow: boolean) {
  const repo = new TestRepository();
  repo.write("a.ts", "one\ntwo\n");
  repo.commit();
  repo.write("a.ts", "one\n2\u202e\n");
  const two = await laptopAndBuildbox({
    laptop: { at_terminal: true },
    buildbox: {
      settings: {
        "human.name": "sam",
        ...(allow && { "mesh.bus.allow_admin": '["laptop"]' }),
      },
      git: realGit,
    },
  });
  const painter = two.buildbox.socket();
  await painter.connect({ display_name: "painter", circle: "work", path: repo.folder });
  await two.pass(3);
  const request = async (path: string, init: RequestInit = { headers: TERMINAL }) => {
    const response = await two.laptop.fetch(path, init);
    return { status: response.status, ...await response.json() };
  };
  return {
    get: request,
    post: (path: string, body: unknown, headers: Record<string, string> = TERMINAL) =>
      request(path, { method: "POST", body: JSON.stringify(body), headers }),
    async [Symbol.asyncDispose]() {
      await two[Symbol.asyncDispose]();
      repo[Symbol.dispose]();
    },
  };
}

Deno.test("a person reads and accepts reviews of a machine that this one may administer [4.reviews.readers]", async () => {
  await using at = await paintersReview(true);
  const list = await at.get("/reviews?machine=buildbox&fresh=true");
  const [review] = list.reviews;
  assert.deepEqual([list.ready, review.author.name], [1, "painter"], JSON.stringify(list));
  const id = review.review_id;
  const detail = await at.get(`/reviews/${id}?machine=buildbox`);
  assert.deepEqual(detail.changes.files[0].hunks[0].lines, [" one", "-two", "+2⟨U+202E⟩"]);
  const reviews = [{ id, digest: review.digest }];
  const machine = "buildbox";
  assert.equal(
    (await at.post("/reviews", { reviews, machine }, {})).error,
    "human_not_proven",
  );
  const { results } = await at.post("/reviews", { reviews, machine });
  assert.deepEqual(results, [{ id, accepted: true, detail: null }]);
  assert.equal((await at.get("/reviews?machine=buildbox")).ready, 0);
  const placed = await at.post(`/reviews/${id}/place`, { placed: "in", machine });
  assert.deepEqual(placed, { status: 200, ok: true });
  assert.equal((await at.get("/reviews?machine=buildbox")).ready, 1);
});

Deno.test("a machine that does not allow it shows no reviews and takes no decision", async () => {
  await using at = await paintersReview(false);
  const list = await at.get("/reviews?machine=buildbox");
  assert.deepEqual([list.status, list.error], [502, "reviews_elsewhere"]);
  const sent = await at.post("/reviews/painter/send-back", { text: "no", machine: "buildbox" });
  assert.deepEqual([sent.status, sent.error], [502, "reviews_elsewhere"]);
  assert.equal((await at.get("/reviews?machine=nobody")).error, "unknown_machine_name");
});

Deno.test("an answer of another form is refused, and its texts are masked", () => {
  const hostile = [undefined, [], {}, { reviews: [{ review_id: 1 }], ready: 0, reading: 0 }];
  for (const answer of hostile) {
    assert.throws(() => cleanList("far", answer, []), /another form/);
    assert.throws(() => cleanDetail("far", answer, []), /another form/);
  }
  const empty = { reviews: [], unread: [], ready: 0, reading: 0 };
  assert.deepEqual(cleanList("far", empty, []), empty);
});
