/** `mesh selftest` as a command: agents that are not installed, and wrong usage. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { runCli } from "../../../cli.ts";
import { TESTABLE_AGENTS } from "../../../tools/selftest/agents.ts";
import { testEach } from "../../../tools/selftest/selftest_command.ts";
import type { Result } from "../../../tools/selftest/verdicts.ts";
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

Deno.test("what breaks with one agent costs no result, neither its own nor those of the others", async () => {
  const found = TESTABLE_AGENTS.map((agent) => ({ agent, version: "1.0" }));
  const [first, second, third] = found;
  assert.ok(first && second && third);
  const results: Result[] = [];
  const options = {
    signal: new AbortController().signal,
    onResult: (r: Result) => results.push(r),
  };
  const agents = [first, { ...second, error: new Error("No space left on device") }, third];
  const interrupted = await testEach(agents, options, ({ agent, version }, onResult) => {
    const passed = { transport: "pane", result: "passed", ms: 1, detail: null } as const;
    onResult({ agent: agent.id, version, scenario: "idle", ...passed });
    if (agent === third.agent) return Promise.resolve();
    return Promise.reject(new Error("Directory not empty (os error 39)"));
  });
  assert.equal(interrupted, false);
  assert.deepEqual(results.map(({ agent, scenario, detail }) => [agent, scenario, detail]), [
    [first.agent.id, "idle", null],
    [first.agent.id, "run", "Unexpected error: Directory not empty (os error 39)"],
    [second.agent.id, "run", "Unexpected error: No space left on device"],
    [third.agent.id, "idle", null],
  ]);
});

Deno.test("an interrupted self-test keeps the results that it has", async () => {
  const [agent] = TESTABLE_AGENTS;
  assert.ok(agent);
  const results: Result[] = [];
  const interrupt = new AbortController();
  const options = { signal: interrupt.signal, onResult: (r: Result) => results.push(r) };
  const interrupted = await testEach([{ agent, version: "1.0" }], options, (detected, onResult) => {
    const passed = { transport: null, result: "passed", ms: 1, detail: null } as const;
    onResult({ agent: detected.agent.id, version: "1.0", scenario: "idle", ...passed });
    interrupt.abort();
    return Promise.reject(new Error("Interrupted"));
  });
  assert.deepEqual([interrupted, results.length], [true, 1]);
});
