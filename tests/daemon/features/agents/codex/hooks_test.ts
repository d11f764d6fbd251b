/** Codex's hooks and calls in a whole daemon: many sessions, one server, one environment. */

import assert from "node:assert/strict";
import {
  codexHooks,
  type CodexHost,
  hostOf,
} from "../../../../../daemon/features/agents/codex/hooks.ts";
import type {
  Adapter,
  AgentTransport,
  Observation,
} from "../../../../../daemon/features/agents/adapter.ts";
import { codexAdapter } from "../../../../../daemon/features/agents/codex/codex.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { FakeProcesses, type World, world } from "../../../../support/world.ts";
import { randomIds } from "kit/core/clock.ts";
import { TmuxServers } from "../../../../../daemon/host/tmux/tmux.ts";
import { silent } from "../../../../support/host/private_tmux.ts";
import { identifyCaller } from "protocol/api/callers.ts";
import { addPeer, ask, get, post } from "../../../../support/daemon/peer_clients.ts";

const [API, WEB] = [
  "01a1fd98-e6b7-7203-8c25-4d2ca61a583d",
  "01a1fd9b-579c-7990-9425-992190aa141e",
];
/** The shared server, a hook and an MCP server of it; and a session with its own process. */
const [SERVER, HOOK, PROXY, OWN, OWN_HOOK] = [500, 501, 502, 600, 601];
const PANE = { "x-mesh-pane": "%0", "x-mesh-tmux": "/missing/tmux-0/default,1,0" };

function above(pid: number): CodexHost | undefined {
  if (pid === HOOK || pid === PROXY) return { pid: SERVER, kind: "server" };
  return pid === OWN_HOOK ? { pid: OWN, kind: "session" } : undefined;
}

function golden(event: string): Record<string, unknown> {
  const url = new URL(`../../../../golden/hooks/codex/${event}.json`, import.meta.url);
  return JSON.parse(Deno.readTextFileSync(url));
}

// The format, as the real program sent it.

const RAN = {
  tool: "mcp__mesh_probe__ping",
  input: { text: "hello" },
  result: { content: [{ type: "text", text: 'pong ping {"text":"hello"}' }] },
};
const PERMISSION = {
  tool: "Bash",
  input: { "command": "touch /home/sam/zz", "description": "may I" },
};

// deno-fmt-ignore
const REPORTS: [event: string, expected: Record<string, unknown>][] = [
  ["SessionStart",      { turn_state: "idle", source: "startup", model: "fake-1" }],
  ["UserPromptSubmit",  { turn_state: "working", prompt: "@@SAY hello", model: "fake-1" }],
  ["PostToolUse",       { is_within_turn: true, model: "fake-1", ran: RAN }],
  ["PostModelRequest",  { is_within_turn: true, after_request: true, model: "fake-1" }],
  ["PermissionRequest", { turn_state: "awaiting_input", waits_for: { kind: "permission", detail: PERMISSION.tool }, model: "fake-1", permission: PERMISSION }],
  ["Interrupt",         { turn_state: "idle", interrupted: true, model: "fake-1" }],
  ["Stop",              { turn_state: "idle", last_message: "hello", may_hold_turn: true, after_request: true, model: "fake-1" }],
  ["SessionEnd",        { end_reason: "other", model: undefined }],
];

for (const [event, expected] of REPORTS) {
  Deno.test(`a real ${event} payload of Codex is read`, () => {
    const payload = golden(event);
    const { session_id, cwd, transcript_path } = payload;
    const report = codexHooks().read(payload);
    assert.deepEqual(report, { event, session_id, cwd, transcript_path, ...expected });
  });
}

