import assert from "node:assert/strict";
import { addPeer, eventData, get } from "../../../../support/daemon/peer_clients.ts";
import { connect } from "../../../../support/daemon/mcp_server.ts";
import { agentInPane } from "../../../../support/daemon/restarts.ts";
import { advanceUntilSettled, spawningWorld } from "../../../../support/daemon/spawns.ts";

type SpawningWorld = Awaited<ReturnType<typeof spawningWorld>>;

function connectTools({ w }: SpawningWorld, pid?: number) {
  const headers: Record<string, string> = pid === undefined ? {} : { "x-mesh-pid": String(pid) };
  const fetch = async (request: Request) => {
    const { pathname } = new URL(request.url);
    const { method } = request;
    const body = method === "POST" ? await request.text() : null;
    return await w.fetch(pathname, { method, headers: request.headers, body });
  };
  return connect(fetch, { headers });
}

Deno.test("an agent spawns another, and sends it a message in its own name", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, processes } = fixture;
  processes.start(41);
  await addPeer(w, "lead", { agent_pid: 41, circle: "red" });
  await using at = await connectTools(fixture, 41);
  const { problemResponse, data, text } = await at.call("spawn_peer", {
    path: folder,
    backend: "codex",
    message: "Begin",
    idempotency_key: "one",
  });
  assert.equal(problemResponse, false, text);
  assert.deepEqual([data["tmux_session"], data["seed_state"]], ["red", "awaiting_registration"]);
  const again = await at.call("spawn_peer", {
    path: folder,
    backend: "codex",
    message: "Begin",
    idempotency_key: "one",
  });
  assert.equal(again.data["spawn_id"], data["spawn_id"]);
  assert.equal(eventData(w, "spawn").length, 1);
});

Deno.test("an agent that restarts itself does not wait for its own end", async () => {
  await using fixture = await spawningWorld();
  const { w } = fixture;
  const { agent_pid } = await agentInPane(fixture, { turn_state: "working" });
  await using at = await connectTools(fixture, agent_pid);
  const dry = await at.call("restart_peer", { peer: "api", dry_run: true });
  assert.equal(dry.data["outcome"], "would_restart");
  const own = await advanceUntilSettled(w, at.call("restart_peer", { peer: "api" }));
  assert.equal(own.data["outcome"], "in_progress", own.text);
  assert.equal((await get(w, "/peers/api/restart")).stages.at(-1).stage, "quiesce");
});

Deno.test("an unknown caller starts and stops nothing, unless it is allowed to", async () => {
  for (const allowed of ["false", "true"]) {
    const settings = { "daemon.mcp.allow_admin_tools": allowed };
    await using fixture = await spawningWorld({ settings });
    const { folder, terminals } = fixture;
    await agentInPane(fixture);
    await using at = await connectTools(fixture);
    const spawned = await at.call("spawn_peer", { path: folder, backend: "codex" });
    const restart = await at.call("restart_peer", { peer: "api", dry_run: true });
    const expected = allowed === "false";
    assert.deepEqual([spawned.problemResponse, restart.problemResponse], [expected, expected]);
    if (expected) assert.match(spawned.text + restart.text, /unknown_caller.*unknown_caller/s);
    assert.equal(terminals.launches.length, expected ? 0 : 1);
  }
});

Deno.test("an agent copies another one, and learns that it cannot be copied", async () => {
  await using fixture = await spawningWorld();
  const { terminals } = fixture;
  const { agent_pid } = await agentInPane(fixture, { turn_state: "working" });
  await using at = await connectTools(fixture, agent_pid);
  const copied = await at.call("fork_peer", { peer: "api", name: "copy", message: "Go" });
  assert.equal(copied.problemResponse, false, copied.text);
  assert.match(copied.text, /^Started @copy .* The agent is in a turn/);
  assert.deepEqual(terminals.launches[0]?.argv.slice(-2), ["fork", "s-1"]);
  await agentInPane(fixture, { name: "script", backend: "generic" });
  const refused = await at.call("fork_peer", { peer: "script" });
  assert.match(refused.text, /cannot_fork/);
});

Deno.test("an agent hands over its own work by the tool", async () => {
  await using fixture = await spawningWorld();
  const { w } = fixture;
  const { agent_pid } = await agentInPane(fixture);
  await addPeer(w, "web");
  await using at = await connectTools(fixture, agent_pid);
  const sent = await at.call("hand_off", { peer: "web", note: "Mind the tests" });
  assert.equal(sent.problemResponse, false, sent.text);
  assert.match(sent.text, /^Handed 0 turns .* over to @web \(att-.*\nLeft out: all turns/s);
  assert.equal(eventData(w, "notification").length, 1);
});
