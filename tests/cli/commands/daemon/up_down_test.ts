/** `mesh`, `mesh up` and `mesh down`, and how the CLI finds the daemon. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { answeringDaemon, deadPort, HEALTH } from "../../../support/cli/answering_daemon.ts";

Deno.test("an unreachable daemon exits 3 and prints how to start it", async () => {
  await using p = answeringDaemon();
  const dead = { MESH_DAEMON__PORT: deadPort() };
  const commands = [["peers"], ["status"], ["ask", "api", "hi"], ["inbox"], ["watch"], ["asks"]];
  for (const args of commands) {
    const { code, out, err } = await p.mesh(args, {}, dead);
    assert.equal(code, 3, args.join(" "));
    assert.match(err, /No daemon answers at .*\nStart it with: mesh up\n/);
    assert.equal(out, "");
  }
});

Deno.test("a server that is not a daemon counts as unreachable", async () => {
  const page = () => new Response("<html>", { headers: { "content-type": "text/html" } });
  await using p = answeringDaemon({ "GET /peers": page, "GET /health": page });
  assert.equal((await p.mesh(["peers"])).code, 3);
  assert.equal((await p.mesh(["status"])).code, 3);
});

Deno.test("the address comes from daemon.json, unless its process is dead", async () => {
  await using p = answeringDaemon({ "GET /peers": () => ({ peers: [] }) });
  const file = join(p.dir, "daemon.json");
  const dead = { MESH_DAEMON__PORT: deadPort() };
  const runtimeInfo = { pid: Deno.pid, url: p.url, started_at: "2030-01-01T00:00:00.000Z" };
  Deno.writeTextFileSync(file, JSON.stringify(runtimeInfo));
  assert.equal((await p.mesh(["peers"], {}, dead)).code, 0);
  const child = new Deno.Command("true").spawn();
  await child.status;
  Deno.writeTextFileSync(file, JSON.stringify({ ...runtimeInfo, pid: child.pid }));
  assert.equal((await p.mesh(["peers"], {}, dead)).code, 3);
  Deno.writeTextFileSync(file, "not JSON");
  assert.equal((await p.mesh(["peers"])).code, 0);
});

Deno.test("`mesh` alone shows the status and the next steps", async () => {
  const health = { ...HEALTH, uptime_seconds: 61 };
  await using p = answeringDaemon({ "GET /health": () => health });
  const up = await p.mesh([]);
  assert.equal(up.code, 0);
  assert.match(up.out, /up for +1m/);
  assert.equal(up.out.match(/^ +mesh /gm)?.length, 3);
  const down = await p.mesh([], {}, { MESH_DAEMON__PORT: deadPort() });
  assert.equal(down.code, 0);
  assert.match(down.out, /not running[^]*mesh run claude[^]*mesh setup[^]*mesh up[^]*mesh demo/);
});

Deno.test("`down` without a daemon exits 0; another daemon or a reused pid is left alone", async () => {
  const health = { ...HEALTH, pid: 999_999_999 };
  await using p = answeringDaemon({ "GET /health": () => health });
  const alone = await p.mesh(["down"], {}, { MESH_DAEMON__PORT: deadPort() });
  assert.deepEqual([alone.code, alone.out], [0, "No daemon is running.\n"]);
  const other = await p.mesh(["down"]);
  assert.equal(other.code, 1);
  assert.match(other.err, /uses another state directory/);
  const child = new Deno.Command("cat", { stdin: "piped", stdout: "null" }).spawn();
  const runtimeInfo = { pid: child.pid, url: p.url, started_at: "2030-01-01T00:00:00.000Z" };
  Deno.writeTextFileSync(join(p.dir, "daemon.json"), JSON.stringify(runtimeInfo));
  const recycled = await p.mesh(["down"]);
  assert.equal(recycled.code, 1);
  assert.match(recycled.err, /is not a mesh daemon; nothing was stopped/);
  await child.stdin.close();
  assert.equal((await child.status).code, 0, "it ran until its input ended");
});

Deno.test("`up` finds a running daemon", async () => {
  await using p = answeringDaemon({ "GET /health": () => ({ ...HEALTH, pid: Deno.pid }) });
  const runtimeInfo = { pid: Deno.pid, url: p.url, started_at: "2030-01-01T00:00:00.000Z" };
  Deno.writeTextFileSync(join(p.dir, "daemon.json"), JSON.stringify(runtimeInfo));
  const { code, out } = await p.mesh(["up"]);
  assert.equal(code, 0);
  const lines = `^Already running at ${p.url}\nprocess +${Deno.pid}\nlog file +${p.dir}`;
  assert.match(out, new RegExp(lines));
});

Deno.test("`up` beside a daemon of another state directory starts nothing, and says so", async () => {
  await using p = answeringDaemon({ "GET /health": () => HEALTH });
  const { code, out, err } = await p.mesh(["up"]);
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, new RegExp(`another state directory than "${p.dir}" holds ${p.url}`));
  assert.match(err, /process 7\); nothing was started\..*MESH_DAEMON__PORT=/s);
});

Deno.test("another program on the port is recognised by `up` and `status`", async () => {
  const page = () => new Response("<html>", { headers: { "content-type": "text/html" } });
  await using p = answeringDaemon({ "GET /health": page });
  for (const command of ["up", "status"]) {
    const { code, err } = await p.mesh([command]);
    assert.equal(code, 3);
    assert.match(err, /is not a mesh daemon\nUse another port: mesh config set daemon\.port/);
  }
  const json = JSON.parse((await p.mesh(["status", "--json"])).out);
  assert.equal(json.error, "address_taken");
});