Deno.test("the Codex process above a process is found, and distinguished from the shared server", () => {
  const table = (names: Record<number, [name: string, args: string[], parent?: number]>) => ({
    commandOf: (pid: number) => names[pid]?.[0],
    argumentsOf: (pid: number) => names[pid]?.[1],
    parentOf: (pid: number) => names[pid]?.[2],
  });
  const shell = (parent: number): [string, string[], number] => ["sh", ["sh", "-c", "x"], parent];
  const server = table({ 3: shell(2), 2: ["codex", ["/x/codex", "app-server", "--listen"], 1] });
  assert.deepEqual(hostOf(3, server), { pid: 2, kind: "server" });
  const own = table({ 3: shell(2), 2: ["codex", ["/x/codex", "--no-daemon"], 1] });
  assert.deepEqual(hostOf(3, own), { pid: 2, kind: "session" });
  const other = table({ 3: shell(2), 2: ["claude", ["claude"], 1], 1: ["systemd", ["init"]] });
  assert.equal(hostOf(3, other), undefined);
  assert.equal(hostOf(Deno.pid), undefined);
});

// A whole daemon.

/** Codex's own adapter, except that the test decides what it observes. */
function codex(observe: () => Observation | undefined = () => undefined): Adapter {
  const ctx = { clock: new FakeClock(), log: silent };
  const tmuxServers = new TmuxServers({
    ...ctx,
    ids: randomIds,
    state_dir: "/none",
    search_path: "",
  });
  const options = {
    ...ctx,
    terminalServers: tmuxServers,
    codex_home: "/none",
    env: {},
    hostOf: above,
  };
  const queue: AgentTransport = {
    name: "native",
    check: () => Promise.resolve({ ready: true }),
    deliver: () => Promise.resolve({ state: "accepted" }),
  };
  return {
    ...codexAdapter(options),
    transports: () => [queue],
    observe: () => Promise.resolve(observe()),
  };
}

function fixture(observe?: () => Observation | undefined, settings: Record<string, string> = {}) {
  const processes = new FakeProcesses();
  processes.start(SERVER);
  processes.start(PROXY, SERVER);
  processes.start(OWN);
  processes.start(OWN_HOOK, OWN);
  const hooks = { codex: codexHooks(above) };
  return world({ processes, adapters: [codex(observe)], hooks, settings });
}

/** A hook of a session, from a process with the first terminal's environment. */
async function hook(
  w: World,
  session_id: string,
  event: string,
  more: Record<string, unknown> = {},
) {
  const { pid = HOOK, ...given } = more;
  const payload = { ...golden(event), session_id, ...given };
  const answer = await w.post("/hooks/codex", payload, { ...PANE, "x-mesh-hook-pid": String(pid) });
  assert.equal(answer.status, 200);
  return await answer.json();
}

async function stagesOf(w: World, id: string): Promise<string[]> {
  const { stages } = await get(w, `/traces/${id}`);
  return stages.map(({ stage }: { stage: string }) => stage);
}

interface PeerRecord {
  peer_id: string;
  name: string;
  status: string;
  pane_id: string | null;
  agent_pid: number | null;
  circle: string;
  transport: string;
  model: string | null;
  turn_state: string | null;
}

async function peers(w: World): Promise<PeerRecord[]> {
  return (await get(w, "/peers")).peers;
}

Deno.test("sessions of one server are separate peers without a pane", async () => {
  await using w = fixture();
  await hook(w, API, "SessionStart", { cwd: "/w/api" });
  await hook(w, WEB, "SessionStart", { cwd: "/w/web" });
  const found = await peers(w);
  const summaries = found.map(({ name, pane_id, agent_pid, transport, model, status }) => {
    return { name, pane_id, agent_pid, transport, model, status };
  });
  const each = { pane_id: null, agent_pid: null, transport: "native", model: "fake-1" };
  assert.deepEqual(summaries.sort((a, b) => a.name < b.name ? -1 : 1), [
    { name: "api-codex", ...each, status: "online" },
    { name: "web-codex", ...each, status: "online" },
  ]);
});

