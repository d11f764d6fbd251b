/** The official conformance suite of MCP against the daemon's `/mcp`, in both generations. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { world } from "../world.ts";

/** The suite has a lock of its own: what it needs is no user's to load. */
const CONFIG = join(import.meta.dirname ?? ".", "conformance.json");
const SUITE = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";

/**
 * Scenarios of what we offer: tools, and no stream, prompt or resource. The last column counts the
 * checks that need a diagnostic tool of a test server's, or a subscription, of which we take none.
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

Deno.test("the conformance suite finds nothing to mend in what we offer", async (t) => {
  await using w = world();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  const url = `http://127.0.0.1:${server.addr.port}/mcp`;
  w.daemon.port = server.addr.port;
  const out = await Deno.makeTempDir();
  for (const [revision, scenario, not_ours] of SCENARIOS) {
    await t.step(`${scenario}, ${revision}`, async () => {
      const said = await run(url, { scenario, revision, out });
      const [, passed, all] = /Passed: (\d+)\/(\d+)/.exec(said) ?? [];
      assert.ok(Number(passed) > 0, said);
      assert.equal(Number(all) - Number(passed), not_ours, said);
      const failed = [...said.matchAll(/\[([\w-]+) *\] FAILURE/g)].map(([, check = ""]) => check);
      assert.deepEqual(failed.filter((check) => !NOT_OURS.includes(check)), []);
    });
  }
  await Deno.remove(out, { recursive: true });
});

interface Scenario {
  readonly scenario: string;
  readonly revision: string;
  readonly out: string;
}

/** What the suite prints, without its colours. */
async function run(url: string, { scenario, revision, out }: Scenario): Promise<string> {
  const which = ["--scenario", scenario, "--spec-version", revision, "--timeout", "8000"];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", CONFIG, SUITE, "server", "--url", url, ...which, "-o", out],
    cwd: out,
  }).output();
  const decoder = new TextDecoder();
  // deno-lint-ignore no-control-regex
  return (decoder.decode(stdout) + decoder.decode(stderr)).replaceAll(/\x1b\[[0-9;]*m/g, "");
}
