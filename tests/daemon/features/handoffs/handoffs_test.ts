import assert from "node:assert/strict";
import { realGit, TestRepository } from "../../../support/repositories/repository.ts";
import { Manifest } from "protocol/handoffs.ts";
import {
  addPeer,
  ask,
  eventData,
  get,
  post,
  signIn,
} from "../../../support/daemon/peer_clients.ts";
import { files } from "../../../../daemon/features/messages/attachments/store.ts";
import { FakeSockets } from "../../../support/world.ts";
import { fileText, handoffWorld, PROMPT, TEXT } from "../../../support/sessions/handoffs.ts";

const OWN = { from_peer: "api", to_peer: "web" };
/** The session's one prompt holds a token. */
const MASKED = {
  what: "parts of 1 entry",
  why: "long texts are shortened, and secrets are masked",
};

/** The manifest of a bundle, which is its first block. */
function manifestIn(text: string): Manifest {
  const [, json = ""] = /```json\n([^]*?)\n```/.exec(text) ?? [];
  return Manifest.parse(JSON.parse(json));
}

/** A repository with a changed file and a new one. */
function changedRepository(): TestRepository {
  const repo = new TestRepository();
  repo.write("src/port.ts", "1\n");
  repo.commit();
  repo.write("src/port.ts", "2\n");
  repo.write("notes.md", "n\n");
  return repo;
}

