/** Tools and commands that end, rename and lead peers, against a real daemon in memory. */

import assert from "node:assert/strict";
import { join as joinPath } from "node:path";
import { runCli } from "../../../../../cli.ts";
import { LOOPBACK, type World, world, type WorldOptions } from "../../../../support/world.ts";
import { capturedTerminal } from "../../../../support/cli/captured_output.ts";
import { addPeer, eventData, get } from "../../../../support/daemon/peer_clients.ts";
import { FakeAgents, FakePanes, SOCKET } from "../../../../support/host/fake_panes.ts";
import { connect } from "../../../../support/daemon/mcp_server.ts";

/** MCP as a program of this machine uses it, started by process `pid`. */
function tools(w: World, pid?: number) {
  const headers: Record<string, string> = pid === undefined ? {} : { "x-mesh-pid": String(pid) };
  return connect((request) => w.daemon.fetch(request, LOOPBACK), { headers });
}

/** @boss in process 7, and @api in process 8. */
async function circle(options: WorldOptions = {}) {
  const w = world(options);
  w.processes.start(7);
  w.processes.start(8);
  const boss = await addPeer(w, "boss", { agent_pid: 7, circle: "main" });
  const api = await addPeer(w, "api", { agent_pid: 8, circle: "main" });
  return { w, boss, api, [Symbol.asyncDispose]: () => w[Symbol.asyncDispose]() };
}

Deno.test("kill_peer finds a peer of another circle by its name, unless the call fixes a circle", async () => {
  await using at = await circle();
  at.w.processes.start(9);
  const far = await addPeer(at.w, "far", { agent_pid: 9, circle: "other" });
  await using mcp = await tools(at.w, 7);
  const refused = await mcp.call("kill_peer", { peer: "far", circle: "main" });
  assert.equal(refused.data["error"], "unknown_peer");
  assert.equal((await mcp.call("kill_peer", { peer: "far" })).data["peer_id"], far.peer_id);
});

Deno.test("an agent may end a peer by its tool: the one of its own circle that it names", async () => {
  await using at = await circle();
  await addPeer(at.w, "api", { circle: "other" });
  await using mcp = await tools(at.w, 7);
  const killed = await mcp.call("kill_peer", { peer: "api" });
  assert.deepEqual(killed.data, { peer_id: at.api.peer_id, agent_pid: 8, signal: "SIGTERM" });
  assert.equal(at.w.daemon.records.mustGet(at.api.peer_id).status, "retired");
  const again = await mcp.call("kill_peer", { peer: at.boss.peer_id, circle: "main" });
  assert.equal(again.problemResponse, false, "even itself: it is proved to be that process");
});

Deno.test("an unknown caller ends no peer, unless the configuration allows it [c6.unknown-caller]", async () => {
  await using at = await circle();
  await using stranger = await tools(at.w);
  const refused = await stranger.call("kill_peer", { peer: "api" });
  assert.deepEqual([refused.problemResponse, refused.data["error"]], [true, "unknown_caller"]);
  assert.deepEqual(at.w.processes.signals, []);
  await using open = await circle({ settings: { "daemon.mcp.allow_admin_tools": "true" } });
  await using allowed = await tools(open.w);
  assert.equal((await allowed.call("kill_peer", { peer: "api" })).problemResponse, false);
});

Deno.test("a refused kill gives the model the reason", async () => {
  await using at = await circle();
  await addPeer(at.w, "bare", { circle: "main" });
  await using mcp = await tools(at.w, 7);
  const refused = await mcp.call("kill_peer", { peer: "bare" });
  assert.deepEqual([refused.data["error"], refused.data["reason"]], ["kill_refused", "no_process"]);
});

Deno.test("interrupt_peer is for the orchestrator of the peer's circle, and says what is proved", async () => {
  const agents = Object.assign(new FakeAgents("sdk"), {
    interrupt: () => Promise.resolve({ state: "asked", by: "Escape in its terminal" } as const),
    lastEnd: () => ({ how: "interrupted", at: Infinity, source: "session file" } as const),
  });
  await using at = await circle({ adapters: [agents] });
  await at.w.post(`/peers/${at.api.peer_id}/turn`, { turn_state: "working" });
  await using mcp = await tools(at.w, 7);
  const refused = await mcp.call("interrupt_peer", { peer: "api" });
  assert.equal(refused.data["error"], "interrupt_not_allowed");
  await mcp.call("claim_orchestrator_role");
  assert.equal((await mcp.call("interrupt_peer", { peer: "boss" })).data["error"], "to_self");
  const asked = mcp.call("interrupt_peer", { peer: "api" });
  let isDone = false;
  void asked.then(() => isDone = true);
  await at.w.clock.advanceUntil("the answer", () => isDone);
  const { text, data } = await asked;
  assert.equal(data["outcome"], "interrupted", text);
  assert.equal(
    text,
    "The turn of api was interrupted, by Escape in its terminal: its session file shows it.",
  );
});