Deno.test("a session with its own process is located by its hooks", async () => {
  await using w = fixture();
  await hook(w, API, "SessionStart", { cwd: "/w/api", pid: OWN_HOOK });
  const [found] = await peers(w);
  assert.deepEqual([found?.agent_pid, found?.pane_id, found?.transport], [OWN, "%0", "pane"]);
  await hook(w, API, "SessionEnd", { pid: OWN_HOOK });
  assert.equal((await peers(w))[0]?.status, "offline");
});

Deno.test("a hook of an unknown process reports no pane", async () => {
  await using w = fixture();
  await hook(w, API, "SessionStart", { pid: 999 });
  const [found] = await peers(w);
  assert.deepEqual([found?.agent_pid, found?.pane_id], [null, null]);
});

Deno.test("a turn, a dialog and its end are reported by the hooks", async () => {
  await using w = fixture();
  const state = async () => (await peers(w))[0]?.turn_state;
  await hook(w, API, "SessionStart");
  await hook(w, API, "UserPromptSubmit");
  assert.equal(await state(), "working");
  await hook(w, API, "PermissionRequest");
  assert.equal(await state(), "awaiting_input");
  await hook(w, API, "Interrupt");
  assert.equal(await state(), "idle");
});

Deno.test("a gated tool of Codex waits for the human, and is denied without an answer", async () => {
  const settings = {
    "human.name": "sam",
    "approvals.gated_tools": `["${PERMISSION.tool}"]`,
    "approvals.timeout_seconds": "60",
  };
  await using w = fixture(undefined, settings);
  await hook(w, API, "SessionStart");
  const decisionOf = (answer: Record<string, Record<string, unknown>>) =>
    answer["hookSpecificOutput"]?.["decision"];
  const held = hook(w, API, "PermissionRequest");
  await w.clock.settle();
  const { items: [item] } = await get(w, "/inbox");
  await post(w, `/inbox/${item.item_id}/reply`, { text: "allow" });
  assert.partialDeepStrictEqual(decisionOf(await held), { behavior: "allow" });
  const late = hook(w, API, "PermissionRequest");
  await w.clock.settle();
  await w.clock.advance(60_000);
  assert.partialDeepStrictEqual(decisionOf(await late), { behavior: "deny" });
  const broken_off = hook(w, API, "PermissionRequest");
  await w.clock.settle();
  await hook(w, API, "Interrupt");
  assert.deepEqual(await broken_off, {});
});

Deno.test("a session goes offline once its server has unloaded it, and back online when it is loaded", async () => {
  let seen: Observation | undefined;
  await using w = fixture(() => seen);
  await hook(w, API, "SessionStart");
  const status = async () => (await peers(w))[0]?.status;
  await w.tick(3);
  assert.equal(await status(), "online", "a failed observation changes nothing");
  seen = { alive: false, turn_state: null, source: "app server" };
  await w.tick(3);
  assert.equal(await status(), "offline");
  seen = { alive: true, turn_state: "working", source: "app server" };
  await w.tick(3);
  assert.equal(await status(), "busy");
});

Deno.test("an ask sent meanwhile reaches the session once it is loaded again", async () => {
  let seen: Observation = { alive: false, turn_state: null, source: "app server" };
  await using w = fixture(() => seen);
  await hook(w, API, "SessionStart", { cwd: "/w/api" });
  await w.tick(3);
  const id = await ask(w, "ada", "api-codex", "Which port?");
  await w.tick(3);
  assert(!(await stagesOf(w, id)).includes("accepted"));
  seen = { alive: true, turn_state: "idle", source: "app server" };
  await w.tick(3);
  await w.tick(3);
  assert((await stagesOf(w, id)).includes("accepted"), String(await stagesOf(w, id)));
});

// Identification of callers.

