/** The strategy `relevance`: descriptions, project folders and earlier replies decide. */

import assert from "node:assert/strict";
import { type World, world } from "../../../../support/world.ts";
import { addPeer, ask, get, post } from "../../../../support/daemon/peer_clients.ts";

function worldWithDescriptions(settings: Record<string, string> = {}) {
  return world({ settings: { "routing.strategy": "relevance", ...settings } });
}

function route(w: World, text: string, more: Record<string, unknown> = {}) {
  return post(w, "/ask", { from_peer: "ada", text, ...more });
}

function describe(w: World, name: string, description: string) {
  return post(w, `/peers/${name}/description`, { description });
}

Deno.test("the peer whose description matches best is asked, in any inflection", async () => {
  await using w = worldWithDescriptions();
  for (const name of ["bob", "eve", "zoe", "max"]) await addPeer(w, name);
  await describe(w, "max", "I could help you with this and that, and what it is about");
  await describe(w, "bob", "Payments and billing: Stripe webhooks, invoices");
  await describe(w, "eve", "Search index and ranking");
  await describe(w, "zoe", "Postgres migrations, schema of the database");
  // deno-fmt-ignore
  const asks = [
    ["Why did the stripe webhook retry the payment?",       "bob"],
    ["INVOICES, please: which ones are late?",              "bob"],
    ["Can you migrate the database to the new schema?",     "zoe"],
    ["Ranking is off since the index was rebuilt",          "eve"],
    ["Migrate?",                                            "zoe"],
    ["Could you help me with this about the invoice?",      "bob"],
  ] as const;
  for (const [text, expected] of asks) {
    const { routing } = await route(w, text);
    assert.deepEqual([text, routing.routed_to, routing.fallback], [text, expected, false]);
    assert.ok(routing.confidence > 0 && routing.confidence <= 1, String(routing.confidence));
  }
});

Deno.test("the confidence is 1 for a single peer that matches every word, and less otherwise", async () => {
  await using w = worldWithDescriptions();
  await addPeer(w, "bob");
  await addPeer(w, "eve");
  await describe(w, "bob", "billing and invoices");
  const exactScore = (await route(w, "billing invoices")).routing.confidence;
  const halfScore = (await route(w, "billing zebras")).routing.confidence;
  await describe(w, "eve", "billing of the west coast");
  const sharedScore = (await route(w, "billing")).routing.confidence;
  assert.equal(exactScore, 1);
  assert.ok(halfScore < 1 && halfScore > 0.5, String(halfScore));
  assert.ok(sharedScore < 0.75, String(sharedScore));
});

Deno.test("without a match there is no candidate, with or without words in the ask", async () => {
  await using w = worldWithDescriptions();
  await addPeer(w, "bob");
  await addPeer(w, "eve", { circle: "blue", role: "orchestrator" });
  await describe(w, "bob", "billing");
  for (
    const text of ["quantum chromodynamics", "Could you please help me with this?", "?!", "你好"]
  ) {
    const answer = await route(w, text);
    assert.deepEqual([text, answer.status, answer.arm, answer.reason], [
      text,
      503,
      "relevance",
      "no_candidate",
    ]);
  }
  const { routing } = await route(w, "quantum chromodynamics", { fallback_to: "eve" });
  assert.deepEqual([routing.routed_to, routing.confidence, routing.fallback_reason], [
    "eve",
    0,
    "no_candidate",
  ]);
});

Deno.test("a match below routing.min_confidence is low_confidence", async () => {
  await using w = worldWithDescriptions({ "routing.min_confidence": "0.9" });
  await addPeer(w, "bob");
  await describe(w, "bob", "billing");
  const weak = await route(w, "billing zebras giraffes lions");
  assert.deepEqual([weak.status, weak.reason], [503, "low_confidence"]);
  assert.equal((await route(w, "billing")).status, 200);
});

Deno.test("the name of a peer's project folder counts", async () => {
  await using w = worldWithDescriptions();
  await addPeer(w, "bob", { path: "/home/sam/code/checkout-service" });
  await addPeer(w, "eve", { path: "/home/sam/code/search" });
  assert.equal((await route(w, "The checkout is broken")).routing.routed_to, "bob");
  assert.equal((await route(w, "search results are empty")).routing.routed_to, "eve");
});

