/** Optional fields may be null, because programs pass on values that they do not know. */

import assert from "node:assert/strict";
import { world } from "../../support/world.ts";
import { addPeer, ask, get, post } from "../../support/daemon/peer_clients.ts";

Deno.test("null in an optional field means the same as its absence", async () => {
  await using w = world();
  const nulls = { circle: null, model: null, pane_id: null, agent_pid: null, metadata: null };
  const body = { name: "api", path: "/work", backend: "sdk", ...nulls };
  const { status, circle } = await post(w, "/peers", body);
  assert.deepEqual([status, circle], [200, "default"]);
  const provenance = { source: "hook", initiator: null };
  assert.equal((await post(w, "/peers", { ...body, name: "web", provenance })).status, 200);
  assert.equal((await get(w, "/peers/web")).source, "hook");
  const asked = { from_peer: "api", to_peer: "web", text: "?", Reply_To: null, attachments: null };
  assert.equal((await post(w, "/ask", { ...asked, fallback_to: null })).status, 200);
  const id = await ask(w, "api", "web");
  const ack = { correlation_id: id, from_peer: "web", message: null, attachments: null };
  assert.equal((await post(w, "/ack", ack)).close_reason, "ack");
});

Deno.test("null in a required field is refused, and so is a wrong type", async () => {
  await using w = world();
  await addPeer(w, "api");
  await addPeer(w, "web");
  const whole = { from_peer: "api", to_peer: "web", text: "?" };
  for (const [field, value] of [["text", null], ["circle", 5], ["attachments", [null]]] as const) {
    const { status, issues } = await post(w, "/ask", { ...whole, circle: null, [field]: value });
    assert.deepEqual([status, issues.at(-1).path.split(".")[0]], [422, field]);
  }
  assert.equal((await post(w, "/ask", { ...whole, to_peer: null })).error, "unknown_peer");
  assert.equal((await post(w, "/peers", [null])).status, 422);
});

Deno.test("a fault of a body as a whole is reported, with or without nulls", async () => {
  await using w = world();
  const body = { drain_id: null, delivery_ids: null, status: "seen" };
  const { status, issues } = await post(w, "/deliveries/receipts", body);
  assert.equal(status, 422);
  assert.ok(issues.length > 0);
});

Deno.test("a client may leave unknown fields null when it connects", async () => {
  await using w = world();
  const nulls = { circle: null, peer_id: null, agent_pid: null, model: null, capabilities: null };
  const socket = w.socket();
  assert.equal((await socket.connect({ display_name: "api", ...nulls }))?.type, "connected");
  const nobody = w.socket();
  await nobody.connect({ display_name: null });
  assert.equal(nobody.closed?.code, 4002);
});
