/** Codex's adapter without Codex: observation, calls, rollouts and interruption. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { startTimeOf } from "../../../../../daemon/host/processes.ts";
import { adapterOf } from "../../../../support/agents/codex_adapter.ts";
import {
  type Answers,
  AT_DIALOG,
  CodexHome,
  IDLE,
  NOT_LOADED,
  OTHER_THREAD,
  SHARED,
  THREAD,
  thread,
  WORKING,
} from "../../../../support/agents/codex_server.ts";

// deno-fmt-ignore
const OBSERVATIONS: [what: string, answers: Answers, alive: boolean, turn_state: string | null][] = [
  ["idle",       { "thread/read": IDLE },       true,  "idle"],
  ["working",    { "thread/read": WORKING },    true,  "working"],
  ["at dialog",  { "thread/read": AT_DIALOG },  true,  "awaiting_input"],
  ["not loaded", { "thread/read": NOT_LOADED }, false, null],
];

for (const [what, answers, alive, turn_state] of OBSERVATIONS) {
  Deno.test(`a session of the shared server is observed as its thread is: ${what}`, async () => {
    await using home = new CodexHome().listen(answers);
    const observation = await adapterOf(home).observe(SHARED);
    const waits = turn_state === "awaiting_input" && { waits_for: { kind: "permission" } };
    assert.deepEqual(observation, { alive, turn_state, ...waits, source: "app server" });
  });
}

Deno.test("a session without a server has ended, and an unreadable one is not observed", async () => {
  await using none = new CodexHome();
  assert.equal((await adapterOf(none).observe(SHARED))?.alive, false);
  await using odd = new CodexHome().listen({ "thread/read": thread({ type: "dreaming" }) });
  assert.equal(await adapterOf(odd).observe(SHARED), undefined);
});

Deno.test("a session with its own process lives as long as the process", async () => {
  await using home = new CodexHome();
  const own = { ...SHARED, agent_pid: Deno.pid, agent_started: startTimeOf(Deno.pid) ?? null };
  const adapter = adapterOf(home);
  assert.equal((await adapter.observe(own))?.alive, true);
  assert.equal((await adapter.observe({ ...own, agent_started: "1" }))?.alive, false);
  assert.equal(adapter.transport(SHARED), "native");
  assert.equal(adapter.transport({ ...own, pane_id: "%1" }), "pane");
  assert.equal(adapter.transport(own), "none");
});

for (const version of ["0.159.0", "0.169.0", "0.171.0", "0.172.0-alpha.1", "2.0.0"]) {
  Deno.test(`${version} starts a queue that is held after an interruption, if our message is first`, async () => {
    await heldQueue(version);
  });
}

async function heldQueue(version: string): Promise<void> {
  const ownIds = ["qd-3f9c04d1a2b7", "notif-3f9c04d1a2b7"];
  for (const first of [...ownIds, "their-own", null]) {
    const starts = ownIds.includes(first ?? "");
    const data = [{ id: "q-1", clientUserMessageId: first, input: [] }];
    await using home = new CodexHome().listen({
      "thread/read": IDLE,
      "thread/queue/list": () => ({ data, nextCursor: null }),
      "thread/queue/start": () => ({ turn: {} }),
    }, version);
    await adapterOf(home).observe(SHARED);
    const started = home.asked.filter(({ method }) => method === "thread/queue/start");
    const params = { threadId: THREAD, queuedSubmissionId: "q-1" };
    assert.deepEqual(started, starts ? [{ method: "thread/queue/start", params }] : []);
  }
}

Deno.test("a call belongs to the thread that it names, if a Codex process sends it", async () => {
  await using home = new CodexHome();
  const hostOf = (pid: number) => pid === 41 ? { pid: 40, kind: "server" as const } : undefined;
  const { sessionOfCall } = adapterOf(home, { hostOf });
  assert(sessionOfCall);
  const meta = { threadId: THREAD, sessionId: THREAD, progressToken: 1 };
  assert.equal(sessionOfCall({ pid: 41, meta }), THREAD);
  assert.equal(
    sessionOfCall({ pid: 41, meta: { ...meta, threadId: OTHER_THREAD } }),
    OTHER_THREAD,
  );
  for (const signs of [{ pid: 42, meta }, { pid: undefined, meta }, { pid: 41, meta: {} }]) {
    assert.equal(sessionOfCall(signs), undefined);
  }
  assert.equal(sessionOfCall({ pid: 41, meta: undefined }), undefined);
});

/** Writes a rollout as Codex does; `payload` changes its first line. */
function rollout(home: CodexHome, id: string, payload: Record<string, unknown>, day = "21"): void {
  const dir = join(home.dir, "sessions", "2026", "11", day);
  Deno.mkdirSync(dir, { recursive: true });
  const instructions = { text: "word ".repeat(5_000) };
  const first = {
    type: "session_meta",
    payload: { id, base_instructions: instructions, ...payload },
  };
  const text = `${JSON.stringify(first)}\n${JSON.stringify({ type: "event_msg" })}\n`;
  Deno.writeTextFileSync(join(dir, `rollout-2026-11-${day}T10-13-38-${id}.jsonl`), text);
}

