/** `mesh doctor` for the whole machine: broken on purpose in each way, and each way is named. */

import assert from "node:assert/strict";
import { join as pathOf } from "node:path";
import { runCli } from "../../../cli.ts";
import { FakeClock } from "../../support/clock.ts";
import { addPeer, connectPeer } from "../../support/daemon/peer_clients.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";
import { HostileTmux } from "../../support/host/hostile_tmux.ts";
import { SEARCH_PATH, withTmux } from "../../support/host/private_tmux.ts";
import { type Finding, freePort, listening, setup } from "../../support/cli/doctor_fixture.ts";

Deno.test("with the daemon down, doctor says so and looks at all the rest", async () => {
  using p = setup();
  p.env["MESH_DAEMON__PORT"] = freePort();
  const { code, found } = await p.find();
  assert.equal(code, 1);
  assert.equal(found.get("DAEMON_DOWN")?.fix, "mesh up");
  const areas = new Set([...found.values()].map(({ area }) => area));
  for (const area of ["daemon", "state", "config", "disk", "clock", "tmux", "agents"]) {
    assert.ok(areas.has(area), area);
  }
  const { health, counts } = JSON.parse((await p.doctor("--json")).out);
  assert.deepEqual([health, counts], [null, {}]);
});

Deno.test("with a daemon that is well, doctor is 0 and every finding has its area", async () => {
  using p = setup();
  await using at = listening();
  p.env["MESH_DAEMON__PORT"] = at.port;
  await connectPeer(at.w, "web");
  const { code, found } = await p.find();
  assert.equal(code, 0);
  const wanted = ["DAEMON_UP", "VERSION_SAME", "SCHEMA_SAME", "MESSAGES_ACCOUNTED"];
  for (const one of [...wanted, "RELAY_DISABLED", "STATE_FOUND", "DISK_ROOM", "CLOCK_PLAUSIBLE"]) {
    assert.equal(found.get(one)?.severity, "ok", one);
  }
  for (const { severity, fix, code } of found.values()) {
    assert.ok(severity === "ok" ? fix === null : severity === "note" || fix, code);
    assert.ok(!fix?.includes("\n"), code);
  }
});

Deno.test("people see what is wrong before what is only to note, and what is well with --all", async () => {
  using p = setup();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.write("config.yaml", "human:\n  name: sam\n", 0o644);
  const { out } = await p.doctor();
  const firsts = out.split("\n").map((line) => line.split(" ")[0]).filter(Boolean);
  assert.deepEqual([firsts[0], firsts[1], firsts.includes("ok")], ["error", "warning", false]);
  assert.match(out, / fix: chmod 0600 .*config\.yaml\n/);
  assert.match((await p.doctor("--all")).out, /\nok +config +read from /);
});

Deno.test("a daemon of another version or schema is named, with the restart that mends it", async () => {
  using p = setup();
  await using at = listening({}, (request, w) => {
    if (new URL(request.url).pathname !== "/health") return undefined;
    return Response.json({
      status: "ok",
      version: "0.0.9",
      daemon_id: w.daemon.identity.daemon_id,
      uptime_seconds: 1,
      pid: 1,
      peers: 0,
      schema_version: 3,
      capabilities: {},
      relay: {
        status: "down",
        url: "https://relay.example",
        last_connected_at: null,
        last_error: "x",
      },
    });
  });
  p.env["MESH_DAEMON__PORT"] = at.port;
  const { found } = await p.find();
  assert.equal(found.get("VERSION_DIFFERS")?.fix, "mesh down && mesh up");
  assert.equal(found.get("SCHEMA_DIFFERS")?.severity, "warning");
  assert.match(found.get("RELAY_DOWN")?.detail ?? "", /^down, https:\/\/relay\.example: x$/);
});

Deno.test("a daemon that is stuck is given up after a while, and named with its process", async () => {
  using p = setup();
  const held = Promise.withResolvers<Response>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => held.promise,
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const started_at = new Date().toISOString();
  p.write("state/daemon.json", JSON.stringify({ pid: Deno.pid, url, started_at }));
  const { terminal, lines } = capturedTerminal();
  const clock = new FakeClock();
  const doctor = runCli(["doctor"], p.env, terminal, clock);
  await clock.settle();
  await clock.advance(5_000);
  assert.equal(await doctor, 1);
  assert.match(lines.out, new RegExp(`^error +daemon +process ${Deno.pid} does not answer at `));
  held.resolve(new Response());
  await server.shutdown();
});

