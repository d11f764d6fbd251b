/** Orphan panes, linking them to peers, and rehooking peers. */

import assert from "node:assert/strict";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  connectPeer,
  eventData,
  eventTypesSince,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { FakeAgents, FakePanes, SOCKET } from "../../../support/host/fake_panes.ts";

const LINK = "/panes/%253/link";
const CLAUDE_COMMAND = { backend: "claude-code" };

/** A world with tmux, and Claude Code in pane %3 as process 7. */
function fixture() {
  const [paneObserver, agents] = [new FakePanes(), new FakeAgents()];
  const w = world({ paneObserver, adapters: [agents] });
  w.processes.start(7);
  paneObserver.open("%3", { foreground: { pid: 7, started: "1", args: ["node", "/bin/claude"] } });
  return { w, paneObserver, agents, [Symbol.asyncDispose]: () => w[Symbol.asyncDispose]() };
}

/** Everything stored about peers: a rollback must not change it. */
async function storedPeers(w: World) {
  return { peers: (await get(w, "/peers")).peers, events: w.events.length };
}

Deno.test("GET /panes/orphans lists the panes without a live peer on all tmux servers [4.panes.orphans]", async () => {
  await using at = fixture();
  const { w, paneObserver } = at;
  const other = "/missing/other";
  paneObserver.open("%4", {
    command: "bash",
    foreground: { pid: 8, started: "2", args: ["-bash"] },
  });
  paneObserver.open("%5", { tmux_socket: other, command: "codex" });
  paneObserver.open("%6", { dead: true });
  const ids = async () =>
    (await get(w, "/panes/orphans")).panes.map(({ pane_id }: { pane_id: string }) => pane_id);
  assert.deepEqual(await ids(), ["%3", "%4", "%5"]);
  await addPeer(w, "ada", { pane_id: "%9", tmux_socket: other });
  assert.deepEqual(await ids(), ["%3", "%4", "%5"]);
  await addPeer(w, "bob", { pane_id: "%4", tmux_socket: SOCKET });
  await addPeer(w, "eve", { agent_pid: 7 });
  const { panes } = await get(w, "/panes/orphans");
  assert.deepEqual(panes, [{
    pane_id: "%5",
    tmux_socket: other,
    pid: 100,
    command: "codex",
    cwd: "/work",
    session: "work",
    window: "@1",
    backend_hint: "codex",
    confidence: "hint",
  }]);
  await post(w, "/peers/bob/offline");
  assert.deepEqual(await ids(), ["%4", "%5"]);
});

Deno.test("the backend hint names the program, or the script that a runtime runs", async () => {
  await using at = fixture();
  const { w, paneObserver } = at;
  paneObserver.close("%3");
  const cases = [
    ["claude", [], "claude-code"],
    ["node", ["node", "/lib/node_modules/@google/gemini-cli/dist/index.js"], "gemini"],
    ["MainThread", ["/usr/bin/opencode", "-s", "x"], "opencode"],
    ["copilot", [], "copilot"],
    ["vim", ["vim", "notes about codex"], null],
    ["bash", ["-bash"], null],
  ] as const;
  for (const [at, [command, args]] of cases.entries()) {
    paneObserver.open(`%${at}`, { command, foreground: { pid: 50 + at, started: "1", args } });
  }
  const { panes } = await get(w, "/panes/orphans");
  for (const [at, [, , backend]] of cases.entries()) {
    const { backend_hint, confidence } = panes[at];
    assert.deepEqual([backend_hint, confidence], [backend, backend ? "hint" : "unknown"]);
  }
});

Deno.test("a link registers the agent in a pane, and its messages are delivered [4.panes.link]", async () => {
  await using at = fixture();
  const { w } = at;
  const linked = await post(w, LINK, { ...CLAUDE_COMMAND, name: "ada", circle: "main" });
  const { peer_id } = linked;
  assert.deepEqual(linked, { status: 200, linked: true, peer_id, display_name: "ada" });
  const peer = w.daemon.records.mustGet(peer_id);
  assert.deepEqual([peer.pane_id, peer.tmux_socket, peer.agent_pid, peer.path, peer.circle], [
    "%3",
    SOCKET,
    7,
    "/work",
    "main",
  ]);
  await notify(w, "cli", "ada");
  await w.clock.settle();
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { sent: 1 });
});

