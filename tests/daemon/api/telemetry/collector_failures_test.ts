/** A collector that is down, slow or answers rubbish changes nothing for messages. */

import assert from "node:assert/strict";
import { Collector } from "../../../support/telemetry/collector.ts";
import { connectPeer, post } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";

const RUBBISH = "\u0000<html>".repeat(100_000);
const endless = () =>
  new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(16_384)),
  });

const SENDERS: Readonly<Record<string, (request: Request) => Promise<Response>>> = {
  "is down": () => Promise.reject(new TypeError("connection refused")),
  "never answers": () => new Promise(() => {}),
  "answers rubbish": () => Promise.resolve(new Response(RUBBISH)),
  "answers without end": () => Promise.resolve(new Response(endless())),
  "refuses everything": () => Promise.resolve(new Response("no", { status: 400 })),
  "redirects": () => Promise.resolve(Response.redirect("http://127.0.0.1:1/elsewhere", 307)),
};

for (const [name, send] of Object.entries(SENDERS)) {
  Deno.test(`a collector that ${name} changes nothing for messages`, async () => {
    await using w = world({ settings: { "telemetry.otlp": "http://127.0.0.1:4318" }, send });
    const bob = await connectPeer(w, "bob");
    for (let sent = 0; sent < 5; sent++) {
      const notified = await post(w, "/notify", { from_peer: "ada", to_peer: "bob", text: "Hi" });
      assert.equal(notified.status, 200);
      assert.equal(notified.delivery_state, "sent");
      await w.tick();
    }
    assert.equal(bob.of("notify").length, 5);
    // The shutdown waits for the collector only for a short time.
    const shutDown = w.daemon.shutDown();
    await w.clock.advance(3000);
    await shutDown;
  });
}

Deno.test("spans wait for a collector that is started later", async () => {
  const collector = new Collector();
  let isUp = false;
  await using w = world({
    settings: { "telemetry.otlp": "http://127.0.0.1:4318" },
    send: (request) => isUp ? collector.handle(request) : Promise.reject(new TypeError("refused")),
  });
  await connectPeer(w, "bob");
  await post(w, "/notify", { from_peer: "ada", to_peer: "bob", text: "Hi" });
  await w.tick();
  await w.tick();
  assert.deepEqual(collector.names(), []);
  isUp = true;
  for (let second = 0; second < 10; second++) await w.tick();
  assert.deepEqual(collector.names().sort(), ["POST /notify", "commit", "deliver websocket"]);
  const text = await (await w.fetch("/metrics")).text();
  assert.match(text, /^mesh_telemetry_spans_total\{outcome="sent"\} 3$/m);
  assert.match(text, /^mesh_telemetry_spans_total\{outcome="dropped"\} 0$/m);
});
