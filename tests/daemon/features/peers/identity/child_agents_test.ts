/** An agent starts a child in its shell, in the same pane: which has the pane, and which speaks. */

import assert from "node:assert/strict";
import { temporary } from "../../../../support/programs/child.ts";
import { claudeCodeHooks } from "../../../../../daemon/features/agents/hooks/claude_format.ts";
import { geminiHooks } from "../../../../../daemon/features/agents/gemini/hooks.ts";
import { identifyCaller } from "protocol/api/callers.ts";
import { FakeAgents, SOCKET } from "../../../../support/host/fake_panes.ts";
import { addPeer, get, post } from "../../../../support/daemon/peer_clients.ts";
import { connect } from "../../../../support/daemon/mcp_server.ts";
import { FakeSockets, LOOPBACK, world, type WorldOptions } from "../../../../support/world.ts";

const PANE = { "x-mesh-pane": "%3", "x-mesh-tmux": `${SOCKET},1,0` };
const HOOKS = { "claude-code": claudeCodeHooks, gemini: geminiHooks };
/** Processes of the tests: a shell, the agent in it, the shell of its tool, and the child there. */
const [SHELL, PARENT, TOOL, CHILD, SIBLING] = [10, 11, 12, 13, 14];

function paneWorld(options: WorldOptions = {}) {
  const sockets = new FakeSockets();
  const adapters = [new FakeAgents("claude-code"), new FakeAgents("gemini")];
  const w = world({ hooks: HOOKS, adapters, sockets, ...options });
  w.processes.start(SHELL);
  for (const [pid, above] of [[PARENT, SHELL], [TOOL, PARENT], [CHILD, TOOL]] as const) {
    w.processes.start(pid, above);
  }
  const event = { "claude-code": "Stop", gemini: "AfterAgent" } as const;
  return {
    w,
    sockets,
    /** A hook of the agent in this process. */
    hook(backend: keyof typeof event, pid: number, hook_event_name: string = event[backend]) {
      sockets.holders = [pid];
      const source = hook_event_name === "SessionStart" ? { source: "startup" } : {};
      const body = { session_id: `s-${pid}`, cwd: "/work", hook_event_name, ...source };
      return post(w, `/hooks/${backend}`, body, { ...PANE, "x-mesh-agent-pid": String(pid) });
    },
    async peerOf(pid: number) {
      const { peers } = await get(w, "/peers");
      const found = peers.find(({ agent_pid }: { agent_pid: number }) => agent_pid === pid);
      return { status: found?.status, pane: found?.pane_id, transport: found?.transport };
    },
    /** The agent that a command in this process speaks for, and the proof of it. */
    async caller(pid: number) {
      sockets.holders = [pid];
      const query = { pid: String(pid), pane_id: "%3", tmux_socket: SOCKET };
      const { peer_id, proof } = await w.call(identifyCaller, { query });
      return peer_id && [(await get(w, `/peers/${peer_id}`)).agent_pid, proof];
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

const IN_PANE = { status: "online", pane: "%3", transport: "pane" };
const WITHOUT = { status: "online", pane: null, transport: "none" };

for (const parent of ["claude-code", "gemini"] as const) {
  for (const child of ["claude-code", "gemini"] as const) {
    Deno.test(`${parent} that starts ${child} in its shell keeps its pane and its name`, async () => {
      await using at = paneWorld();
      await at.hook(parent, PARENT, "SessionStart");
      await at.hook(child, CHILD, "SessionStart");
      assert.deepEqual(await at.peerOf(PARENT), IN_PANE, "meanwhile");
      assert.deepEqual(await at.peerOf(CHILD), WITHOUT);
      assert.deepEqual(await at.caller(TOOL), [PARENT, "process"], "its shell speaks for it");
      assert.deepEqual(await at.caller(CHILD), [CHILD, "process"]);
      await at.hook(child, CHILD, "SessionEnd");
      at.w.processes.end(CHILD);
      await at.w.tick();
      assert.deepEqual(await at.peerOf(PARENT), IN_PANE, "after the child's end");
      assert.deepEqual(await at.caller(TOOL), [PARENT, "process"]);
      await at.hook(parent, PARENT);
      assert.deepEqual(await at.peerOf(PARENT), IN_PANE, "after its own turn");
    });
  }
}

Deno.test("a child that outlives its agent has the pane from then on, if it runs in its terminal", async () => {
  for (const [terminal, expected] of [[5, IN_PANE], [6, WITHOUT]] as const) {
    await using at = paneWorld({
      paneOf: () => Promise.resolve({ session: "work", window: "@1", pane_pid: SHELL }),
    });
    for (const pid of [SHELL, PARENT]) at.w.processes.terminals.set(pid, 5);
    at.w.processes.terminals.set(CHILD, terminal);
    await at.hook("claude-code", PARENT, "SessionStart");
    await at.hook("gemini", CHILD, "SessionStart");
    assert.deepEqual(await at.peerOf(CHILD), WITHOUT);
    at.w.processes.end(PARENT);
    await at.w.tick();
    assert.deepEqual(await at.peerOf(CHILD), expected, `terminal ${terminal}`);
  }
});

Deno.test("the second of two agents in a pane has the pane once the first has ended", async () => {
  await using at = paneWorld();
  await at.hook("claude-code", PARENT, "SessionStart");
  at.w.processes.end(PARENT);
  at.w.processes.start(SIBLING, SHELL);
  await at.hook("gemini", SIBLING, "SessionStart");
  assert.deepEqual(await at.peerOf(SIBLING), IN_PANE);
  assert.deepEqual((await at.peerOf(PARENT)).pane, null);
});

Deno.test("an agent whose program is replaced (exec) leaves the pane to the new one", async () => {
  await using at = paneWorld();
  await at.hook("claude-code", PARENT, "SessionStart");
  await at.hook("gemini", PARENT, "SessionStart");
  const { peers } = await get(at.w, "/peers");
  assert.deepEqual(
    peers.map(({ backend, pane_id, status }: Record<string, unknown>) => [
      ...[backend, pane_id, status],
    ]),
    [["claude-code", null, "offline"], ["gemini", "%3", "online"]],
  );
  assert.deepEqual(await at.caller(TOOL), [PARENT, "process"]);
});

Deno.test("a claim of the pane without a proof takes nothing from a proved agent", async () => {
  await using at = paneWorld();
  await at.hook("claude-code", PARENT, "SessionStart");
  at.sockets.holders = [];
  const place = { pane_id: "%3", tmux_socket: SOCKET };
  for (const more of [{}, { agent_pid: CHILD }]) {
    await addPeer(at.w, "thief", { ...place, ...more, backend: "gemini" });
    assert.deepEqual(await at.peerOf(PARENT), IN_PANE, JSON.stringify(more));
  }
  const occupant = await get(at.w, `/peers/by-pane/%253?tmux_socket=${SOCKET}`);
  assert.equal(occupant.agent_pid, PARENT);
});

Deno.test("a child that names its parent's process is not the parent, by a tool, a hook or a registration", async () => {
  await using at = paneWorld();
  const { w, sockets } = at;
  await at.hook("claude-code", PARENT, "SessionStart");
  await at.hook("gemini", CHILD, "SessionStart");
  const whoami = async () => {
    const headers = { "x-mesh-pid": String(PARENT) };
    const send = (request: Request) => w.daemon.fetch(request, LOOPBACK);
    await using client = await connect(send, { headers });
    return (await client.call("whoami")).data["name"];
  };
  const registration = { backend: "claude-code", path: "/evil", agent_pid: PARENT };
  sockets.holders = [TOOL, PARENT, SHELL]; // A program in the parent's shell.
  const renewed = await post(w, "/peers", { ...registration, path: "/work" });
  const parent = await peerOfProcess(w, PARENT);
  assert.deepEqual([renewed.peer_id, await whoami()], [parent.peer_id, parent.name]);
  sockets.holders = [CHILD, TOOL, PARENT, SHELL];
  assert.equal(await whoami(), "mcp-http");
  const taken = await post(w, "/peers", registration);
  assert.notEqual(taken.peer_id, parent.peer_id);
  assert.equal((await get(w, `/peers/${taken.peer_id}`)).pane_id, null);
  const stop = { session_id: `s-${PARENT}`, cwd: "/evil", hook_event_name: "UserPromptSubmit" };
  await post(w, "/hooks/claude-code", { ...stop, prompt: "forged" }, {
    "x-mesh-agent-pid": String(PARENT),
  });
  assert.deepEqual(await peerOfProcess(w, PARENT), parent, "its record is as it was");
  sockets.holders = [PARENT, SHELL];
  assert.equal(await whoami(), parent.name, "the parent stays known by its process");
});

/** The oldest peer of a process: what others can change of it. */
async function peerOfProcess(w: ReturnType<typeof paneWorld>["w"], pid: number) {
  const { peers } = await get(w, "/peers");
  const { peer_id, name, path, status, turn_state } = peers.find((
    { agent_pid }: { agent_pid: number },
  ) => agent_pid === pid);
  return { peer_id, name, path, status, turn_state };
}

Deno.test("after a restart of the daemon the parent has its pane, and a child waits as before", async () => {
  using folder = temporary();
  const options = { db_path: `${folder.path}/mesh.db` };
  const first = paneWorld(options);
  await first.hook("claude-code", PARENT, "SessionStart");
  await first.hook("gemini", CHILD, "SessionStart");
  const { processes } = first.w;
  await first[Symbol.asyncDispose]();
  await using second = paneWorldOn(processes, options);
  assert.deepEqual(await second.peerOf(PARENT), IN_PANE);
  assert.deepEqual(await second.peerOf(CHILD), WITHOUT);
  processes.end(PARENT);
  await second.w.tick();
  assert.deepEqual(await second.peerOf(CHILD), IN_PANE);
});

/** The same processes, seen by another daemon. */
function paneWorldOn(
  processes: ReturnType<typeof paneWorld>["w"]["processes"],
  more: WorldOptions,
) {
  const adapters = [new FakeAgents("claude-code"), new FakeAgents("gemini")];
  const w = world({ hooks: HOOKS, adapters, processes, ...more });
  return {
    w,
    async peerOf(pid: number) {
      const { peers } = await get(w, "/peers");
      const found = peers.find(({ agent_pid }: { agent_pid: number }) => agent_pid === pid);
      return { status: found?.status, pane: found?.pane_id, transport: found?.transport };
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

Deno.test("the peer of a process is not read again while no registration changes", async () => {
  await using at = paneWorld();
  const { w } = at;
  await at.hook("claude-code", PARENT, "SessionStart");
  const { db } = w.daemon.ctx;
  const [all, get] = [db.all.bind(db), db.get.bind(db)];
  let reads = 0;
  db.all = (...given) => (reads++, all(...given));
  db.get = (...given) => (reads++, get(...given));
  const { identityLookup } = w.daemon;
  const found = () => identityLookup.peerOfProcesses([TOOL, PARENT, SHELL])?.peer?.peer_id;
  const peer_id = found() ?? "";
  assert.ok(identityLookup.get(peer_id));
  reads = 0;
  await post(w, `/peers/${peer_id}/turn`, { turn_state: "working" });
  w.daemon.ctx.db.transact((tx) => tx.run("update peers set last_seen = 1, last_delivery_at = 1"));
  reads = 0;
  assert.deepEqual([found(), identityLookup.get(peer_id)?.peer_id, reads], [peer_id, peer_id, 0]);
  at.sockets.holders = [TOOL, PARENT, SHELL];
  await addPeer(w, "tool", { agent_pid: TOOL });
  assert.notEqual(found(), peer_id);
});