Deno.test("a link without a live transport leaves no peer behind [7.link-rolled-back]", async () => {
  await using at = fixture();
  const { w, agents, paneObserver } = at;
  const before = await storedPeers(w);
  agents.refusalReason = "dialog_open";
  const refused = await post(w, LINK, CLAUDE_COMMAND);
  const hint = "answer the dialog in the pane, then link again";
  assert.deepEqual(refused, { status: 200, linked: false, reason: "dialog_open", hint });
  assert.equal((await post(w, LINK, { backend: "codex" })).reason, "no_transport");
  paneObserver.close("%3");
  paneObserver.open("%3");
  assert.equal((await post(w, LINK, CLAUDE_COMMAND)).reason, "no_process");
  assert.deepEqual(await storedPeers(w), before);
});

Deno.test("an agent that ends during a link is not registered", async () => {
  await using at = fixture();
  const { w, agents } = at;
  const before = await storedPeers(w);
  agents.onCheck = () => w.processes.end(7);
  assert.partialDeepStrictEqual(await post(w, LINK, CLAUDE_COMMAND), {
    linked: false,
    reason: "agent_gone",
  });
  agents.onCheck = () => (w.processes.end(7), w.processes.start(7));
  assert.partialDeepStrictEqual(await post(w, LINK, CLAUDE_COMMAND), {
    linked: false,
    reason: "agent_gone",
  });
  assert.deepEqual(await storedPeers(w), before);
});

Deno.test("a link to a missing pane is 404, and to a pane with a peer 409", async () => {
  await using at = fixture();
  const { w, paneObserver, agents } = at;
  const errorOf = async (path: string, more = {}) => {
    const { status, error } = await post(w, path, { ...CLAUDE_COMMAND, ...more });
    return [status, error];
  };
  assert.deepEqual(await errorOf("/panes/%258/link"), [404, "unknown_pane"]);
  assert.deepEqual(await errorOf("/panes/x/link"), [404, "unknown_pane"]);
  assert.deepEqual(await errorOf(LINK, { tmux_socket: "/missing/none" }), [404, "unknown_pane"]);
  const other = "/missing/other";
  await addPeer(w, "far", { tmux_socket: other });
  paneObserver.open("%3", { tmux_socket: other, foreground: { pid: 9, started: "1", args: [] } });
  assert.deepEqual(await errorOf(LINK), [404, "unknown_pane"], "it could be either");
  const named = `${LINK}?tmux_socket=${encodeURIComponent(SOCKET)}`;
  assert.deepEqual(await errorOf(named), [200, undefined]);
  assert.deepEqual(await errorOf(LINK, { tmux_socket: SOCKET }), [409, "already_linked"]);
  w.processes.start(9);
  const rival = { pane_id: "%3", tmux_socket: other };
  agents.onCheck = () => void w.daemon.peers.register({ path: "/", backend: "sdk", ...rival });
  assert.deepEqual(await errorOf(LINK, { tmux_socket: other }), [409, "already_linked"]);
});

Deno.test("a link with a reserved name is refused", async () => {
  await using at = fixture();
  const before = await storedPeers(at.w);
  const { status, error } = await post(at.w, LINK, { ...CLAUDE_COMMAND, name: "telegram" });
  assert.deepEqual([status, error], [422, "reserved_name"]);
  assert.deepEqual(await storedPeers(at.w), before);
});

/** The same agent, registered and offline. */
async function addOfflinePeer(at: ReturnType<typeof fixture>) {
  const location = { pane_id: "%3", tmux_socket: SOCKET, agent_pid: 7 };
  const { peer_id } = await addPeer(at.w, "ada", { ...CLAUDE_COMMAND, ...location });
  await post(at.w, "/peers/ada/offline", { reason: "session_end" });
  return peer_id;
}

