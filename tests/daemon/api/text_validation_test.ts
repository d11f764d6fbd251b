/** Text about a peer is stored unchanged or refused: never silently cut. */

import assert from "node:assert/strict";
import { world } from "../../support/world.ts";
import { addPeer, get, post } from "../../support/daemon/peer_clients.ts";

const NUL = "\u0000", LONE_SURROGATE = "\ud800";

Deno.test("a NUL or a lone surrogate in a peer's own texts is refused", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  const of_peers = { path: "/work", backend: "sdk" };
  for (const broken of [`a${NUL}b`, LONE_SURROGATE]) {
    for (const field of ["path", "machine", "model", "tmux_session", "runtime_session_id"]) {
      const { status, issues } = await post(w, "/peers", { ...of_peers, [field]: broken });
      assert.deepEqual([field, status, issues[0].path], [field, 422, field]);
    }
    const about = await post(w, `/peers/${peer_id}/description`, { description: broken });
    const why = await post(w, `/peers/${peer_id}/provenance`, { addressable_reason: broken });
    const turn = await post(w, `/peers/${peer_id}/turn`, { model: broken });
    assert.deepEqual([about.status, why.status, turn.status], [422, 422, 422]);
  }
  const { description, model } = await get(w, `/peers/${peer_id}`);
  assert.deepEqual([description, model], [null, null]);
});

Deno.test("metadata that is nested too deep is refused", async () => {
  await using w = world();
  const nested = (levels: number): unknown => levels === 0 ? 1 : { a: nested(levels - 1) };
  const body = (levels: number) => ({ path: "/", backend: "sdk", metadata: nested(levels) });
  assert.equal((await post(w, "/peers", body(64))).status, 200);
  const { status, issues } = await post(w, "/peers", body(65));
  assert.deepEqual([status, issues[0].path], [422, "metadata"]);
});

Deno.test("a body that is not UTF-8 is not JSON, with a length or in chunks", async () => {
  await using w = world();
  const bytes = new Uint8Array([...new TextEncoder().encode('{"path":"/'), 0xff, 0x22, 0x7d]);
  for (const body of [bytes, new Blob([bytes]).stream()]) {
    const headers = body === bytes ? { "content-length": String(bytes.length) } : {};
    const response = await w.fetch("/peers", { method: "POST", body, headers });
    assert.deepEqual([response.status, (await response.json()).error], [400, "bad_json"]);
  }
});

Deno.test("a question whose metadata is nested too deep, or too long, is refused", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const deep = "[".repeat(200_000) + "]".repeat(200_000);
  for (const inner of [deep, JSON.stringify("x".repeat(70_000))]) {
    const question = `{"kind":"text","metadata":{"a":${inner}}}`;
    const body = `{"from_peer":"ada","to_peer":"bob","text":"Why?","question":${question}}`;
    const response = await w.fetch("/ask", { method: "POST", body });
    const { issues } = await response.json();
    assert.deepEqual([response.status, issues[0].path], [422, "question.metadata"]);
  }
});
