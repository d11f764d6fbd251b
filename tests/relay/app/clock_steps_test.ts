/** The relay after the clock is set: its ticks go on, and its uptime stays right. */

import assert from "node:assert/strict";
import { getRelayHealth } from "protocol/relay/app.ts";
import { App, oauthWorld, tokenService } from "../../support/relay/oauth_world.ts";
import { NAMESPACE, RELAY, relayWorld } from "../../support/relay/relay_world.ts";

for (const ms of [-7_200_000, 7_200_000, -60_000]) {
  Deno.test(`after its clock was set by ${ms} ms, a relay ticks each second`, async () => {
    await using r = relayWorld();
    let ticks = 0;
    r.relay.tick = () => void ticks++;
    const done = r.relay.run();
    await r.clock.advance(30_000);
    r.clock.step(ms);
    await r.clock.advance(10_000);
    assert.equal(ticks, 40);
    const health = await (await r.fetch(getRelayHealth.path)).json();
    assert.equal(health.uptime_seconds, 40);
    r.relay.shutDown();
    await done;
  });
}

for (const ms of [-7_200_000, -60_000]) {
  Deno.test(`a browser's session lasts a day, also after the clock was set by ${ms} ms`, async () => {
    await using r = relayWorld();
    const { sessions } = r.relay;
    const [cookie = ""] = sessions.open(NAMESPACE, new Request(RELAY)).split(";");
    const request = new Request(RELAY, { headers: { cookie } });
    await r.clock.advance(3_600_000);
    r.clock.step(ms);
    await r.clock.advance(22 * 3_600_000);
    assert.ok(sessions.get(request));
    await r.clock.advance(3_600_001);
    assert.equal(sessions.get(request), undefined);
  });

  Deno.test(`a share lasts an hour, also after the clock was set by ${ms} ms`, async () => {
    await using r = relayWorld();
    const { shares } = r.relay.features;
    const peer = {
      daemon_id: "dm-1",
      peer_id: "p",
      display_name: "api",
      permissions: "ro",
    } as const;
    const { share_id } = shares.create(NAMESPACE, { ...peer, ttl_seconds: 3600 });
    await r.clock.advance(60_000);
    r.clock.step(ms);
    await r.clock.advance(3_500_000);
    assert.equal(shares.mustGet(share_id).peer_id, "p");
    await r.clock.advance(60_000);
    assert.throws(() => shares.mustGet(share_id), { code: "unknown_share" });
  });
}

Deno.test("a token that was issued before the clock was set back lasts 15 minutes from then", async () => {
  using w = oauthWorld();
  const { access_token } = await (await App.register(w)).connect();
  const { check, clockSetBack } = tokenService(w);
  w.clock.step(-7_200_000);
  clockSetBack(w.clock.now());
  await w.clock.advance(14 * 60_000);
  assert.ok(check(access_token));
  await w.clock.advance(60_000);
  assert.equal(check(access_token), undefined);
});