async function resume(home: CodexHome, runtime_session_id: string, path: string) {
  return await adapterOf(home).resume?.({ runtime_session_id, path });
}

Deno.test("a session is resumed and copied if its rollout names this session and this folder", async () => {
  await using home = new CodexHome();
  rollout(home, THREAD, { cwd: "/w/api" });
  rollout(home, OTHER_THREAD, { cwd: "/w/api" }, "20");
  const ok = (id: string) => ({ ok: true, args: ["resume", id] });
  assert.deepEqual(await resume(home, THREAD, "/w/api"), ok(THREAD));
  assert.deepEqual(await resume(home, OTHER_THREAD, "/w/api"), ok(OTHER_THREAD));
  assert.deepEqual(await resume(home, THREAD, "/w/web"), { ok: false, reason: "other_path" });
  const copied = adapterOf(home).fork?.({ runtime_session_id: THREAD, path: "/w/api" });
  assert.deepEqual(copied, { ok: true, args: ["fork", THREAD] });
});

Deno.test("a session is not resumed if its rollout is missing, or has another id than its name", async () => {
  await using home = new CodexHome();
  const no = (reason: string) => ({ ok: false, reason });
  assert.deepEqual(await resume(home, THREAD, "/w"), no("no_rollout"));
  assert.deepEqual(await resume(home, "../../etc/passwd", "/w"), no("not_a_thread"));
  assert.deepEqual(await resume(home, "--last", "/w"), no("not_a_thread"));
  rollout(home, THREAD, { cwd: "/w", id: OTHER_THREAD });
  assert.deepEqual(await resume(home, THREAD, "/w"), no("rollout_of_another"));
  rollout(home, THREAD, { cwd: 7 });
  assert.deepEqual(await resume(home, THREAD, "/w"), no("rollout_damaged"));
});

Deno.test("interrupting a session interrupts its running turns, and no other", async () => {
  const turns = [{ id: "t-1", status: "completed" }, { id: "t-2", status: "inProgress" }];
  await using home = new CodexHome().listen({
    "thread/read": thread({ type: "active", activeFlags: [] }, { turns }),
    "turn/interrupt": () => ({}),
  });
  await adapterOf(home).interruptTurn?.(SHARED);
  assert.deepEqual(home.asked, [
    { method: "thread/read", params: { threadId: THREAD, includeTurns: true } },
    { method: "turn/interrupt", params: { threadId: THREAD, turnId: "t-2" } },
  ]);
  home.asked.length = 0;
  await adapterOf(home).interruptTurn?.({ ...SHARED, runtime_session_id: null });
  assert.deepEqual(home.asked, [], "without a session no call is made");
});

Deno.test("an interrupt names the running turn to the shared server, and only without a dialog", async () => {
  const turns = [{ id: "t-1", status: "completed" }, { id: "t-2", status: "inProgress" }];
  const answers = { "thread/read": thread({ type: "active", activeFlags: [] }, { turns }) };
  await using home = new CodexHome().listen({ ...answers, "turn/interrupt": () => ({}) });
  const done = await adapterOf(home).interrupt?.(SHARED);
  assert.deepEqual(done, { state: "asked", by: "Codex's server" });
  const asked = home.asked.filter(({ method }) => method === "turn/interrupt");
  assert.deepEqual(asked.map(({ params }) => params), [{ threadId: THREAD, turnId: "t-2" }]);
  await using late = new CodexHome().listen({
    ...answers,
    "turn/interrupt": () => new Error("no active turn to interrupt"),
  });
  assert.deepEqual(await adapterOf(late).interrupt?.(SHARED), { state: "idle" });
  await using idle = new CodexHome().listen({ "thread/read": IDLE });
  assert.deepEqual(await adapterOf(idle).interrupt?.(SHARED), { state: "idle" });
  await using dialog = new CodexHome().listen({ "thread/read": AT_DIALOG });
  const held = await adapterOf(dialog).interrupt?.(SHARED);
  assert.deepEqual(held, { state: "refused", reason: "at_dialog" });
  await using none = new CodexHome();
  const refused = await adapterOf(none).interrupt?.(SHARED);
  assert.deepEqual(refused, { state: "refused", reason: "no_server" });
});
