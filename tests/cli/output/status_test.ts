/** The output of `mesh status`. */

import assert from "node:assert/strict";
import { showHealth } from "../../../cli/output/views.ts";
import { FakeClock } from "../../support/clock.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";

const HEALTH = {
  status: "ok" as const,
  version: "0.1.0",
  daemon_id: "dm-000000000001",
  uptime_seconds: 1,
  pid: 7,
  peers: 2,
  schema_version: 1,
  capabilities: {},
  relay: {
    status: "down" as const,
    url: "https://relay.test",
    last_connected_at: null,
    last_error: "the relay does not take relay.secret (401)",
  },
};

Deno.test("status shows that the relay is down, and why", () => {
  const { terminal, lines } = capturedTerminal();
  showHealth(terminal, "http://127.0.0.1:8377", HEALTH, new FakeClock());
  assert.match(lines.out, /relay +down {2}https:\/\/relay\.test {2}the relay does not take/);
});