/** Calls `whoami` from a process, with the `_meta` of a thread. */
async function whoami(w: World, threadId: string | undefined, pid = PROXY) {
  const _meta = threadId === undefined ? {} : { threadId, sessionId: threadId, callId: "call_1" };
  const call = { method: "tools/call", params: { name: "whoami", arguments: {}, _meta } };
  const answer = await w.post("/mcp", { jsonrpc: "2.0", id: 1, ...call }, {
    "x-mesh-pid": String(pid),
    "content-type": "application/json",
    "mcp-protocol-version": "2025-06-18",
    ...PANE,
  });
  const { result } = await answer.json();
  const { peer, proof } = result.structuredContent;
  return { peer_id: peer?.peer_id ?? null, proof };
}

Deno.test("with two sessions on one server, each call belongs to the thread that it names", async () => {
  await using w = fixture();
  await hook(w, API, "SessionStart", { cwd: "/w/api" });
  await hook(w, WEB, "SessionStart", { cwd: "/w/web" });
  const ids = new Map((await peers(w)).map(({ name, peer_id }) => [name, peer_id]));
  assert.notEqual(ids.get("api-codex"), ids.get("web-codex"));
  assert.deepEqual(await whoami(w, API), { peer_id: ids.get("api-codex"), proof: "session" });
  assert.deepEqual(await whoami(w, WEB), { peer_id: ids.get("web-codex"), proof: "session" });
});

Deno.test("a pane, a process or a thread alone proves nothing for Codex", async () => {
  await using w = fixture();
  await hook(w, API, "SessionStart", { pid: OWN_HOOK });
  const nobody = { peer_id: null, proof: "none" };
  assert.deepEqual(await whoami(w, undefined, OWN), nobody, "its own process, without a thread");
  assert.deepEqual(await whoami(w, WEB), nobody, "an unregistered thread");
  assert.deepEqual(await whoami(w, API, 999), nobody, "a thread, not sent by a Codex process");
  const [found] = await peers(w);
  assert.deepEqual(await whoami(w, API, OWN_HOOK), { peer_id: found?.peer_id, proof: "session" });
  assert.deepEqual(
    await whoami(w, API, PROXY),
    nobody,
    "its thread, sent by another Codex process",
  );
});

Deno.test("a call with a thread of no peer is that of the program that runs Codex as its own", async () => {
  const cases = [["acp", "process"], ["generic", "process"], ["claude-code", "none"]] as const;
  for (const [backend, proof] of cases) {
    await using w = fixture();
    const { peer_id } = await addPeer(w, "runner", { backend, agent_pid: OWN });
    const expected = { peer_id: proof === "none" ? null : peer_id, proof };
    assert.deepEqual(await whoami(w, WEB, OWN_HOOK), expected, backend);
  }
});

Deno.test("a command in a session's shell is its peer's, also under the shared server", async () => {
  await using w = fixture();
  await hook(w, API, "SessionStart", { cwd: "/w/api" });
  const [api] = await peers(w);
  const asks = async (query: Record<string, string>) =>
    await w.call(identifyCaller, { query: { pid: String(PROXY), ...query } });
  assert.deepEqual(await asks({ session: API }), {
    peer_id: api?.peer_id,
    name: api?.name,
    proof: "session",
  });
  const nobody = { peer_id: null, name: null, proof: "none" };
  assert.deepEqual(await asks({ session: WEB }), nobody);
  assert.deepEqual(await asks({ session: API, pid: "999" }), nobody, "outside of Codex");
});

Deno.test("a message in Codex's queue is accepted; its prompt hook proves it seen", async () => {
  await using w = fixture();
  await hook(w, API, "SessionStart", { cwd: "/w/api" });
  const id = await ask(w, "ada", "api-codex", "Which port?");
  await w.tick();
  assert((await stagesOf(w, id)).includes("accepted"), String(await stagesOf(w, id)));
  assert(!(await stagesOf(w, id)).includes("seen"));
  const prompt =
    `[mesh] <peer-message type="ask" id="${id}" from="@ada">Which port?</peer-message>`;
  await hook(w, API, "UserPromptSubmit", { prompt });
  assert((await stagesOf(w, id)).includes("seen"), String(await stagesOf(w, id)));
});
