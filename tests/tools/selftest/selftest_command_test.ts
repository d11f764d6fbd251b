/** `mesh selftest` as a command: agents that are not installed, and wrong usage. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { runCli } from "../../../cli.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";

/** A home without agents, and the system's PATH. */
function setup() {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-selftest-test-" });
  return {
    async selftest(...args: string[]) {
      const env = { HOME: dir, PATH: "/usr/bin:/bin", MESH_STATE: join(dir, "state") };
      const { terminal, lines } = capturedTerminal();
      const code = await runCli(["selftest", ...args], env, terminal);
      return { code, ...lines };
    },
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

Deno.test("an agent that is not installed is reported, and fails only when it was named", async () => {
  using p = setup();
  const { code, out } = await p.selftest("--agent", "codex");
  assert.deepEqual([code, out], [1, "Codex is not installed: `codex` is not on the PATH.\n"]);
  assert.equal(JSON.parse((await p.selftest("--agent", "codex", "--json")).out).ok, false);
  const report = await p.selftest("--json");
  assert.equal(report.code, 0);
  assert.deepEqual(JSON.parse(report.out), {
    ok: true,
    interrupted: false,
    results: [],
    not_installed: ["claude-code", "codex", "copilot", "gemini", "opencode"],
  });
});

Deno.test("an unknown agent is wrong usage, and the known ones are listed", async () => {
  using p = setup();
  const { code, err } = await p.selftest("--agent", "clippy");
  assert.equal(code, 2);
  assert.match(err, /"clippy" is not one of claude-code, codex, copilot, gemini, opencode/);
});

Deno.test("an unknown scenario is wrong usage, and the known ones are listed", async () => {
  using p = setup();
  const { code, err } = await p.selftest("--scenario", "idle", "--scenario", "lunch");
  assert.equal(code, 2);
  assert.match(err, /"lunch" is not one of idle, by pane, draft, busy, dialog/);
});