Deno.test("a peer is linked to its recorded pane, whatever the agent's process is now [c3.peer.link]", async () => {
  await using at = fixture();
  const { w, paneObserver, agents } = at;
  const peer_id = await addOfflinePeer(at);
  w.processes.end(7);
  paneObserver.close("%3");
  w.processes.start(9);
  paneObserver.open("%3", { foreground: { pid: 9, started: "2", args: [] } });
  agents.refusalReason = "draft_present";
  const before = await storedPeers(w);
  assert.equal((await post(w, "/peers/ada/link")).reason, "draft_present");
  assert.deepEqual(await storedPeers(w), before);
  agents.refusalReason = undefined;
  const linked = await post(w, "/peers/ada/link");
  assert.deepEqual(linked, { status: 200, linked: true, peer_id, display_name: "ada" });
  const { status, agent_pid } = w.daemon.records.mustGet(peer_id);
  assert.deepEqual([status, agent_pid], ["online", 9]);
  assert.equal((await post(w, "/peers/ada/link")).error, "already_linked");
});

Deno.test("a peer whose pane is missing, on another machine or another peer's cannot be linked", async () => {
  await using at = fixture();
  const { w, paneObserver } = at;
  await addPeer(w, "bare");
  await addPeer(w, "far", { machine: "elsewhere", pane_id: "%3" });
  const peer_id = await addOfflinePeer(at);
  const errorOf = async (name: string) => (await post(w, `/peers/${name}/link`)).error;
  assert.equal(await errorOf("bare"), "missing_pane");
  assert.equal(await errorOf("far"), "other_host");
  paneObserver.close("%3");
  assert.equal(await errorOf("ada"), "unknown_pane");
  await post(w, "/peers/ada/offline", { terminal: true });
  assert.equal(await errorOf(peer_id), "peer_retired");
  assert.equal(await errorOf("nobody"), "unknown_peer");
});

Deno.test("rehook reports what it would do, and with apply brings a lost peer online [4.peers.rehook]", async () => {
  await using at = fixture();
  const { w } = at;
  const peer_id = await addOfflinePeer(at);
  await notify(w, "cli", "ada");
  const before = await storedPeers(w);
  const plan = await post(w, "/peers/ada/rehook");
  const would_do = "bring it back online: its process 7 runs in %3";
  const expectedLink = { status: 200, ok: true, peer_id, would_do, reason: "session_end" };
  assert.deepEqual(plan, {
    ...expectedLink,
    acted: false,
    healthy: false,
    transport: plan.transport,
  });
  assert.deepEqual(await storedPeers(w), before);
  const done = await post(w, "/peers/ada/rehook", { apply: true });
  assert.deepEqual(done, { ...expectedLink, acted: true, healthy: true, transport: "pane" });
  await w.clock.settle();
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { sent: 1 });
  const again = await post(w, "/peers/ada/rehook", { apply: true });
  assert.deepEqual([again.acted, again.healthy, again.would_do], [false, true, null]);
});

Deno.test("rehook does not change a peer that no transport reaches, and says why", async () => {
  await using at = fixture();
  await addOfflinePeer(at);
  at.agents.refusalReason = "dialog_open";
  const since = at.w.events.length;
  const answer = await post(at.w, "/peers/ada/rehook", { apply: true });
  assert.partialDeepStrictEqual(answer, {
    ok: false,
    acted: false,
    healthy: false,
    would_do: null,
    reason: "dialog_open",
  });
  assert.deepEqual(eventTypesSince(at.w, since), []);
});

Deno.test("rehook refuses another machine, a missing pane and an unproved process", async () => {
  await using at = fixture();
  const { w, paneObserver } = at;
  await addPeer(w, "bare");
  await addPeer(w, "far", { machine: "elsewhere", pane_id: "%3" });
  await addOfflinePeer(at);
  const refusal = async (name: string) => {
    const { status, error, reason } = await post(w, `/peers/${name}/rehook`, { apply: true });
    return [status, error, reason];
  };
  assert.deepEqual(await refusal("bare"), [409, "missing_pane", undefined]);
  assert.deepEqual(await refusal("far"), [409, "other_host", undefined]);
  paneObserver.within.set("%3", 8);
  assert.deepEqual(await refusal("ada"), [409, "pane_unverified", "agent_elsewhere"]);
  w.processes.end(7);
  assert.deepEqual(await refusal("ada"), [409, "pane_unverified", "agent_gone"]);
  paneObserver.close("%3");
  assert.deepEqual(await refusal("ada"), [409, "missing_pane", undefined]);
  await connectPeer(w, "wired");
  assert.equal((await post(w, "/peers/wired/rehook")).healthy, true);
  assert.deepEqual(eventData(w, "peer_online"), []);
});
