/** A registration with the session of another peer makes a new peer, and gets nothing else. */

import assert from "node:assert/strict";
import { claudeCodeHooks } from "../../../../../daemon/features/agents/hooks/claude_format.ts";
import { addPeer, get, post } from "../../../../support/daemon/peer_clients.ts";
import { codex, spawningWorld } from "../../../../support/daemon/spawns.ts";
import { sessionFilesOf } from "../../../../support/sessions/fake_session_files.ts";
import { FakeSockets, type World, world } from "../../../../support/world.ts";

const [VICTIM, THIEF] = [41, 42];
const SESSION = "11111111-2222-4333-8444-555555555555";
const HOOKS = { "claude-code": claudeCodeHooks };
const SECRET = "The launch code is plum";

function hook(w: World, pid: number | undefined, hook_event_name: string) {
  const more = hook_event_name === "SessionStart" ? { source: "startup" } : { prompt: "Go on" };
  const body = { session_id: SESSION, cwd: "/work", hook_event_name, ...more };
  const headers = pid === undefined ? {} : { "x-mesh-agent-pid": String(pid) };
  return post(w, "/hooks/claude-code", body, headers);
}

async function recordOf(w: World, peer_id: string) {
  const { status, path, agent_pid, turn_state } = await get(w, `/peers/${peer_id}`);
  return { status, path, agent_pid, turn_state };
}

/** A world with a victim, whose hooks prove its process or none. */
async function withVictim(pid: number | undefined) {
  const sockets = new FakeSockets();
  const w = world({ sockets, hooks: HOOKS });
  for (const running of [VICTIM, THIEF]) w.processes.start(running);
  sockets.holders = pid === undefined ? [] : [pid];
  await hook(w, pid, "SessionStart");
  const [victim] = (await get(w, "/peers")).peers;
  return { w, sockets, victim };
}

for (const victimPid of [undefined, VICTIM]) {
  const title = victimPid === undefined ? "no process is proved" : "a process is proved";
  Deno.test(`a peer of whose agent ${title} is not taken over by its session`, async () => {
    for (const claim of [{}, { agent_pid: THIEF }, { agent_pid: THIEF, pane_id: "%3" }]) {
      const { w, sockets, victim } = await withVictim(victimPid);
      await using _ = w;
      const before = await recordOf(w, victim.peer_id);
      sockets.holders = [THIEF];
      const named = { backend: "claude-code", path: "/evil", runtime_session_id: SESSION };
      const thief = await post(w, "/peers", { ...named, ...claim });
      assert.notEqual(thief.peer_id, victim.peer_id, JSON.stringify(claim));
      assert.deepEqual(await recordOf(w, victim.peer_id), before);
      sockets.holders = victimPid === undefined ? [] : [victimPid];
      await hook(w, victimPid, "UserPromptSubmit");
      assert.equal((await recordOf(w, victim.peer_id)).turn_state, "working", "its own hook");
      assert.equal((await recordOf(w, thief.peer_id)).turn_state, null);
    }
  });
}

Deno.test("a hook of another process changes nothing for a live peer with the same session", async () => {
  for (const victimPid of [undefined, VICTIM]) {
    const { w, sockets, victim } = await withVictim(victimPid);
    await using _ = w;
    const before = await recordOf(w, victim.peer_id);
    sockets.holders = [THIEF];
    for (const event of ["UserPromptSubmit", "Stop", "SessionEnd"]) await hook(w, THIEF, event);
    assert.deepEqual(await recordOf(w, victim.peer_id), before);
  }
});

Deno.test("a session that is resumed in a second pane, which then ends, leaves the first as it is", async () => {
  const { w, sockets, victim } = await withVictim(VICTIM);
  await using _ = w;
  const before = await recordOf(w, victim.peer_id);
  sockets.holders = [THIEF];
  await hook(w, THIEF, "SessionStart");
  assert.equal((await get(w, "/peers")).peers.length, 2);
  await hook(w, THIEF, "SessionEnd");
  w.processes.end(THIEF);
  await w.tick();
  assert.deepEqual(await recordOf(w, victim.peer_id), before);
});

Deno.test("a hook of the new process of a session is better evidence than a record whose process has ended", async () => {
  for (const event of ["UserPromptSubmit", "PostToolUse", "Stop", "SessionStart"]) {
    const { w, sockets, victim } = await withVictim(VICTIM);
    await using _ = w;
    w.processes.end(VICTIM);
    await w.tick();
    sockets.holders = [THIEF];
    await hook(w, THIEF, event);
    const { status, agent_pid } = await recordOf(w, victim.peer_id);
    assert.notEqual(status, "offline", event);
    assert.equal(agent_pid, THIEF, event);
    await w.tick();
    assert.notEqual((await recordOf(w, victim.peer_id)).status, "offline", event);
  }
});

/** A world whose only session file is the victim's, which no peer or another process has. */
async function withSessionFile(settings: Readonly<Record<string, string>> = {}) {
  const sockets = new FakeSockets();
  const entries = [{ kind: "prompt", tool: null, text: SECRET }] as const;
  const fixture = await spawningWorld({
    sockets,
    hooks: HOOKS,
    adapters: [{ ...codex, backend: "claude-code" }],
    settings: { "human.name": "sam", ...settings },
    sessionFiles: {
      "claude-code": sessionFilesOf([
        { session_id: SESSION, title: "x", folder: "/work", updated_at: 0, entries },
      ]),
    },
  });
  for (const running of [VICTIM, THIEF]) fixture.w.processes.start(running);
  sockets.holders = [THIEF];
  await addPeer(fixture.w, "box", { circle: "main" });
  return { ...fixture, sockets };
}