Deno.test("a daemon that was started with a debugger's door open is named", async () => {
  using p = setup();
  const child = new Deno.Command("sh", {
    args: ["-c", "read line", "daemon", "--inspect=127.0.0.1:0"],
    stdin: "piped",
  }).spawn();
  const { pid } = child;
  const url = `http://127.0.0.1:${freePort()}`;
  p.write("state/daemon.json", JSON.stringify({ pid, url, started_at: new Date().toISOString() }));
  const { found } = await p.find();
  assert.equal(found.get("INSPECTOR_OPEN")?.severity, "error");
  await child.stdin.close();
  await child.status;
});

Deno.test("a daemon that does not take our token is up, and refuses", async () => {
  using p = setup();
  await using at = listening({ "daemon.auth_token": "right-token" });
  p.env["MESH_DAEMON__PORT"] = at.port;
  p.env["MESH_DAEMON__AUTH_TOKEN"] = "wrong-token";
  const { code, found } = await p.find();
  assert.equal(code, 1);
  assert.ok(found.has("DAEMON_UP"));
  assert.equal(found.get("DAEMON_REFUSES")?.severity, "error");
  assert.equal(found.get("TOKEN_PRESENT")?.severity, "ok");
  assert.ok(!JSON.stringify([...found]).includes("wrong-token"));
});

Deno.test("each mistake of the configuration is a finding, and the rest is looked at", async () => {
  using p = setup();
  p.write("config.yaml", "daemon:\n  port: seven\n  prot: 1\n");
  p.env["MESH_DAEMON__QUEUE__TTL_SECONDS"] = "x";
  const { terminal, lines } = capturedTerminal();
  assert.equal(await runCli(["doctor", "--json"], p.env, terminal), 1);
  const { findings }: { findings: Finding[] } = JSON.parse(lines.out);
  const mistakes = findings.filter(({ code }) => code === "CONFIG_MISTAKE");
  assert.deepEqual(mistakes.map(({ detail }) => detail.split(":")[0]).sort(), [
    "daemon.port",
    "daemon.prot",
    "daemon.queue.ttl_seconds",
  ]);
  const codes = findings.map(({ code }) => code);
  for (const code of ["DAEMON_NOT_ASKED", "STATE_FOUND", "CONFIG_OVERRIDDEN"]) {
    assert.ok(codes.includes(code), code);
  }
});

Deno.test("what others may read is named, and so is a file where the state should be", async () => {
  using p = setup();
  p.env["MESH_DAEMON__PORT"] = freePort();
  Deno.chmodSync(p.path("state"), 0o755);
  p.write("state/hook.token", "x", 0o644);
  const { found } = await p.find();
  assert.equal(found.get("STATE_OPEN")?.fix, `chmod 0700 ${p.path("state")}`);
  assert.equal(found.get("STATE_FILE_OPEN")?.fix, `chmod 0600 ${p.path("state/hook.token")}`);
  p.env["MESH_STATE"] = p.write("file", "x");
  assert.equal((await p.find()).found.get("STATE_NO_DIRECTORY")?.severity, "error");
});

Deno.test("a database that is newer than this program, or from the future, is named", async () => {
  using p = setup();
  p.env["MESH_DAEMON__PORT"] = freePort();
  const head = new Uint8Array(100);
  new DataView(head.buffer).setUint32(60, 9999);
  Deno.writeFileSync(p.path("state/mesh.db"), head, { mode: 0o600 });
  Deno.utimeSync(p.path("state/mesh.db"), new Date(), new Date(Date.now() + 3_600_000));
  const { found } = await p.find();
  assert.match(found.get("SCHEMA_TOO_NEW")?.detail ?? "", /at schema 9999/);
  assert.match(found.get("CLOCK_WENT_BACK")?.detail ?? "", /3\d{3} s ahead/);
});

const VERSION = (text: string) => `#!/bin/sh\necho "${text}"\n`;

