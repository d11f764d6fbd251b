/** A storm of connections that come and go: the daemon answers meanwhile, and keeps nothing. */

import assert from "node:assert/strict";
import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { reconnectStorm } from "./reconnect_storm.ts";

const [TOTAL, AT_ONCE] = [800, 200];
const HEALTH_MS_MAX = 5000;

Deno.test({
  name: "after a storm of reconnections every client is known once, and no descriptor is left",
  ignore: Deno.build.os !== "linux", // Descriptors are counted in /proc.
  async fn() {
    using state = temporary();
    await using daemon = await RealDaemon.start(state.path);
    const outcome = await reconnectStorm(daemon, { total: TOTAL, at_once: AT_ONCE });
    const { seconds: _, slowest_health_ms, ...counts } = outcome;
    assert.deepEqual(counts, { connected: TOTAL, failed: 0, descriptors_left: 0, peers: AT_ONCE });
    assert.ok(slowest_health_ms < HEALTH_MS_MAX, `/health took ${slowest_health_ms} ms`);
  },
});