Deno.test("the folders above the project count less", async () => {
  await using w = worldWithDescriptions();
  await addPeer(w, "bob", { path: "/search/x" });
  await addPeer(w, "eve", { path: "/home/sam/code/of/the/long/winding/road/search" });
  assert.equal((await route(w, "search")).routing.routed_to, "eve");
  assert.equal((await route(w, "winding")).routing.routed_to, "eve");
});

Deno.test("among few peers, the best match is asked, not the match of a rare word", async () => {
  await using w = worldWithDescriptions();
  await addPeer(w, "bob", { path: "/work/billing" });
  await addPeer(w, "eve", { path: "/work/search" });
  await describe(w, "bob", "billing");
  await describe(w, "eve", "check of results");
  assert.equal((await route(w, "check billing")).routing.routed_to, "bob");
});

Deno.test("a peer that answered a similar ask before is asked again", async () => {
  await using w = worldWithDescriptions();
  await addPeer(w, "bob");
  await addPeer(w, "eve");
  const first = await ask(w, "ada", "eve", "Where is the flag?");
  await post(w, "/ack", {
    correlation_id: first,
    message: "The kubernetes ingress is configured in deploy/ingress.yaml",
  });
  const second = await ask(w, "ada", "bob", "Kubernetes?");
  await post(w, "/decline", { correlation_id: second, reason: "No idea of kubernetes, go away" });
  const { routing } = await route(w, "How is the Kubernetes ingress set up?");
  assert.equal(routing.routed_to, "eve");
  assert.equal((await route(w, "Any idea?")).reason, "no_candidate");
});

Deno.test("a stale description counts less than a fresh one", async () => {
  await using w = worldWithDescriptions();
  await addPeer(w, "bob");
  await addPeer(w, "eve");
  await describe(w, "bob", "billing of today");
  await w.clock.advance(901_000);
  assert.equal((await get(w, "/peers/bob")).description, null);
  assert.equal((await route(w, "billing?")).routing.routed_to, "bob");
  await describe(w, "eve", "billing of today");
  for (let at = 0; at < 3; at++) await ask(w, "ada", "eve");
  assert.equal((await route(w, "billing?")).routing.routed_to, "eve");
});

Deno.test("among equal matches, the least busy peer is asked", async () => {
  await using w = worldWithDescriptions();
  await addPeer(w, "bob");
  await addPeer(w, "eve");
  for (const name of ["bob", "eve"]) await describe(w, name, "billing");
  const choices = [];
  for (let turn = 0; turn < 4; turn++) choices.push((await route(w, "billing")).routing.routed_to);
  assert.deepEqual(choices.toSorted(), ["bob", "bob", "eve", "eve"]);
});

Deno.test("the text of an ask is searched as words, even if it is FTS5 syntax", async () => {
  await using w = worldWithDescriptions();
  await addPeer(w, "bob");
  await describe(w, "bob", "billing");
  const hostile = [
    'billing" OR "',
    "billing* NEAR(a b)",
    "words:billing",
    "'); drop table peers --",
  ];
  for (const text of [...hostile, `${"x".repeat(100_000)} billing`]) {
    const answer = await route(w, text);
    assert.ok([200, 503].includes(answer.status), JSON.stringify(answer));
  }
  const text = Array.from({ length: 5000 }, (_, at) => `word${at}`).join(" ");
  assert.equal((await route(w, text)).reason, "no_candidate");
  assert.equal((await route(w, `billing ${text}`)).status, 200);
  assert.equal((await route(w, `${text} billing`)).reason, "no_candidate");
});

Deno.test("many peers with a long history are searched quickly", async () => {
  await using w = worldWithDescriptions();
  for (let at = 0; at < 60; at++) {
    await addPeer(w, `peer${at}`, { path: `/work/project${at}` });
    await describe(w, `peer${at}`, `Keeper of topic${at}, ${"and more of the same ".repeat(10)}`);
  }
  for (let at = 0; at < 400; at++) {
    const correlation_id = await ask(w, "ada", `peer${at % 60}`, "Well?");
    await post(w, "/ack", {
      correlation_id,
      message: `It is answer${at}. ${"Words. ".repeat(200)}`,
    });
  }
  assert.equal((await route(w, "Who keeps topic42?")).routing.routed_to, "peer42");
  assert.equal((await route(w, "Who said answer399?")).routing.routed_to, "peer39");
});
