/** Forms of requests: repeated keys, missing fields, empty texts, alternative names. */

import assert from "node:assert/strict";
import { EndpointAnswer } from "../../../../daemon/features/asks/routing/endpoint.ts";
import { type World, world } from "../../../support/world.ts";
import { addPeer, ask, connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";

async function postText(w: World, body: string) {
  const response = await w.fetch("/ask", { method: "POST", body });
  return { status: response.status, ...await response.json() };
}

Deno.test("a repeated key of /ask is refused, in the same and in another spelling", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const rest = `"from_peer": "ada", "text": "Hi"`;
  const twice = [
    [`{"to_peer": "bob", "to_peer": "eve", ${rest}}`, "to_peer"],
    [`{"to_peer": "bob", "TO_PEER": "bob", ${rest}}`, "TO_PEER"],
    [`{"to_peer": "bob", "to\\u005fpeer" : "bob", ${rest}}`, "to_peer"],
    [`{"to_peer": "bob", "text": "\\"{[", ${rest}}`, "text"],
  ] as const;
  for (const [body, key] of twice) {
    const { status, error, ...refusal } = await postText(w, body);
    assert.deepEqual([status, error, refusal.key], [400, "unknown_key", key], body);
    assert.match(refusal.detail, /repeated/);
  }
  assert.equal((await get(w, "/asks")).asks.length, 0);
});

Deno.test("nested keys, and texts that look like keys, may repeat", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const question = `{"kind": "text", "metadata": {"to_peer": 1, "a": [{"text": 1}, {"text": 2}]}}`;
  const text = JSON.stringify(`"text": "text": {"to_peer": "eve"} \\"`);
  const body = `{"to_peer": "bob", "from_peer": "ada", "question": ${question}, "text": ${text}}`;
  const asked = await postText(w, body);
  assert.equal(asked.status, 200);
  const kept = await get(w, `/asks/${asked.correlation_id}`);
  assert.equal(kept.text, JSON.parse(text));
  assert.equal((await postText(w, `[${body}, ${body}]`)).status, 422);
});

Deno.test("a question has all its fields, null if they were omitted", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const bob = await connectPeer(w, "bob");
  const whole = {
    kind: "text",
    prompt: null,
    options: [],
    scope: null,
    timeout_seconds: null,
    blocking: false,
    metadata: null,
  };
  const asked = await ask(w, "ada", "bob", "Which?", { question: { kind: "text" } });
  assert.deepEqual((await get(w, `/asks/${asked}`)).question, whole);
  assert.deepEqual(bob.of("ask")[0]?.question, whole);
  await ask(w, "bob", "sam", "Which?", { question: { ...whole, scope: "plan" } });
  const { items: [item] } = await get(w, "/inbox");
  assert.deepEqual(item.question, { ...whole, scope: "plan" });
});

Deno.test("an ack with an empty message is a bare ack, for open and closed asks", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const correlation_id = await ask(w, "ada", "bob");
  for (const _ of ["open", "closed"]) {
    const acked = await post(w, "/ack", { correlation_id, message: "" });
    assert.deepEqual([acked.status, acked.close_reason], [200, "ack"]);
  }
  assert.equal((await get(w, `/asks/${correlation_id}`)).reply, null);
});

Deno.test("an endpoint may respond with peer, peer_id or to_peer", () => {
  const peerOf = (output: object) => EndpointAnswer.safeParse(output).data?.peer;
  assert.equal(peerOf({ peer_id: "peer-1" }), "peer-1");
  assert.equal(peerOf({ to_peer: "bob", confidence: 0.5 }), "bob");
  assert.equal(peerOf({ peer: "bob", peer_id: "peer-1" }), "bob");
  assert.equal(peerOf({ peer_id: null }), null);
  for (const output of [{}, { peer_id: 5 }, { name: "bob" }, null, "bob", []]) {
    assert.equal(EndpointAnswer.safeParse(output).success, false);
  }
});

Deno.test("names and texts that are blank or cannot be shown are refused with their path", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const correlation_id = await ask(w, "ada", "bob");
  const fine = { from_peer: "ada", to_peer: "bob", text: "Hi" };
  const choice = { kind: "choice", prompt: "Which?", options: [{ id: "a", title: "Apples" }] };
  const cases = [
    ["/ask", { ...fine, from_peer: "a\udc00" }, "from_peer"],
    ["/ask", { ...fine, from_peer: " \u00a0 " }, "from_peer"],
    ["/ask", { ...fine, origin: { surface: "\0", ref: "1" } }, "origin.surface"],
    ["/ask", { ...fine, question: { ...choice, prompt: "\ud800" } }, "question.prompt"],
    [
      "/ask",
      { ...fine, question: { ...choice, options: [{ id: "\0", title: "" }] } },
      "question.options.0.id",
    ],
    [`/asks/${correlation_id}/cancel`, { peer_id: "ada", reason: "\0" }, "reason"],
  ] as const;
  for (const [path, body, at] of cases) {
    const { status, error, issues } = await post(w, path, body);
    assert.deepEqual([status, error, issues[0].path], [422, "invalid_request", at]);
  }
});

Deno.test("a removed peer's asks can still be listed and waited for by its id", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  await addPeer(w, "bob");
  const correlation_id = await ask(w, "ada", "bob");
  await post(w, "/ack", { correlation_id, message: "Yes" });
  await w.fetch("/peers/ada", { method: "DELETE" });
  const { asks } = await get(w, `/asks?peer_id=${peer_id}`);
  assert.deepEqual(asks.map((record: { reply: string }) => record.reply), ["Yes"]);
  const ended = await post(w, `/asks/${correlation_id}/wait`, { peer_id });
  assert.deepEqual([ended.status, ended.reply], ["resolved", "Yes"]);
  assert.equal((await get(w, "/asks?peer_id=peer-000000000000")).status, 404);
});
