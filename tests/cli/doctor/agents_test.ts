/** `mesh doctor`: the findings about coding agents. */

import assert from "node:assert/strict";
import { runCli } from "../../../cli.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";
import { doctorFixture, type Finding, freePort } from "../../support/cli/doctor_fixture.ts";

const VERSION = (text: string) => `#!/bin/sh\necho "${text}"\n`;

Deno.test("an agent is listed with its version, and whether it is set up", async () => {
  using p = doctorFixture();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.write("bin/claude", VERSION("2.1.329 (Claude Code)"), 0o755);
  p.write("bin/codex", VERSION("codex-cli 0.99.1"), 0o755);
  p.write("bin/gemini", "#!/bin/sh\nexit 3\n", 0o755);
  const { terminal, lines } = capturedTerminal();
  await runCli(["doctor", "--json"], p.env, terminal);
  const { findings }: { findings: Finding[] } = JSON.parse(lines.out);
  const agents = findings.filter(({ area }) => area === "agents");
  const agentLines = agents.map(({ code, detail }) => `${code} ${detail.split(/[ ,]/)[0]}`);
  assert.deepEqual(agentLines, [
    "AGENT_FOUND Claude",
    "AGENT_NOT_SET_UP Claude",
    "AGENT_UNPROVED Codex",
    "AGENT_NOT_SET_UP Codex",
    `AGENT_SILENT ${p.path("bin/gemini")}`,
    "AGENT_NOT_SET_UP Gemini",
  ]);
  assert.equal(agents[1]?.fix, "mesh setup --agent claude-code");
});

// deno-fmt-ignore
const VERSIONS: [program: string, printed: string, code: string, detail: RegExp][] = [
  ["claude", "2.1.332 (Claude Code)", "AGENT_FOUND",    /2\.1\.332/],
  ["claude", "2.1.287 (Claude Code)", "AGENT_UNPROVED", /"native" from 2\.1\.329 on, in 2\.1 only; messages go by "pane" instead/],
  ["claude", "2.2.0 (Claude Code)",   "AGENT_UNPROVED", /messages go by "pane" instead/],
  ["codex",  "codex-cli 0.171.4",     "AGENT_FOUND",    /0\.171\.4/],
  ["codex",  "codex-cli 0.159.0",     "AGENT_UNPROVED", /mesh was tested with 0\.171\.0$/],
];

for (const [program, printed, code, detail] of VERSIONS) {
  Deno.test(`doctor says what a release of ${program} means for its messages: ${printed}`, async () => {
    using p = doctorFixture();
    p.env["MESH_DAEMON__PORT"] = freePort();
    p.write(`bin/${program}`, VERSION(printed), 0o755);
    assert.match((await p.find()).found.get(code)?.detail ?? "", detail);
  });
}

Deno.test("an agent that `mesh setup` has set up is reported as set up", async () => {
  using p = doctorFixture();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.write("bin/claude", VERSION("2.1.329 (Claude Code)"), 0o755);
  const { runSetup } = await import("../../support/cli/run_setup.ts");
  await runSetup(["--agent", "claude-code"], p.env, { out: () => {}, err: () => {} });
  const { found } = await p.find();
  assert.equal(found.get("AGENT_SET_UP")?.severity, "ok");
  assert.ok(!found.has("AGENT_PROGRAM_GONE"));
});

Deno.test("an agent with a variable before its hook command, in another folder, counts as set up", async () => {
  using p = doctorFixture();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.env["COPILOT_HOME"] = p.path("elsewhere");
  p.write("bin/copilot", VERSION("GitHub Copilot CLI 1.0.102."), 0o755);
  const { runSetup } = await import("../../support/cli/run_setup.ts");
  await runSetup(["--agent", "copilot"], p.env, { out: () => {}, err: () => {} });
  const { found } = await p.find();
  assert.match(found.get("AGENT_FOUND")?.detail ?? "", /^Copilot CLI 1\.0\.102, /);
  assert.equal(found.get("AGENT_SET_UP")?.detail, "Copilot CLI is set up for mesh");
  assert.ok(!found.has("AGENT_PROGRAM_GONE"));
});

Deno.test("a hook or MCP entry whose program is missing or in a package cache is reported", async () => {
  using p = doctorFixture();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.write("bin/claude", VERSION("2.1.329 (Claude Code)"), 0o755);
  p.write("bin/codex", VERSION("codex-cli 0.169.0"), 0o755);
  const command = `'${p.path("not there")}/mesh' hook claude-code Stop`;
  const hooks = { Stop: [{ hooks: [{ type: "command", command }] }] };
  p.write(".claude/settings.json", JSON.stringify({ hooks }));
  const cached = p.write("_npx/1/node_modules/agent-mesh/mesh", "#!/bin/sh\n", 0o755);
  const toml = `[mcp_servers.mesh]\ncommand = '${cached}'\nargs = [\n  "mcp",\n]\n[other]\n`;
  p.write(".codex/config.toml", toml);
  const { code, found } = await p.find();
  assert.equal(code, 1);
  assert.match(
    found.get("AGENT_PROGRAM_GONE")?.detail ?? "",
    /not there\/mesh", which does not exist$/,
  );
  assert.equal(found.get("AGENT_PROGRAM_GONE")?.fix, "mesh setup --agent claude-code");
  assert.match(found.get("AGENT_PROGRAM_CACHED")?.detail ?? "", /^Codex .*_npx\/1\/.*mesh/);
});

Deno.test("doctor reports a transport that failed its self-test until it passes", async () => {
  using p = doctorFixture();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.write("bin/claude", "#!/bin/sh\necho '2.1.329 (Claude Code)'\n", 0o755);
  const setFailure = (why: string | null) => {
    const transports = { native: { degraded: why !== null, why } };
    const tested = { version: "2.1.329", at: "2026-11-21T12:00:00.000Z", transports };
    p.write("state/selftest.json", JSON.stringify({ agents: { "claude-code": tested } }));
  };
  setFailure("draft: The draft is gone");
  const failed = (await p.find()).found.get("TRANSPORT_DEGRADED");
  assert.deepEqual([failed?.severity, failed?.fix], [
    ...["warning", "mesh selftest --agent claude-code"],
  ]);
  assert.match(
    failed?.detail ?? "",
    /"native" failed .* 2\.1\.329: draft: The draft is gone; "pane" is used instead/,
  );
  setFailure(null);
  const { found } = await p.find();
  assert.equal(found.get("TRANSPORT_DEGRADED"), undefined);
  assert.equal(found.get("TRANSPORTS_TESTED")?.severity, "ok");
});
