/** `mesh selftest` as a command: what it says of agents that are not here, and of wrong words. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { runCli } from "../../../cli.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";

/** A home without agents, on a PATH of the system's own. */
function setup() {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-selftest-test-" });
  return {
    async selftest(...words: string[]) {
      const env = { HOME: dir, PATH: "/usr/bin:/bin", MESH_STATE: join(dir, "state") };
      const { terminal, lines } = capturedTerminal();
      const code = await runCli(["selftest", ...words], env, terminal);
      return { code, ...lines };
    },
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

Deno.test("an agent that is not installed is said to be so, and is no failure", async () => {
  using p = setup();
  const { code, out } = await p.selftest("--agent", "codex");
  assert.deepEqual([code, out], [0, "Codex is not installed: there is no `codex` on the PATH.\n"]);
  const report = await p.selftest("--json");
  assert.equal(report.code, 0);
  assert.deepEqual(JSON.parse(report.out), {
    ok: true,
    interrupted: false,
    results: [],
    not_installed: ["claude-code", "codex", "copilot", "gemini", "opencode"],
  });
});

Deno.test("an agent that nobody knows is misuse, and the known ones are named", async () => {
  using p = setup();
  const { code, err } = await p.selftest("--agent", "clippy");
  assert.equal(code, 2);
  assert.match(err, /"clippy" is not one of claude-code, codex, copilot, gemini, opencode/);
});

Deno.test("a scenario that there is none of is misuse, and the known ones are named", async () => {
  using p = setup();
  const { code, err } = await p.selftest("--scenario", "idle", "--scenario", "lunch");
  assert.equal(code, 2);
  assert.match(err, /"lunch" is not one of idle, by pane, draft, busy, dialog/);
});
