/** The official conformance suite of MCP against the daemon's `/mcp`, in both generations. */

import assert from "node:assert/strict";
import { world } from "../../support/world.ts";
import { conform } from "./conformance_suite.ts";

/**
 * Scenarios of what we offer: tools, and no stream, prompt or resource. The last column counts the
 * checks that need a diagnostic tool of a test server, or a subscription; we have neither.
 */
// deno-fmt-ignore
const SCENARIOS = [
  // revision     scenario                        not ours
  ["2025-11-25", "server-initialize",             0],
  ["2025-11-25", "ping",                          0],
  ["2025-11-25", "tools-list",                    0],
  ["2025-11-25", "dns-rebinding-protection",      0],
  ["2026-07-28", "server-stateless",              6],
  ["2026-07-28", "tools-list",                    0],
  ["2026-07-28", "http-header-validation",        0],
  ["2026-07-28", "dns-rebinding-protection",      0],
  ["2026-07-28", "server-sse-multiple-streams",   0],
] as const;

/** Checks of a test server's own tools, and of subscriptions. */
const NOT_OURS = [
  "sep-2575-server-rejects-undeclared-capability",
  "sep-2575-missing-capability-http-400",
  "sep-2575-http-server-no-independent-requests-on-stream",
  "sep-2575-server-no-log-without-loglevel",
  "sep-2575-server-sends-subscription-ack",
  "sep-2575-server-tags-subscription-id",
];

Deno.test("the conformance suite finds no failure in the daemon's capabilities", async (t) => {
  await using w = world();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  const url = `http://127.0.0.1:${server.addr.port}/mcp`;
  w.daemon.address.port = server.addr.port;
  for (const [revision, scenario, not_ours] of SCENARIOS) {
    await t.step(`${scenario}, ${revision}`, async () => {
      const { passed, all, failed, output } = await conform(url, { scenario, revision });
      assert.ok(passed > 0, output);
      assert.equal(all - passed, not_ours, output);
      assert.deepEqual(failed.filter((check) => !NOT_OURS.includes(check)), []);
    });
  }
});