Deno.test("an agent is told with its version, and whether mesh is set up in it", async () => {
  using p = setup();
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

Deno.test("an agent that was set up by `mesh setup` knows of mesh", async () => {
  using p = setup();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.write("bin/claude", VERSION("2.1.329 (Claude Code)"), 0o755);
  const { runSetup } = await import("../../../cli/setup/setup_command.ts");
  await runSetup(["--agent", "claude-code"], p.env, { out: () => {}, err: () => {} });
  const { found } = await p.find();
  assert.equal(found.get("AGENT_SET_UP")?.severity, "ok");
  assert.ok(!found.has("AGENT_PROGRAM_GONE"));
});

Deno.test("an agent whose hooks begin with a variable, in a folder of its own, knows of mesh", async () => {
  using p = setup();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.env["COPILOT_HOME"] = p.path("elsewhere");
  p.write("bin/copilot", VERSION("GitHub Copilot CLI 1.0.102."), 0o755);
  const { runSetup } = await import("../../../cli/setup/setup_command.ts");
  await runSetup(["--agent", "copilot"], p.env, { out: () => {}, err: () => {} });
  const { found } = await p.find();
  assert.match(found.get("AGENT_FOUND")?.detail ?? "", /^Copilot CLI 1\.0\.102, /);
  assert.equal(found.get("AGENT_SET_UP")?.detail, "Copilot CLI knows of mesh");
  assert.ok(!found.has("AGENT_PROGRAM_GONE"));
});

Deno.test("a hook or an MCP entry of a program that is gone, or in a cache, is named", async () => {
  using p = setup();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.write("bin/claude", VERSION("2.1.329 (Claude Code)"), 0o755);
  p.write("bin/codex", VERSION("codex-cli 0.169.0"), 0o755);
  const command = `'${p.path("not there")}/mesh' hook claude-code Stop`;
  const hooks = { Stop: [{ hooks: [{ type: "command", command }] }] };
  p.write(".claude/settings.json", JSON.stringify({ hooks }));
  const cached = p.write("_npx/1/mesh", "#!/bin/sh\n", 0o755);
  const toml = `[mcp_servers.mesh]\ncommand = '${cached}'\nargs = [\n  "mcp",\n]\n[other]\n`;
  p.write(".codex/config.toml", toml);
  const { code, found } = await p.find();
  assert.equal(code, 1);
  assert.match(
    found.get("AGENT_PROGRAM_GONE")?.detail ?? "",
    /not there\/mesh, which is not there$/,
  );
  assert.equal(found.get("AGENT_PROGRAM_GONE")?.fix, "mesh setup --agent claude-code");
  assert.match(found.get("AGENT_PROGRAM_CACHED")?.detail ?? "", /^Codex .*_npx\/1\/mesh/);
});

Deno.test("a tmux that does not do what delivery needs, or is too old, is named", async () => {
  using p = setup();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.write(
    "bin/tmux",
    '#!/bin/sh\n[ "$1" = -V ] && echo "tmux 2.9a" && exit\necho no socket >&2; exit 1\n',
    0o755,
  );
  const { found } = await p.find();
  assert.match(found.get("TMUX_OLD")?.detail ?? "", /2\.9a is older/);
  assert.match(found.get("TMUX_BROKEN")?.detail ?? "", /: no socket$/);
});

withTmux("doctor names a folder of sockets that others could fill, and asks none", async () => {
  using p = setup();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.env["PATH"] = SEARCH_PATH;
  const folder = p.env["TMUX_TMPDIR"] = p.path("sockets");
  const own = pathOf(folder, `tmux-${Deno.uid()}`);
  Deno.mkdirSync(own, { recursive: true, mode: 0o700 });
  await using hostile = new HostileTmux(own);
  Deno.chmodSync(own, 0o777);
  const { found } = await p.find();
  assert.deepEqual([hostile.clients, hostile.ran], [0, false]);
  assert.match(found.get("TMUX_UNTRUSTED")?.detail ?? "", /cannot be trusted/);
});

Deno.test("what the daemon finds contradictory of a peer is told, where it offers to look", async () => {
  using p = setup();
  const contradictions = [
    { code: "PANE_MISSING", severity: "error", detail: "%3 is gone" },
    { code: "TURN_STUCK", severity: "warning", detail: "for an hour" },
  ];
  await using at = listening({}, ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === "/openapi.json") {
      return Response.json({ openapi: "3.1.0", paths: { "/peers/{id}/doctor": {} } });
    }
    return /^\/peers\/.+\/doctor$/.test(pathname)
      ? Response.json({ peer_id: "x", checks: [], contradictions })
      : undefined;
  });
  p.env["MESH_DAEMON__PORT"] = at.port;
  await addPeer(at.w, "bob");
  const { code, found } = await p.find();
  assert.equal(code, 1);
  assert.equal(found.get("PANE_MISSING")?.detail, "bob: %3 is gone");
  assert.deepEqual([found.get("TURN_STUCK")?.area, found.get("TURN_STUCK")?.severity], [
    "peers",
    "warning",
  ]);
});

Deno.test("doctor names the transport that failed its test, until it has passed", async () => {
  using p = setup();
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
  assert.match(failed?.detail ?? "", /"native" failed .* 2\.1\.329: draft: The draft is gone/);
  setFailure(null);
  const { found } = await p.find();
  assert.equal(found.get("TRANSPORT_DEGRADED"), undefined);
  assert.equal(found.get("TRANSPORTS_TESTED")?.severity, "ok");
});
