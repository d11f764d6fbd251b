/** `HEAD` has the status and headers of a `GET`, without the body. */

import assert from "node:assert/strict";
import { world } from "../../support/world.ts";
import { addPeer } from "../../support/daemon/peer_clients.ts";

Deno.test("HEAD has the status and headers of GET, the length included, and no body", async () => {
  await using w = world();
  await addPeer(w, "api");
  for (const path of ["/peers", "/peers/api", "/health", "/docs", "/openapi.json", "/metrics"]) {
    const full = await w.fetch(path), head = await w.fetch(path, { method: "HEAD" });
    const length = (await full.bytes()).length;
    assert.equal(head.status, 200);
    assert.equal(head.headers.get("content-type"), full.headers.get("content-type"), path);
    const contentLength = Number(head.headers.get("content-length"));
    // Their times differ by a digit or two.
    assert.ok(
      Math.abs(contentLength - length) < 32 && contentLength > 0,
      `${path}: ${contentLength} and ${length}`,
    );
    assert.equal((await head.bytes()).length, 0);
  }
  for (const path of ["/peers/nobody", "/nowhere"]) {
    assert.equal((await w.fetch(path, { method: "HEAD" })).status, 404);
  }
  const wrong = await w.fetch("/ask", { method: "HEAD" });
  assert.deepEqual([wrong.status, wrong.headers.get("allow")], [405, "POST"]);
});

Deno.test("HEAD of the event stream opens no stream, and marks no dashboard live", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "api");
  const head = await w.fetch("/events/stream?surface=dashboard", { method: "HEAD" });
  assert.equal(head.headers.get("content-type"), "text/event-stream");
  assert.equal(head.headers.get("content-length"), null);
  const body = { from_peer: "api", to_peer: "sam", text: "Here?" };
  const { inbox } = await (await w.post("/ask", body)).json();
  assert.deepEqual(inbox.surfaces, []);
});