Deno.test("a peer that registers with a session gets no turns, tokens or copies of it", async () => {
  for (const transcripts of ["human", "peers"]) {
    await using at = await withSessionFile({ transcripts });
    const { w, terminals } = at;
    const claim = { backend: "claude-code", runtime_session_id: SESSION, agent_pid: THIEF };
    await addPeer(w, "thief", { ...claim, circle: "main" });
    const from = { from_peer: "thief" };
    const answers = [
      await get(w, "/peers/thief/transcript?from_peer=thief"),
      await get(w, "/peers/thief/usage?from_peer=thief"),
      await post(w, "/handoffs", { ...from, to_peer: "box", last: 50 }),
      await post(w, "/peers/thief/fork", from),
      await post(w, "/spawn/resume", { ...from, backend: "claude-code", session_id: SESSION }),
    ];
    for (const answer of answers) {
      assert.match(answer.error ?? "", /^(human_not_proven|not_your_transcript)$/, transcripts);
      assert.doesNotMatch(JSON.stringify(answer), /plum/);
    }
    assert.equal(terminals.launches.length, 0);
    const { usage } = await get(w, "/usage?from_peer=thief");
    assert.doesNotMatch(JSON.stringify(usage), new RegExp(SESSION));
  }
});

Deno.test("a session of another circle is not read through a peer that names it", async () => {
  await using at = await withSessionFile({ transcripts: "peers" });
  const { w, sockets } = at;
  sockets.holders = [VICTIM];
  await hook(w, VICTIM, "SessionStart");
  sockets.holders = [THIEF];
  const claim = { backend: "claude-code", runtime_session_id: SESSION };
  await addPeer(w, "puppet", { ...claim, circle: "main" });
  await addPeer(w, "thief", { agent_pid: THIEF, circle: "main" });
  const refused = await get(w, "/peers/puppet/transcript?from_peer=thief");
  assert.equal(refused.error, "not_your_transcript");
});

Deno.test("an agent whose hooks report its session hands its own turns over, and its children do not", async () => {
  await using at = await withSessionFile();
  const { w, sockets } = at;
  sockets.holders = [VICTIM];
  await hook(w, VICTIM, "SessionStart");
  const name = "work-claude-code";
  const handed = await post(w, "/handoffs", { from_peer: name, to_peer: "box" });
  assert.equal(handed.status, 200, JSON.stringify(handed));
  assert.equal((await get(w, `/peers/${name}/usage?from_peer=${name}`)).session_id, SESSION);
  w.processes.end(THIEF);
  w.processes.start(THIEF, VICTIM); // The agent starts another one, which registers.
  sockets.holders = [THIEF, VICTIM];
  await addPeer(w, "child", { agent_pid: THIEF });
  const refused = await post(w, "/handoffs", { from_peer: name, to_peer: "box" });
  assert.equal(refused.error, "not_your_identity");
});

Deno.test("an agent that another agent starts registers as itself", async () => {
  const sockets = new FakeSockets();
  await using w = world({ sockets });
  w.processes.start(VICTIM);
  w.processes.start(THIEF, VICTIM);
  sockets.holders = [VICTIM];
  const session = { runtime_session_id: SESSION };
  const parent = await addPeer(w, "parent", { agent_pid: VICTIM, ...session });
  sockets.holders = [THIEF, VICTIM];
  await addPeer(w, "child", { agent_pid: THIEF });
  const claim = { path: "/evil", backend: "sdk" };
  const refused = await post(w, "/peers", { ...claim, peer_id: parent.peer_id });
  assert.equal(refused.error, "identity_not_proven");
  assert.notEqual((await post(w, "/peers", { ...claim, ...session })).peer_id, parent.peer_id);
  assert.equal((await get(w, `/peers/${parent.peer_id}`)).path, "/work");
});

Deno.test("a stranger that continues an offline peer by its session gets no turns of it", async () => {
  await using at = await withSessionFile();
  const { w, sockets } = at;
  sockets.holders = [VICTIM];
  await hook(w, VICTIM, "SessionStart");
  w.processes.end(VICTIM);
  await w.tick();
  sockets.holders = [THIEF];
  const claim = { backend: "claude-code", runtime_session_id: SESSION, agent_pid: THIEF };
  await addPeer(w, "thief", claim);
  const handed = await post(w, "/handoffs", { from_peer: "thief", to_peer: "box" });
  assert.equal(handed.error, "not_your_transcript");
});

Deno.test("a hook without a process does not bring back a peer whose process has ended", async () => {
  const { w, sockets, victim } = await withVictim(VICTIM);
  await using _ = w;
  w.processes.end(VICTIM);
  sockets.holders = [];
  await hook(w, undefined, "Stop");
  assert.equal((await recordOf(w, victim.peer_id)).agent_pid, VICTIM);
  for (let second = 0; second < 5; second++) await w.tick();
  assert.equal((await recordOf(w, victim.peer_id)).status, "offline");
});
