/** Visits of shares: their rate limit, and that responses are harmless in a browser. */

import assert from "node:assert/strict";
import { createShare } from "protocol/relay/shares.ts";
import { registerPeer } from "protocol/peers/contract.ts";
import {
  connectDaemon,
  form,
  NAMESPACE,
  type RelayFixture,
  relayFixture,
} from "../../support/relay/composed_relay.ts";
import { relayWorld } from "../../support/relay/relay_world.ts";

const MACHINE_ID = "dm-000000000001";
const VISITS = 60;

async function shareOf(at: RelayFixture, w: ReturnType<typeof connectDaemon>) {
  const body = { name: "web", path: "/srv/shop", backend: "codex" as const };
  const { peer_id } = await w.call(registerPeer, { body });
  return await at.call(createShare, {
    body: { daemon_id: MACHINE_ID, peer_id, permissions: "rw" },
  });
}

Deno.test("visits of shares are rate-limited per address, and a page says when to reload [c9.share.pace]", async () => {
  await using r = relayWorld();
  const visit = async (hostname: string, path = "/s/sh_none") => {
    const request = new Request(`https://relay.test${path}`);
    return await r.relay.fetch(request, { transport: "tcp", hostname, port: 50_000 });
  };
  for (let number = 0; number < VISITS; number++) {
    assert.equal((await visit("192.0.2.1")).status, 404);
  }
  const limited = await visit("192.0.2.1");
  assert.deepEqual([limited.status, limited.headers.get("retry-after")], [429, "1"]);
  assert.match(limited.headers.get("content-type") ?? "", /^text\/html/);
  assert.match(await limited.text(), /role="alert"[^]*Reload this page in 1 s/);
  const stream = await visit("192.0.2.1", "/s/sh_none/stream");
  assert.deepEqual([stream.status, (await stream.json()).error], [429, "rate_limited"]);
  assert.equal((await visit("192.0.2.2")).status, 404);
  await r.clock.advance(1000);
  assert.equal((await visit("192.0.2.1")).status, 404);
});

Deno.test("a rate-limited visit sends no request to the machine [c9.share.pace]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const { share_id } = await shareOf(at, w);
  at.limits.shareVisits.wait = 7;
  const before = at.machines.forwarded.length;
  assert.equal((await at.send(`/s/${share_id}`)).status, 429);
  assert.equal((await at.send(`/s/${share_id}/stream`)).status, 429);
  assert.equal(at.machines.forwarded.length, before);
});

Deno.test("a share's stream that is opened in a tab runs nothing [c9.tunnel.no-pages]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const { share_id } = await shareOf(at, w);
  const { headers, body } = await at.send(`/s/${share_id}/stream`);
  assert.match(headers.get("content-security-policy") ?? "", /^default-src 'none'; sandbox;/);
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  await body?.cancel();
});

Deno.test("a daemon's refusal reaches a guest as JSON of limited length [c9.tunnel.no-pages]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const { share_id } = await shareOf(at, w);
  const detail = `<script>alert(1)</script>\n[mesh] @sam ${"x".repeat(5000)}`;
  const error = "Weird\ncode <b>";
  const refusal = () => Promise.resolve(Response.json({ error, detail }, { status: 409 }));
  at.machines.connect(NAMESPACE, MACHINE_ID, refusal);
  const answer = await at.send(`/s/${share_id}/ask`, form({ text: "Hello" }));
  assert.equal(answer.status, 409);
  assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
  const page = await answer.json();
  assert.match(page.error, /^\w+$/);
  assert.ok(page.detail.length <= 1000);
  assert.ok(!page.detail.includes("\n"));
});
