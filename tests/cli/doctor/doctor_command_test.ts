/** `mesh doctor`: each kind of problem, caused on purpose, is reported. */

import assert from "node:assert/strict";
import { join as pathOf } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { runCli } from "../../../cli.ts";
import { migrations } from "../../../daemon/app/migrations/migrations.ts";
import { OUTGOING_VARIABLES } from "kit/net/outgoing/proxies.ts";
import { FakeClock } from "../../support/clock.ts";
import { addPeer, connectPeer } from "../../support/daemon/peer_clients.ts";
import { HEALTH } from "../../support/cli/answering_daemon.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";
import {
  doctorFixture,
  type Finding,
  freePort,
  listeningDaemon,
} from "../../support/cli/doctor_fixture.ts";
import { HostileTmux } from "../../support/host/hostile_tmux.ts";
import { SEARCH_PATH, withTmux } from "../../support/host/private_tmux.ts";

Deno.test("doctor reports a daemon that is down and runs all other checks", async () => {
  using p = doctorFixture();
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

Deno.test("doctor exits 0 for a healthy daemon", async () => {
  using p = doctorFixture();
  await using at = listeningDaemon();
  p.env["MESH_DAEMON__PORT"] = at.port;
  await connectPeer(at.w, "web");
  const { code, found } = await p.find();
  assert.equal(code, 0);
  const wanted = ["DAEMON_UP", "VERSION_SAME", "SCHEMA_SAME", "MESSAGES_ACCOUNTED"];
  for (
    const finding of [...wanted, "RELAY_DISABLED", "STATE_FOUND", "DISK_ROOM", "CLOCK_PLAUSIBLE"]
  ) {
    assert.equal(found.get(finding)?.severity, "ok", finding);
  }
  for (const { severity, fix, code } of found.values()) {
    assert.ok(severity === "ok" ? fix === null : severity === "note" || fix, code);
    assert.ok(!fix?.includes("\n"), code);
  }
});

Deno.test("the copy of the database from before an update is named, with the way back", async () => {
  for (const runs of [true, false]) {
    using p = doctorFixture();
    await using at = listeningDaemon();
    p.env["MESH_DAEMON__PORT"] = runs ? at.port : freePort();
    const copies = ["2", "13", String(migrations.length), String(migrations.length + 4)]
      .map((version) => p.write(`state/mesh.db.schema-${version}`, ""));
    p.write("state/mesh.db.schema-3.part", "");
    const { out } = await p.doctor();
    for (const copy of copies) {
      assert.match(out, new RegExp(`schema ${copy.split("-").at(-1)}, .*mesh restore "${copy}"`));
    }
    assert.equal(out.match(/from before an update/g)?.length, copies.length);
    assert.match(out, /install the version that wrote it, then: mesh restore ".*schema-13"/);
    assert.match(out, /to go back, mesh restore ".*schema-\d+"/, "this version needs it");
  }
});

Deno.test("an older version's doctor names the copy that it needs, while no daemon starts", async () => {
  using p = doctorFixture();
  p.env["MESH_DAEMON__PORT"] = freePort();
  const path = p.write("state/mesh.db", "");
  {
    using db = new DatabaseSync(path);
    db.exec(`create table a (b); pragma user_version = ${migrations.length + 2}`);
  }
  assert.match((await p.find()).found.get("SCHEMA_TOO_NEW")?.fix ?? "", /wrote it$/);
  p.write("state/mesh.db.schema-3", "");
  const needed = p.write(`state/mesh.db.schema-${migrations.length}`, "");
  p.write(`state/mesh.db.schema-${migrations.length + 1}`, "");
  const { fix } = (await p.find()).found.get("SCHEMA_TOO_NEW") ?? {};
  assert.ok(fix?.endsWith(`or go back: mesh restore "${needed}"`), fix ?? "");
});

Deno.test("a proxy or a CA file that only the shell names is reported, without the password of the proxy", async () => {
  using p = doctorFixture();
  await using at = listeningDaemon();
  p.env["MESH_DAEMON__PORT"] = at.port;
  const started_at = new Date().toISOString();
  const url = `http://127.0.0.1:${at.port}`;
  p.write("state/daemon.json", JSON.stringify({ pid: Deno.pid, url, started_at }));
  const own = OUTGOING_VARIABLES.map((name) => [name, Deno.env.get(name) ?? ""]);
  Object.assign(p.env, Object.fromEntries(own));
  assert.equal((await p.find()).found.get("OUTGOING_SAME")?.severity, "ok");
  p.env["HTTPS_PROXY"] = "http://me:secret@proxy.example:3128";
  p.env["SSL_CERT_FILE"] = "/nowhere/ca.pem";
  const { found } = await p.find();
  const differs = found.get("OUTGOING_DIFFERS");
  assert.equal(differs?.severity, "note");
  assert.match(differs?.detail ?? "", /other values of HTTPS_PROXY, SSL_CERT_FILE than this shell/);
  assert.match(found.get("AUTHORITY_UNUSABLE")?.detail ?? "", /\/nowhere\/ca\.pem, which does not/);
  assert.doesNotMatch((await p.doctor("--all")).out, /secret/);
});

Deno.test("errors are listed before notes, and passed checks only with --all", async () => {
  using p = doctorFixture();
  p.env["MESH_DAEMON__PORT"] = freePort();
  p.write("config.yaml", "human:\n  name: sam\n", 0o644);
  const { out } = await p.doctor();
  const firsts = out.split("\n").map((line) => line.split(" ")[0]).filter(Boolean);
  assert.deepEqual([firsts[0], firsts[1], firsts.includes("ok")], ["error", "warning", false]);
  assert.match(out, / fix: chmod 0600 .*config\.yaml\n/);
  assert.match((await p.doctor("--all")).out, /\nok +config +read from /);
});

Deno.test("a disk that fails or is slow is reported with what to do", async () => {
  using p = doctorFixture();
  // deno-fmt-ignore
  const cases = [
    ["failing", "database or disk is full", "STORAGE_FAILING", "error"],
    ["slow",    "a commit took 900 ms",     "STORAGE_SLOW",    "warning"],
  ] as const;
  for (const [status, reason, code, severity] of cases) {
    await using at = listeningDaemon({}, (request) => {
      if (new URL(request.url).pathname !== "/health") return undefined;
      const storage = { status, since: "2030-01-01T00:00:00.000Z", reason };
      return Response.json({ ...HEALTH, status: "degraded", storage });
    });
    p.env["MESH_DAEMON__PORT"] = at.port;
    const found = (await p.find()).found.get(code);
    assert.equal(found?.severity, severity);
    assert.ok(found?.detail.includes(reason));
  }
});

Deno.test("a daemon of another version or schema is reported with the restart that fixes it", async () => {
  using p = doctorFixture();
  await using at = listeningDaemon({}, (request, w) => {
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
  assert.equal(found.get("VERSION_DIFFERS")?.fix, "mesh restart");
  assert.equal(found.get("SCHEMA_DIFFERS")?.severity, "warning");
  assert.match(found.get("RELAY_DOWN")?.detail ?? "", /^down, https:\/\/relay\.example: x$/);
});

Deno.test("a stuck daemon is reported with its process after a timeout", async () => {
  using p = doctorFixture();
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

Deno.test("a daemon that was started with --inspect is reported", async () => {
  using p = doctorFixture();
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

Deno.test("a daemon that rejects our token is reported as running and refusing", async () => {
  using p = doctorFixture();
  await using at = listeningDaemon({ "daemon.auth_token": "right-token" });
  p.env["MESH_DAEMON__PORT"] = at.port;
  p.env["MESH_DAEMON__AUTH_TOKEN"] = "wrong-token";
  const { code, found } = await p.find();
  assert.equal(code, 1);
  assert.ok(found.has("DAEMON_UP"));
  assert.equal(found.get("DAEMON_REFUSES")?.severity, "error");
  assert.equal(found.get("TOKEN_PRESENT")?.severity, "ok");
  assert.ok(!JSON.stringify([...found]).includes("wrong-token"));
});

Deno.test("each mistake in the configuration is a finding, and all other checks run", async () => {
  using p = doctorFixture();
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

Deno.test("files that others may read are reported, and a file in place of the state directory", async () => {
  using p = doctorFixture();
  p.env["MESH_DAEMON__PORT"] = freePort();
  Deno.chmodSync(p.path("state"), 0o755);
  p.write("state/hook.token", "x", 0o644);
  const { found } = await p.find();
  assert.equal(found.get("STATE_OPEN")?.fix, `chmod 0700 ${p.path("state")}`);
  assert.equal(found.get("STATE_FILE_OPEN")?.fix, `chmod 0600 ${p.path("state/hook.token")}`);
  p.env["MESH_STATE"] = p.write("file", "x");
  assert.equal((await p.find()).found.get("STATE_NO_DIRECTORY")?.severity, "error");
  p.env["MESH_STATE"] = p.path("new/state");
  assert.equal((await p.find()).found.get("STATE_MISSING")?.severity, "note");
  p.env["MESH_STATE"] = p.path("file/state");
  const inFile = (await p.find()).found.get("STATE_NOT_WRITABLE");
  assert.match(
    inFile?.detail ?? "",
    /^Cannot create ".*file\/state": a part of its path is a file/,
  );
  assert.match(inFile?.fix ?? "", /set MESH_STATE to another directory$/);
  assert.deepEqual([...Deno.readDirSync(p.path(""))].filter(({ name }) => /trial/.test(name)), []);
});

Deno.test("a database with a newer schema, or from the future, is reported", async () => {
  using p = doctorFixture();
  p.env["MESH_DAEMON__PORT"] = freePort();
  const head = new Uint8Array(100);
  new DataView(head.buffer).setUint32(60, 9999);
  Deno.writeFileSync(p.path("state/mesh.db"), head, { mode: 0o600 });
  Deno.utimeSync(p.path("state/mesh.db"), new Date(), new Date(Date.now() + 3_600_000));
  const { found } = await p.find();
  assert.match(found.get("SCHEMA_TOO_NEW")?.detail ?? "", /has schema 9999/);
  assert.match(found.get("CLOCK_WENT_BACK")?.detail ?? "", /3\d{3} s ahead/);
});

Deno.test("a tmux that is too old or lacks what delivery needs is reported", async () => {
  using p = doctorFixture();
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

withTmux(
  "doctor reports a socket folder that others can write to, and connects to no socket",
  async () => {
    using p = doctorFixture();
    p.env["MESH_DAEMON__PORT"] = freePort();
    p.env["PATH"] = SEARCH_PATH;
    const folder = p.env["TMUX_TMPDIR"] = p.path("sockets");
    const own = pathOf(folder, `tmux-${Deno.uid()}`);
    Deno.mkdirSync(own, { recursive: true, mode: 0o700 });
    await using hostile = new HostileTmux(own);
    Deno.chmodSync(own, 0o777);
    const { found } = await p.find();
    assert.deepEqual([hostile.clients, hostile.hasRun], [0, false]);
    assert.match(found.get("TMUX_UNTRUSTED")?.detail ?? "", /cannot be trusted/);
  },
);

Deno.test("contradictions that the daemon reports for a peer are listed", async () => {
  using p = doctorFixture();
  const contradictions = [
    { code: "PANE_MISSING", severity: "error", detail: "%3 is gone" },
    { code: "TURN_STUCK", severity: "warning", detail: "for an hour" },
  ];
  await using at = listeningDaemon({}, ({ url }) => {
    const { pathname } = new URL(url);
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
