/** The relay when the clock is set: it goes on ticking, and knows how long it has run. */

import assert from "node:assert/strict";
import { getRelayHealth } from "../../../relay/app/contract.ts";
import { relayWorld } from "../../support/relay/relay_world.ts";

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
