/** Waits of peers: the rule on evidence, and the reports of hooks, clients and screens. */

import assert from "node:assert/strict";
import type { ReportedWait, WaitKind } from "protocol/peers/record.ts";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import {
  addReport,
  type KnownWait,
  waitAfter,
  waitOf,
} from "../../../../daemon/features/peers/waits.ts";
import { addPeer, ask, connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { FakeAgents, SOCKET } from "../../../support/host/fake_panes.ts";
import { type World, world } from "../../../support/world.ts";

const NOW = 10_000;

function known(kind: WaitKind, more: Partial<KnownWait> = {}): KnownWait {
  return { kind, source: "hook", at: 1, ...more };
}

interface Case {
  readonly turn_state?: "idle" | "working" | "awaiting_input";
  readonly status?: "online" | "offline";
  readonly known?: KnownWait;
  readonly asks?: "permission" | "question";
  readonly isBlocked?: boolean;
}

// deno-fmt-ignore
const CASES: readonly [what: string, evidence: Case, kind: WaitKind | null, source?: string][] = [
  ["nothing is known",                   {},                                                              null],
  ["a dialog of unknown kind",           { turn_state: "awaiting_input" },                                "dialog", "registry"],
  ["a dialog that a hook names",         { turn_state: "awaiting_input", known: known("permission") },    "permission", "hook"],
  ["a report of a dialog that is over",  { turn_state: "idle", known: known("permission") },              null],
  ["the screen of a queued message",     { turn_state: "idle", known: known("trust"), isBlocked: true },  "trust", "hook"],
  ["a limit after its turn",             { turn_state: "idle", known: known("limit") },                   "limit", "hook"],
  ["a limit in a turn that is retried",  { turn_state: "working", known: known("limit") },                "limit", "hook"],
  ["a limit that has been reset",        { turn_state: "idle", known: known("limit", { resets_at: NOW }) }, null],
  ["a dialog after a limit was reset",   { turn_state: "awaiting_input", known: known("limit", { resets_at: NOW }) }, "dialog"],
  ["a login after its turn",             { turn_state: "idle", known: known("login") },                   "login"],
  ["a login dialog that is over",        { turn_state: "idle", known: known("login", { source: "screen" }) }, null],
  ["a question in the inbox",            { turn_state: "working", asks: "question" },                     "question", "inbox"],
  ["a permission in both places",        { turn_state: "awaiting_input", known: known("permission", { detail: "Bash" }), asks: "permission" }, "permission", "inbox"],
  ["an offline peer",                    { status: "offline", turn_state: "awaiting_input", known: known("limit") }, null],
];

Deno.test("the latest evidence that still holds decides what a peer waits for", () => {
  for (const [what, evidence, kind, source] of CASES) {
    const { turn_state = null, status = "online", isBlocked = false, asks } = evidence;
    const wait = waitOf({
      now: NOW,
      peer: { status, turn_state, turn_at: 5, turn_by: "registry" },
      known: evidence.known,
      question: asks && { kind: asks, at: 2 },
      isBlocked,
    });
    assert.equal(wait?.kind ?? null, kind, what);
    if (source !== undefined) assert.equal(wait?.source, source, what);
    if (what.startsWith("a permission in both")) assert.equal(wait?.detail, "Bash");
  }
});

Deno.test("a report that tells less replaces no more exact one, and keeps the begin of the wait", () => {
  const first = known("permission", { detail: "Bash" });
  const later = (kind: WaitKind, more: Partial<KnownWait> = {}) =>
    addReport(first, known(kind, { at: 9, source: "registry", ...more }));
  assert.equal(later("permission"), first);
  assert.equal(later("dialog"), first);
  assert.equal(later("question"), first);
  assert.deepEqual(later("permission", { detail: "Write" }).at, 9);
  assert.equal(later("limit").kind, "limit");
  const limit = known("limit");
  assert.deepEqual(addReport(limit, { ...limit, resets_at: 50 }), { ...limit, resets_at: 50 });
});

Deno.test("an error at a limit or a login starts a wait, and a temporary error does not", () => {
  // deno-fmt-ignore
  const classes: Record<string, WaitKind | undefined> = {
    rate_limit: "limit", usage_limit_exceeded: "limit", usage_limit_reached: "limit",
    billing_error: "limit", insufficient_quota: "limit", quota_exceeded: "limit",
    authentication_failed: "login", oauth_org_not_allowed: "login", unauthorized: "login",
    verification_required: "login", cloud_credential_error: "login",
    overloaded: undefined, server_error: undefined, interrupted: undefined, unknown: undefined,
  };
  for (const [error, kind] of Object.entries(classes)) {
    assert.equal(waitAfter(error)?.kind, kind, error);
  }
});

const SESSION = { session_id: "s-1", cwd: "/work/api" };

/** A world with an agent whose hooks report; `wait` reads what it waits for. */
async function agentWorld() {
  const agents = new FakeAgents();
  const w = world({ hooks: { "claude-code": claudeCodeHooks }, adapters: [agents] });
  const hook = async (hook_event_name: string, more: Record<string, unknown> = {}) => {
    await post(w, "/hooks/claude-code", { ...SESSION, hook_event_name, ...more });
    await w.tick(0); // The answer leaves before the commit and its effects.
  };
  await hook("SessionStart", { source: "startup" });
  const { peers: [{ peer_id, name }] } = await get(w, "/peers");
  const wait = async () => (await get(w, `/peers/${peer_id}`)).waits_for;
  return { w, agents, hook, wait, peer_id, name, [Symbol.asyncDispose]: () => end(w) };
}

async function end(w: World): Promise<void> {
  await w[Symbol.asyncDispose]();
}

/** The kinds in the live events of a peer's turn. */
function turnsOf(w: World, peer_id: string): (string | null)[] {
  const kinds: (string | null)[] = [];
  w.daemon.ctx.events.subscribe({
    turn: (change) => void (change.peer_id === peer_id && kinds.push(change.waits_for)),
  });
  return kinds;
}

Deno.test("a permission dialog is named with its tool at once, and is over with the next turn state", async () => {
  await using at = await agentWorld();
  const { w, hook, wait, peer_id } = at;
  const published = turnsOf(w, peer_id);
  assert.equal(await wait(), null);
  await hook("UserPromptSubmit", { prompt: "Go" });
  await hook("PermissionRequest", { tool_name: "Bash", tool_input: { command: "ls" } });
  const { since, ...found } = await wait();
  assert.deepEqual(found, { kind: "permission", source: "hook", detail: "Bash", resets_at: null });
  await w.tick(5);
  await hook("Notification", { notification_type: "permission_prompt" });
  assert.deepEqual(await wait(), { since, ...found });
  const { peers: [listed] } = await get(w, "/peers");
  assert.equal(listed.waits_for.kind, "permission");
  await hook("Stop", { stop_hook_active: false, last_assistant_message: "Done" });
  assert.equal(await wait(), null);
  assert.deepEqual(published, [null, "permission", null]);
});

Deno.test("a tool that asks the user is a question", async () => {
  await using at = await agentWorld();
  await at.hook("PermissionRequest", { tool_name: "AskUserQuestion", tool_input: {} });
  await at.hook("Notification", { notification_type: "permission_prompt" });
  assert.equal((await at.wait()).kind, "question");
});

Deno.test("a limit that ended a turn holds until the next turn, through other reports", async () => {
  await using at = await agentWorld();
  const { w, hook, wait, peer_id } = at;
  const published = turnsOf(w, peer_id);
  await hook("UserPromptSubmit", { prompt: "Go" });
  await hook("StopFailure", { error: "rate_limit" });
  assert.deepEqual([(await wait()).kind, (await wait()).resets_at], ["limit", null]);
  await hook("Notification", { notification_type: "idle_prompt" });
  assert.equal((await wait()).kind, "limit");
  await hook("UserPromptSubmit", { prompt: "Again" });
  assert.equal(await wait(), null);
  await hook("StopFailure", { error: "authentication_failed" });
  assert.equal((await wait()).kind, "login");
  assert.deepEqual(published, [null, "limit", null, "login"]);
});

Deno.test("the agent's own records add the time of the reset, at which the limit is over", async () => {
  await using at = await agentWorld();
  const { w, agents, hook, wait, peer_id } = at;
  await hook("UserPromptSubmit", { prompt: "Go" });
  await w.tick();
  const resets_at = w.clock.now() + 60_000;
  const end_at_limit = {
    how: "failed" as const,
    at: w.clock.now(),
    source: "session file",
    text: "usage_limit_reached",
    resets_at,
    prompts_since: [],
  };
  await hook("StopFailure", { error: "rate_limit" });
  agents.observation = {
    alive: true,
    turn_state: "idle",
    source: "session registry",
    end_at_limit,
  };
  await w.tick(2);
  assert.equal((await wait()).resets_at, new Date(resets_at).toISOString());
  const published = turnsOf(w, peer_id);
  await w.tick(61);
  assert.equal(await wait(), null);
  assert.deepEqual(published, [null]);
});

Deno.test("an end at a limit before the last turn is no evidence", async () => {
  await using at = await agentWorld();
  const { w, agents, hook, wait } = at;
  const past = { how: "failed" as const, at: w.clock.now(), source: "session file" };
  await w.tick(10);
  await hook("UserPromptSubmit", { prompt: "Go" });
  await hook("Stop", { stop_hook_active: false, last_assistant_message: "Done" });
  const end_at_limit = { ...past, text: "usage_limit_reached", prompts_since: [] };
  agents.observation = { alive: true, turn_state: "idle", source: "x", end_at_limit };
  await w.tick(4);
  assert.equal(await wait(), null);
});

Deno.test("an observed dialog is named by its source, and ends with the observation", async () => {
  await using at = await agentWorld();
  const { w, agents, wait } = at;
  const source = "session registry";
  const waits_for: ReportedWait = { kind: "permission" };
  agents.observation = { alive: true, turn_state: "awaiting_input", waits_for, source };
  await w.tick(2);
  assert.deepEqual([(await wait()).kind, (await wait()).source], ["permission", source]);
  agents.observation = { alive: true, turn_state: "idle", source };
  await w.tick(2);
  assert.equal(await wait(), null);
});

Deno.test("a message that waits for a dialog on the screen names it, until the message is sent", async () => {
  await using at = await agentWorld();
  const { w, agents, wait, peer_id, name } = at;
  await post(w, "/peers", {
    peer_id,
    path: "/work/api",
    backend: "claude-code",
    pane_id: "%1",
    tmux_socket: SOCKET,
  });
  agents.refusalReason = "dialog_open";
  assert.equal(await wait(), null, "nobody looks at the pane of an agent without messages");
  const published = turnsOf(w, peer_id);
  await addPeer(w, "web");
  await ask(w, "web", name);
  await w.tick(2);
  assert.deepEqual([(await wait())?.kind, (await wait())?.source], ["dialog", "screen"]);
  agents.refusalReason = undefined;
  await w.tick();
  assert.equal(await wait(), null);
  await w.tick();
  assert.deepEqual(published, ["dialog", null]);
});

Deno.test("a client reports what its agent waits for with its status", async () => {
  await using w = world();
  const api = await connectPeer(w, "api");
  const resets_at = new Date(w.clock.now() + 60_000).toISOString();
  const status = { type: "status", status: "busy", turn_state: "working" } as const;
  await api.send({ ...status, waits_for: { kind: "limit", resets_at } });
  const { waits_for } = await get(w, "/peers/api");
  assert.deepEqual(
    [waits_for.kind, waits_for.resets_at, waits_for.source],
    ["limit", resets_at, "websocket"],
  );
  await api.send(status);
  assert.equal((await get(w, "/peers/api")).waits_for, null);
  await post(w, "/peers/api/turn", { turn_state: "idle", error: "billing_error" });
  assert.equal((await get(w, "/peers/api")).waits_for.detail, "billing");
});

Deno.test("a peer whose question a person has to answer waits in the inbox until it is answered", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const { peer_id } = await addPeer(w, "api");
  const published = turnsOf(w, peer_id);
  const asking = post(w, "/questions/ask-blocking", {
    prompt: "Deploy?",
    options: [{ id: "yes", title: "Yes" }],
    scope: "deploy",
    from_peer: "api",
  });
  await w.clock.settle();
  const { waits_for } = await get(w, "/peers/api");
  assert.deepEqual([waits_for.kind, waits_for.source], ["question", "inbox"]);
  const { items: [{ item_id }] } = await get(w, "/inbox");
  await post(w, `/inbox/${item_id}/reply`, { surface: "cli", text: "", option_id: "yes" });
  await asking;
  await w.tick();
  assert.equal((await get(w, "/peers/api")).waits_for, null);
  assert.deepEqual(published, ["question", null]);
});

Deno.test("an agent that goes offline waits for nothing, also once it is back", async () => {
  await using at = await agentWorld();
  const { w, hook, wait, peer_id } = at;
  await hook("StopFailure", { error: "rate_limit" });
  await post(w, `/peers/${peer_id}/offline`, {});
  assert.equal(await wait(), null);
  await hook("SessionStart", { source: "resume" });
  assert.equal(await wait(), null);
});