Deno.test("an agent claims the orchestrator role, by force if another peer has it", async () => {
  await using at = await circle();
  await using boss = await tools(at.w, 7);
  await using api = await tools(at.w, 8);
  const nobody = await boss.call("orchestrator_status");
  assert.deepEqual([nobody.text, nobody.data["live"]], ["This circle has no orchestrator.", false]);
  const claimed = await boss.call("claim_orchestrator_role");
  assert.match(claimed.text, /^You are @boss, the orchestrator of circle main/);
  const refused = await api.call("claim_orchestrator_role");
  assert.equal(refused.data["error"], "orchestrator_present");
  const statusResult = await api.call("orchestrator_status");
  assert.deepEqual([statusResult.text, statusResult.data["live"]], [
    "@boss leads circle main (online)",
    true,
  ]);
  assert.equal((await api.call("claim_orchestrator_role", { force: true })).problemResponse, false);
  assert.equal((await get(at.w, "/peers/boss")).role, "agent");
  await using stranger = await tools(at.w);
  const unknown = await stranger.call("claim_orchestrator_role", { force: true });
  assert.equal(unknown.data["error"], "unknown_caller");
  const all = await stranger.call("orchestrator_status");
  assert.deepEqual(all.data["circle"], null);
});

/** The command line, with a daemon on a port of its own. */
function shell(w: World) {
  const dir = Deno.makeTempDirSync();
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(options, (request) => {
    const { pathname, search } = new URL(request.url);
    return w.daemon.fetch(
      new Request(`http://127.0.0.1:8377${pathname}${search}`, request),
      LOOPBACK,
    );
  });
  const env = {
    MESH_CONFIG: joinPath(dir, "config.yaml"),
    MESH_STATE: dir,
    MESH_DAEMON__PORT: String(server.addr.port),
  };
  return {
    async mesh(...args: string[]) {
      const { terminal, lines } = capturedTerminal();
      const code = await runCli(args, env, terminal);
      return { code, ...lines };
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      Deno.removeSync(dir, { recursive: true });
    },
  };
}

Deno.test("mesh peer shows, renames, kills and closes a peer", async () => {
  await using at = await circle();
  await using cli = shell(at.w);
  const shown = await cli.mesh("peer", "show", "api");
  assert.equal(shown.code, 0);
  assert.match(shown.out, /api/);
  assert.match(shown.out, /pid 8, started 2/);
  assert.match(shown.out, /ONLINE_BUT_NO_TRANSPORT/);
  const renamed = await cli.mesh("peer", "rename", "api", "core");
  assert.deepEqual([renamed.code, /renamed: core/.test(renamed.out)], [0, true]);
  const killed = await cli.mesh("peer", "kill", "core");
  assert.match(killed.out, /killed: process 8, by SIGTERM/);
  assert.equal((await cli.mesh("peer", "close", at.api.peer_id)).code, 0);
  assert.equal((await get(at.w, `/peers/${at.api.peer_id}`)).error, "unknown_peer");
  const gone = await cli.mesh("peer", "kill", "core");
  assert.deepEqual([gone.code, /Unknown peer: core/.test(gone.err)], [1, true]);
  const found = JSON.parse((await cli.mesh("peer", "show", "boss", "--json")).out);
  assert.deepEqual([found.peer.name, found.doctor.peer_id], ["boss", at.boss.peer_id]);
});

Deno.test("mesh orphans lists panes, mesh link binds one, mesh peer rehook restores delivery", async () => {
  const [paneObserver, agents] = [new FakePanes(), new FakeAgents()];
  await using w = world({ paneObserver, adapters: [agents] });
  await using cli = shell(w);
  assert.match((await cli.mesh("orphans")).out, /No pane of your tmux servers is without a peer/);
  w.processes.start(7);
  paneObserver.open("%3", { foreground: { pid: 7, started: "1", args: ["claude"] } });
  assert.match((await cli.mesh("orphans")).out, /%3 +work +claude +claude-code +\/work/);
  assert.equal((await cli.mesh("link", "%3")).code, 2);
  agents.refusalReason = "dialog_open";
  const args = ["link", "%3", "--backend", "claude-code", "--name", "ada"];
  const refused = await cli.mesh(...args);
  assert.deepEqual([refused.code, refused.err], [
    1,
    "mesh: Messages cannot reach that pane: dialog_open\n" +
    "hint: answer the dialog in the pane, then link again\n",
  ]);
  agents.refusalReason = undefined;
  assert.match((await cli.mesh(...args, "--socket", SOCKET)).out, /linked: ada/);
  assert.match((await cli.mesh("peer", "rehook", "ada")).out, /reachable by pane/);
  w.daemon.peers.offline(w.daemon.directory.find("ada").peer_id, { terminal: false });
  const plan = await cli.mesh("peer", "rehook", "ada");
  assert.match(plan.out, /would: bring it back online/);
  assert.equal(eventData(w, "peer_online").length, 0);
  assert.match(
    (await cli.mesh("peer", "rehook", "ada", "--apply")).out,
    /did: bring it back online/,
  );
  assert.equal(eventData(w, "peer_online").length, 1);
});
