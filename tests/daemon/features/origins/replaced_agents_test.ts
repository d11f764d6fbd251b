/** Chains of agents that are copied, replaced, restarted or woken: none leaves a guest's work. */

import assert from "node:assert/strict";
import { getMessage } from "protocol/messages/log.ts";
import type { Adapter } from "../../../../daemon/features/agents/adapter.ts";
import { addPeer, ask, post } from "../../../support/daemon/peer_clients.ts";
import { agentInPane, restartAndRegister } from "../../../support/daemon/restarts.ts";
import {
  advanceUntilSettled,
  codex,
  generic,
  registerSpawned,
  SOCKET,
  spawningWorld,
} from "../../../support/daemon/spawns.ts";
import { reportStart, sleepingWorld, untilLaunched } from "../../../support/daemon/wakes.ts";
import { sessionFilesOf } from "../../../support/sessions/fake_session_files.ts";
import { FakeSockets, type World } from "../../../support/world.ts";

const gemini: Adapter = { ...codex, backend: "gemini" };
const hook = { read: () => ({ event: "SessionStart", session_id: "g-1" }), answer: () => ({}) };
const COMMANDS = { codex: ["codex"], gemini: ["gemini"], generic: ["sh", "agent.sh"] };
const SETTINGS = {
  "human.name": "sam",
  transcripts: "peers",
  "spawn.commands": JSON.stringify(COMMANDS),
  policy: '[{"origin":"guest","deny":["jobs"]}]',
};

/** The agent `api`, which a guest's chain has started, beside `web` and `db`. */
async function guestAgent() {
  const session = { session_id: "s-1", title: "x", folder: "/", updated_at: 0, entries: [] };
  const sockets = new FakeSockets();
  const fixture = await spawningWorld({
    adapters: [codex, gemini, generic],
    hooks: { codex: hook, gemini: hook },
    sessionFiles: { codex: sessionFilesOf([session]) },
    at_terminal: true,
    sockets,
    settings: SETTINGS,
  });
  const { w, processes, folder } = fixture;
  const { peer_id, agent_pid } = await agentInPane(fixture, { circle: "main" });
  processes.start(60);
  await addPeer(w, "web", { circle: "main", agent_pid: 60 });
  await addPeer(w, "db", { circle: "main" });
  startedByGuest(w, peer_id);
  /** Makes a copy of `api`, by the process of a sender, which then registers. */
  const forks = async (from_peer: string, pid: number, headers = {}) => {
    sockets.holders = [pid];
    const forked = await post(w, "/peers/api/fork", { from_peer, name: "copy" }, headers);
    sockets.holders = [];
    assert.equal(forked.status, 200, forked.detail);
    await registerSpawned(w, forked.pane_id, { runtime_session_id: "s-2", path: folder });
    await w.clock.settle();
  };
  return { ...fixture, forks, agent_pid };
}

function startedByGuest({ daemon: { ctx, origins } }: World, peer_id: string): void {
  const from = { peer_id: null, name: "mcp-share-0123456789ab" };
  ctx.db.transact((tx) => origins.include(tx, peer_id, from, { via: "relay" }, undefined));
}

/** The origin of what a peer asks now, and whether the rule on guests denies it a job. */
async function worksFor(w: World, peer: string): Promise<[string | undefined, boolean]> {
  const { chain } = await w.call(getMessage, { params: { id: await ask(w, peer, "db") } });
  const job = { prompt: "Build", assigned_peer: "db", created_by: peer };
  const { error = null } = await post(w, "/jobs", job);
  return [chain?.origin, error === "policy_denied"];
}

const GUEST = ["guest", true];

Deno.test("a copy of an agent that works for a guest works for it, also if another agent makes the copy", async () => {
  for (const from_peer of ["api", "web", "sam"]) {
    await using at = await guestAgent();
    const { w, forks, agent_pid } = at;
    if (from_peer === "sam") await forks(from_peer, 77, { "x-mesh-terminal": "77" });
    else await forks(from_peer, from_peer === "api" ? agent_pid : 60);
    assert.deepEqual(await worksFor(w, "copy"), GUEST, from_peer);
  }
});

Deno.test("work that is handed over stays a guest's", async () => {
  await using at = await guestAgent();
  const { w } = at;
  const sent = await post(w, "/handoffs", { from_peer: "api", to_peer: "web", last: 1 });
  const { chain } = await w.call(getMessage, { params: { id: sent.delivery_id } });
  assert.equal(chain?.origin, "guest");
});

for (const from_peer of ["api", "web"]) {
  Deno.test(`another agent in a guest's pane works for the guest, if ${from_peer} switches`, async () => {
    await using at = await guestAgent();
    const { w, terminals, folder } = at;
    const answer = post(w, "/peers/api/switch", { backend: "gemini", from_peer, note: "Go on" });
    await w.clock.advanceUntil("a launch", () => terminals.launches.length > 0);
    await w.clock.settle();
    const pane = [...terminals.panes.values()].at(-1);
    const place = { pane_id: pane?.pane_id, tmux_socket: SOCKET, agent_pid: pane?.pane_pid };
    const session = { path: folder, backend: "gemini", runtime_session_id: "g-1" };
    await post(w, "/peers", { ...place, ...session });
    const { outcome } = await advanceUntilSettled(w, answer);
    assert.equal(outcome, "restarted");
    assert.deepEqual(await worksFor(w, "api"), GUEST);
  });
}

for (const fresh of [false, true]) {
  Deno.test(`a restart ${fresh ? "with a new session" : "with its session"} leaves an agent in a guest's chain`, async () => {
    await using at = await guestAgent();
    const body = { fresh, from_peer: "web", message: "Go on" };
    const { answer } = await restartAndRegister(at, body, fresh ? "s-2" : "s-1");
    assert.equal(answer.outcome, "restarted");
    assert.deepEqual(await worksFor(at.w, "api"), GUEST);
  });
}

Deno.test("an agent that is woken still works for the guest", async () => {
  await using at = await sleepingWorld({ settings: { "daemon.wake": "always", ...SETTINGS } });
  const { w, peer_id } = at;
  for (const name of ["web", "db"]) await addPeer(w, name);
  startedByGuest(w, peer_id);
  await ask(w, "web", "api", "Ready?");
  await untilLaunched(at);
  await reportStart(at);
  await w.tick();
  assert.deepEqual(await worksFor(w, "api"), GUEST);
});