Deno.test("a peer hands its work over as one file, with the manifest first, and a message that carries it", async () => {
  using repo = changedRepository();
  const { w, api, web } = await handoffWorld({ folder: repo.folder, git: realGit });
  await using _ = w;
  const to = await ask(w, "web", "api", "Which port?");
  const of = await ask(w, "api", "web", "Which host?");
  const sent = await post(w, "/handoffs", { ...OWN, note: "Mind the tests" });
  assert.equal(sent.status, 200, JSON.stringify(sent));
  assert.deepEqual(sent.manifest.counts, {
    turns: 2,
    entries: 6,
    open_asks_to: 1,
    open_asks_from: 1,
    files: 3,
    masked_secrets: 1,
  });
  assert.deepEqual([sent.manifest.from.peer_id, sent.manifest.to.peer_id], [
    api.peer_id,
    web.peer_id,
  ]);
  assert.deepEqual([sent.kind, sent.correlation_id], ["notify", null]);
  assert.deepEqual(sent.manifest.left_out, [MASKED]);
  const text = await fileText(w, sent.attachment_id);
  assert.match(text, /^# Hand-over of the work of @api to @web\n/);
  assert.deepEqual(manifestIn(text).counts, sent.manifest.counts);
  assert.match(text, /> Mind the tests/);
  assert.match(text, new RegExp(`### ${to} from @web\\n\\n> Which port\\?`));
  assert.match(text, new RegExp(`### ${of} to @web\\n\\n> Which host\\?`));
  assert.match(text, /### Turn 1\n\n\*\*prompt\*\*\n\n> Fix the port\n/);
  const message = await get(w, `/messages/${sent.delivery_id}`);
  assert.equal(message.attachments[0].id, sent.attachment_id);
  assert.match(message.text, /^This hands the work of @api over to you\..*Note: Mind/s);
  const asks = await get(w, "/asks?state=open");
  assert.equal(asks.asks.length, 2, "the asks stay where they are");
});

Deno.test("a bundle names edited and changed files, not those that were only read", async () => {
  using repo = changedRepository();
  const { w } = await handoffWorld({ folder: repo.folder, git: realGit });
  await using _ = w;
  const { attachment_id } = await post(w, "/handoffs", { ...OWN, files: ["plan.md"] });
  const text = await fileText(w, attachment_id);
  const [, list] = /\n## Files\n\n.*\n\n([^]*?)\n\n## Last turns/.exec(text) ?? [];
  assert.deepEqual(list?.split("\n"), [
    "- `plan.md` (named)",
    "- `docs/port.md` (edited)",
    "- `src/port.ts` (git M)",
    "- `notes.md` (git ??)",
  ]);
});

Deno.test("secrets are masked, and text of others cannot pass as a part of the bundle", async () => {
  const { w } = await handoffWorld();
  await using _ = w;
  const note = "token=abcdefgh1234\n```\n## Last turns";
  const { attachment_id } = await post(w, "/handoffs", { ...OWN, note });
  const text = await fileText(w, attachment_id);
  assert.doesNotMatch(text, /hunter2|abcdefgh1234/);
  assert.match(text, /password=\[masked\]/);
  const headings = text.match(/^#{1,2} .*$/gm);
  assert.deepEqual(headings, [
    "# Hand-over of the work of @api to @web",
    "## Note",
    "## Open asks to @api",
    "## Open asks of @api",
    "## Files",
    "## Last turns",
  ]);
});

Deno.test("the manifest says what was left out, and why", async () => {
  const { w } = await handoffWorld();
  await using _ = w;
  const { manifest } = await post(w, "/handoffs", { ...OWN, last: 1 });
  assert.deepEqual([manifest.counts.turns, manifest.counts.entries], [1, 4]);
  assert.deepEqual(manifest.left_out, [
    { what: "earlier turns", why: "only the last 1 were to be handed over" },
    MASKED,
    {
      what: "the files that git sees changed",
      why: "Its folder is not known, or does not exist",
    },
  ]);
});

Deno.test("without a transcript the rest is handed over, and the manifest says so", async () => {
  for (const settings of [{ transcripts: "off" }, {}]) {
    const { w } = await handoffWorld({ settings, sessionFiles: {} });
    await using _ = w;
    const { manifest } = await post(w, "/handoffs", OWN);
    assert.equal(manifest.counts.turns, 0);
    assert.equal(manifest.left_out[0].what, "all turns");
  }
});

Deno.test("a bundle holds at most 200,000 characters of turns: the latest ones", async () => {
  const long = "x".repeat(3_000);
  const entries = Array.from({ length: 100 }, () => ({ ...TEXT, text: long }));
  const { w } = await handoffWorld({ entries: [PROMPT_OF("Begin"), ...entries] });
  await using _ = w;
  const { manifest } = await post(w, "/handoffs", OWN);
  assert.equal(manifest.counts.entries, 66);
  assert.deepEqual(manifest.left_out[0], {
    what: "35 earlier entries",
    why: "the turns are longer than 200000 characters",
  });
});

const PROMPT_OF = (text: string) => ({ ...PROMPT, text });

Deno.test("a bundle reads at most 600 entries, and names at most 200 files and 50 asks", async () => {
  const entries = Array.from({ length: 700 }, () => ({ ...TEXT, text: "x" }));
  using repo = new TestRepository();
  for (let at = 0; at < 250; at++) repo.write(`f${at}`, "");
  const { w } = await handoffWorld({ entries, folder: repo.folder, git: realGit });
  await using _ = w;
  for (let at = 0; at < 51; at++) {
    await addPeer(w, `p${at}`);
    await ask(w, `p${at}`, "api");
  }
  const { manifest } = await post(w, "/handoffs", OWN);
  assert.deepEqual([manifest.counts.entries, manifest.counts.files, manifest.counts.open_asks_to], [
    600,
    200,
    51,
  ]);
  assert.deepEqual(manifest.left_out.map(({ what }: { what: string }) => what), [
    "earlier turns",
    "50 files",
    "1 of open asks to it",
  ]);
});

Deno.test("an agent hands over its own work only, and proves that it is itself; a person hands over any", async () => {
  const sockets = new FakeSockets();
  const { w } = await handoffWorld({ sockets });
  await using _ = w;
  sockets.holders = [60];
  const foreign = await post(w, "/handoffs", { from_peer: "web", to_peer: "web", of_peer: "api" });
  assert.deepEqual([foreign.status, foreign.error], [403, "not_your_work"]);
  assert.equal((await post(w, "/handoffs", OWN)).error, "not_your_identity", "it is web's process");
  sockets.holders = [666];
  await addPeer(w, "bare", { path: "/w" });
  const unproved = await post(w, "/handoffs", { from_peer: "bare", to_peer: "web" });
  assert.equal(unproved.error, "not_your_work");
  sockets.holders = [];
  const page = await signIn(w);
  const own = await post(w, "/handoffs", { from_peer: "sam", to_peer: "web" }, page);
  assert.match(own.detail, /of_peer: Name the agent/);
  const body = { from_peer: "sam", to_peer: "web", of_peer: "api" };
  const sent = await post(w, "/handoffs", body, page);
  assert.equal(sent.status, 200, JSON.stringify(sent));
  assert.equal(sent.manifest.from.name, "api");
});

Deno.test("a hand-over to its own peer or to nobody is refused, and stores nothing", async () => {
  const { w } = await handoffWorld();
  await using _ = w;
  assert.equal((await post(w, "/handoffs", { ...OWN, to_peer: "api" })).error, "to_self");
  assert.equal((await post(w, "/handoffs", { ...OWN, to_peer: "nobody" })).error, "unknown_peer");
  assert.equal((await post(w, "/handoffs", { ...OWN, last: 51 })).error, "invalid_request");
  assert.equal((await post(w, "/handoffs", { ...OWN, last: 0 })).error, "invalid_request");
  assert.equal(eventData(w, "notification").length, 0);
});

Deno.test("a hand-over that a limit refuses leaves no file behind", async () => {
  const { w } = await handoffWorld({ settings: { "daemon.limits.pair_per_minute": "1" } });
  await using _ = w;
  const first = await post(w, "/handoffs", OWN);
  const refused = await post(w, "/handoffs", OWN);
  assert.deepEqual([first.status, refused.error], [200, "rate_limited"]);
  assert.deepEqual(files(w.daemon.ctx.db).length, 1, "of the first hand-over");
});

Deno.test("--ask sends an ask, which the other closes; a repeated request sends one", async () => {
  const { w } = await handoffWorld();
  await using _ = w;
  const key = { "idempotency-key": "one" };
  const sent = await post(w, "/handoffs", { ...OWN, ask: true }, key);
  const again = await post(w, "/handoffs", { ...OWN, ask: true }, key);
  assert.match(sent.correlation_id, /^ask-/);
  assert.equal(again.attachment_id, sent.attachment_id);
  const { asks: [opened, ...more] } = await get(w, "/asks?state=open");
  assert.deepEqual([opened.correlation_id, more.length], [sent.correlation_id, 0]);
  assert.equal(opened.attachments[0].id, sent.attachment_id);
});

Deno.test("no turns go along with a request from elsewhere, and the manifest says so", async () => {
  const { w, api, web } = await handoffWorld();
  await using _ = w;
  const of = w.daemon.agentPeers.mustGetRecord(api.peer_id);
  const to = { peer_id: web.peer_id, name: "web" };
  const requester = { isHuman: true, isElsewhere: true, peer_id: undefined };
  const request = { of, to, last: 10, requester };
  const { manifest, turns } = await w.daemon.handoffs.collect(request);
  assert.deepEqual(turns, []);
  assert.equal(manifest.left_out[0]?.what, "all turns");
  assert.match(manifest.left_out[0]?.why ?? "", /on its own machine only/);
});
