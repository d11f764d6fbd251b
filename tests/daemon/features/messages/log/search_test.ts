/** The search of the message log: terms, snippets, indexing. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { snippetOf, toSearch } from "../../../../../daemon/features/messages/log/search_terms.ts";
import * as z from "zod";
import * as ledger from "../../../../../daemon/features/messages/ledger/ledger.ts";
import { world } from "../../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  get,
  notify,
  post,
} from "../../../../support/daemon/peer_clients.ts";
import { page, texts } from "../../../../support/daemon/message_log.ts";
import { restartableWorld } from "../../../../support/daemon/restartable.ts";

Deno.test("a search matches all words in any order, without regard to case or accents", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await notify(w, "ada", "bob", "The API listens on port 8080 of the café");
  await notify(w, "ada", "bob", "The port is blocked by the API");
  await w.tick();
  const hits = (q: string) => texts(w, { q });
  assert.equal((await hits("api PORT")).length, 2);
  assert.deepEqual(await hits("cafe 8080"), ["The API listens on port 8080 of the café"]);
  assert.deepEqual(await hits('"is blocked"'), ["The port is blocked by the API"]);
  assert.deepEqual(await hits('"blocked is"'), []);
  assert.equal((await hits("block*")).length, 1);
  assert.equal((await hits("block")).length, 0);
  assert.equal((await hits('"port is blo"*')).length, 1);
  assert.equal((await hits("bl*")).length, 0, "a prefix needs three letters");
  assert.equal((await hits("api ".repeat(32) + "nowhere")).length, 2, "the first 32 words count");
  assert.equal((await hits("api nowhere")).length, 0);
  assert.equal((await hits("!!! ???")).length, 0);
  assert.equal((await hits("api !!!")).length, 2);
  assert.equal((await hits("  ")).length, 2, "a search without words finds nothing");
  assert.equal((await get(w, `/messages?q=${"x".repeat(1001)}`)).status, 422);
});

Deno.test("a reply is found on its ask, with and without an ack message", async () => {
  await using w = world();
  await connectPeer(w, "ada");
  await addPeer(w, "bob");
  const pulled = await ask(w, "ada", "bob", "One", { reply_delivery: "pull" });
  const unregistered = await ask(w, "nobody", "bob", "Two");
  const pushed = await ask(w, "ada", "bob", "Three");
  await w.tick();
  for (const correlation_id of [pulled, unregistered, pushed]) {
    await post(w, "/ack", { correlation_id, message: `Plum ${correlation_id}` });
  }
  await w.tick();
  const found = (await page(w, { q: "plum" })).messages;
  assert.deepEqual(found.map(({ kind }) => kind), ["ack", "ask", "ask", "ask"]);
  assert.equal(found[3]?.snippet, `Plum ${pulled}`);
  assert.deepEqual(
    await texts(w, { q: "plum three" }),
    ["Three"],
    "words may be spread over text and reply",
  );
  assert.deepEqual(await texts(w, { q: "one" }), ["One"], "and the question is still found");
});

Deno.test("no search text is an error, and a message is found by each of its words", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await notify(w, "ada", "bob", "NEAR the AND of col:umn ^x (y) -z");
  await w.tick();
  const odd = fc.oneof(
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.string({
      unit: fc.constantFrom(..."\"*^:()-+{}'\\ \0\ud800AND NEAR OR NOT text".split("")),
      maxLength: 60,
    }),
  );
  await fc.assert(
    fc.asyncProperty(odd, async (q) => {
      const answer = await w.fetch(`/messages?q=${encodeURIComponent(q.toWellFormed())}`);
      assert.equal(answer.status, 200, await answer.text());
    }),
    { numRuns: 300 },
  );
  for (const q of ["NEAR", "AND", "and of", "col:umn", "^x", "(y)", "-z", "NEAR(the"]) {
    assert.equal((await texts(w, { q })).length, 1, q);
  }
  for (const q of ['"', "text:", "umn:col", "NEAR OR"]) {
    assert.equal((await texts(w, { q })).length, 0, q);
  }
});

Deno.test("the snippet of a Korean text starts shortly before the match", () => {
  const search = toSearch("배포");
  assert.ok(search);
  const text = `${"한국어 ".repeat(100)}배포 ${"완료 ".repeat(100)}`;
  assert.equal(snippetOf(search, [text]).indexOf("배포"), 41);
});

Deno.test("a snippet shows the match on one line, and splits no character", () => {
  const search = toSearch("Straße");
  assert.ok(search);
  const long = `${"😀".repeat(50)} die\nSTRASSE, die strasse, die Stráße ${"😀".repeat(200)}`;
  const snippet = snippetOf(search, [long]);
  assert.match(snippet, /^…😀+ die STRASSE, die strasse, die Stráße 😀+…$/u);
  assert.ok(snippet.isWellFormed() && snippet.length <= 162);
  const prefix = toSearch("depl*");
  assert.ok(prefix);
  assert.equal(snippetOf(prefix, ["nothing", "we deploy"]), "we deploy");
  assert.equal(snippetOf(prefix, ["nothing", ""]), "nothing");
});

Deno.test("a phrase of many words makes a small pattern, and its snippet starts at the phrase", () => {
  const phrase = Array.from({ length: 100 }, (_, word) => `w${word}`).join(" ");
  const search = toSearch(`"${phrase}"`);
  assert.ok(search && search.pattern.source.length < 1500, String(search?.pattern.source.length));
  assert.ok(search.match.includes("w99"));
  const text = `${"before ".repeat(20)}${phrase} after`;
  assert.match(snippetOf(search, [text]), /^…?(?:\S+ )*before w0 w1 w2/);
});

Deno.test("the index catches up after a flood, and continues after a restart", async () => {
  using at = restartableWorld();
  const settings = { "daemon.queue.max_per_peer": "100000" };
  {
    await using w = at.start({ settings });
    await addPeer(w, "bob");
    for (let count = 0; count < 450; count++) await notify(w, "ada", "bob", `plum ${count}`);
    // A search indexes only a part.
    assert.equal((await texts(w, { q: "plum", limit: "500" })).length, 400);
    w.daemon.tick();
    const { db } = w.daemon.ctx;
    db.flush();
  }
  await using w = at.start({ settings });
  const partly = (await texts(w, { q: "plum", limit: "500" })).length;
  assert.ok(partly > 0, "indexed messages stay indexed");
  for (let ticks = 0; ticks < 5; ticks++) await w.tick();
  assert.equal((await texts(w, { q: "plum", limit: "500" })).length, 450);
  assert.deepEqual(await texts(w, { q: "plum 449" }), ["plum 449"]);
  assert.deepEqual(w.logged.filter((line) => line.includes("error")), []);
});

Deno.test("ticks index a database from before the search existed, replies included", async () => {
  using at = restartableWorld();
  {
    await using w = at.start();
    await addPeer(w, "bob");
    const correlation_id = await ask(w, "ada", "bob", "Which plum?");
    await post(w, "/ack", { correlation_id, message: "The damson" });
    for (let count = 0; count < 250; count++) await notify(w, "ada", "bob", `plum ${count}`);
  }
  const before = new DatabaseSync(at.db_path);
  before.exec(
    "insert into message_words (message_words) values ('delete-all'); delete from word_marks",
  );
  before.close();
  await using w = at.start();
  await w.tick();
  const { db } = w.daemon.ctx;
  const fed = db.get(z.object({ seq: z.number() }), "select seq from word_marks");
  assert.ok((fed?.seq ?? 0) > 0, "ticks have indexed a part");
  assert.deepEqual(await texts(w, { q: "damson" }), ["Which plum?"]);
  for (let ticks = 0; ticks < 3; ticks++) await w.tick();
  assert.equal((await texts(w, { q: "plum", limit: "500" })).length, 251);
});

Deno.test("a tick without new messages writes nothing", async () => {
  await using w = world();
  await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  await w.tick();
  await w.tick();
  const { db } = w.daemon.ctx;
  const changes = () => db.get(z.object({ n: z.number() }), "select total_changes() as n")?.n;
  const before = changes();
  await w.tick();
  assert.equal(changes(), before);
});

Deno.test("a new message and a reply to it are found before any tick", async () => {
  await using w = world();
  await addPeer(w, "api");
  await addPeer(w, "web");
  const found = async (q: string) =>
    (await get(w, `/messages?q=${q}`)).messages.map(({ text }: { text: string }) => text);
  const id = await ask(w, "api", "web", "Where are the quinces?");
  assert.deepEqual(await found("quinces"), ["Where are the quinces?"]);
  await post(w, "/ack", { correlation_id: id, from_peer: "web", message: "In the cellar" });
  assert.deepEqual((await found("cellar")).toSorted(), ["In the cellar", "Where are the quinces?"]);
  for (let count = 0; count < 300; count++) await notify(w, "api", "web", `medlar ${count}`);
  assert.deepEqual(await found("299"), ["medlar 299"]);
  assert.equal((await found("medlar")).length, 50);
});

Deno.test("a flood of messages is indexed when it has ended, or has lasted ten ticks", async () => {
  await using w = world({ settings: { "daemon.queue.max_per_peer": "1000000" } });
  await addPeer(w, "bob");
  const { db } = w.daemon.ctx;
  const indexed = () => db.value(z.number(), "select seq from word_marks") ?? 0;
  await notify(w, "ada", "bob", "plum");
  const [template] = ledger.queue(w.daemon.ctx.db, w.daemon.directory.find("bob").peer_id, 1);
  assert.ok(template);
  /** Adds messages as a flood does; the API would take seconds. */
  const flood = () => {
    const last = db.value(z.number(), "select max(seq) from messages") ?? 0;
    db.transact((tx) => {
      for (let seq = last + 1; seq <= last + 1001; seq++) {
        ledger.insert(tx, { ...template, seq });
      }
    });
  };
  await w.tick();
  const before = indexed();
  for (let tick = 0; tick < 10; tick++) {
    flood();
    w.daemon.tick();
    assert.equal(indexed(), before);
  }
  flood();
  w.daemon.tick();
  assert.ok(indexed() > before, "the eleventh tick");
  const during = indexed();
  flood();
  w.daemon.tick();
  assert.equal(indexed(), during);
  w.daemon.tick();
  assert.ok(indexed() > during, "at rest");
});
