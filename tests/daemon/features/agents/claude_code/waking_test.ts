/** The hook that waits beside an idle session: when it waits, is released, and delivers. */

import assert from "node:assert/strict";
import type { Adapter } from "../../../../../daemon/features/agents/adapter.ts";
import { claudeCodeHooks } from "../../../../../daemon/features/agents/hooks/claude_format.ts";
import { waitForWake } from "../../../../../daemon/features/agents/claude_code/wake_hook.ts";
import {
  createHookTransport,
  WaitingHookList,
} from "../../../../../daemon/features/agents/claude_code/hook_transport.ts";
import { setPeer } from "protocol/peers/groups.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { FakeProcesses, type World, world } from "../../../../support/world.ts";
import { addPeer, ask, get, notify, post } from "../../../../support/daemon/peer_clients.ts";

const SESSION = { session_id: "s-1", cwd: "/work/api" };

/** A daemon with one session; the test decides whether the session has a socket. */
async function fixture(headers = {}) {
  const clock = new FakeClock(), waiters = new WaitingHookList(clock);
  const socket = { ready: false, written: 0 };
  const adapter: Adapter = {
    backend: "claude-code",
    transports: () => [{
      name: "native",
      check: () =>
        Promise.resolve(socket.ready ? { ready: true } : { ready: false, reason: "no_socket" }),
      deliver: () => Promise.resolve({ state: "sent" } as const).finally(() => socket.written++),
    }, createHookTransport(waiters)],
    transport: () => waiters.isWaiting("s-1") ? "hook" : "native",
    observe: () => Promise.resolve(undefined),
    waiters,
  };
  const processes = new FakeProcesses();
  processes.start(7);
  const hooks = { "claude-code": claudeCodeHooks };
  const w = world({ clock, adapters: [adapter], hooks, processes });
  await addPeer(w, "web");
  await hook(w, "SessionStart", { source: "startup" }, headers);
  return { w, socket };
}

function hook(w: World, hook_event_name: string, more = {}, headers = {}) {
  return post(w, "/hooks/claude-code", { ...SESSION, hook_event_name, ...more }, headers);
}

/** A waiting hook, and the instruction it got. */
async function startWaitingHook(w: World, session_id = "s-1", signal?: AbortSignal) {
  const path = "/hooks/claude-code/wait", body = JSON.stringify({ session_id });
  const response = w.fetch(path, { method: "POST", body, ...(signal && { signal }) });
  const line: { hookAnswer?: Record<string, string>; done: Promise<void> } = {
    done: Promise.resolve(),
  };
  line.done = response.then(async (answer) => void (line.hookAnswer = await answer.json()));
  await w.clock.settle();
  return line;
}

function typedLines(w: World, { delivery_id }: Record<string, string>) {
  return post(w, "/hooks/claude-code/wait", { session_id: "s-1", written: delivery_id });
}

async function stages(w: World, id: string): Promise<string[]> {
  const trace = await get(w, `/traces/${id}`);
  return trace.stages.map(({ stage, detail }: { stage: string; detail: string | null }) =>
    stage === "attempting" ? `${stage} ${detail}` : stage
  );
}

Deno.test("an idle session that nothing else reaches is woken by its hook", async () => {
  const { w } = await fixture();
  await using _ = w;
  const line = await startWaitingHook(w);
  assert.equal(line.hookAnswer, undefined);
  const { peers } = await get(w, "/peers");
  const api = peers.find(({ name }: { name: string }) => name === "api-claude-code");
  assert.deepEqual([api.transport, api.inbound_status], ["hook", "ok"]);
  const id = await ask(w, "web", "api-claude-code", "Which port?");
  await w.clock.settle();
  assert.equal(line.hookAnswer?.["then"], "write");
  assert.match(line.hookAnswer?.["text"] ?? "", new RegExp(`id="${id}".*Which port\\?`));
  assert.deepEqual((await stages(w, id)).slice(-1), ["attempting hook"]);
  await typedLines(w, line.hookAnswer ?? {});
  await w.clock.settle();
  assert.deepEqual((await stages(w, id)).slice(-2), ["attempting hook", "sent"]);
  // Another event of the session proves nothing: it may have started before.
  await hook(w, "Stop", { stop_hook_active: false });
  assert.equal((await stages(w, id)).at(-1), "sent");
  const prompt = `<task-notification>feedback: ${line.hookAnswer?.["text"]}</task-notification>`;
  await hook(w, "UserPromptSubmit", { prompt });
  assert.equal((await stages(w, id)).at(-1), "seen");
});

Deno.test("a message that was queued before the hook came wakes the session at once", async () => {
  const { w } = await fixture();
  await using _ = w;
  const id = await ask(w, "web", "api-claude-code");
  await w.clock.settle();
  assert.equal((await stages(w, id)).at(-1), "queued");
  const line = await startWaitingHook(w);
  assert.equal(line.hookAnswer?.["then"], "write");
  await typedLines(w, line.hookAnswer ?? {});
});

Deno.test("a message queued for a resumed session is not spent on its start", async () => {
  const { w } = await fixture();
  await using _ = w;
  await hook(w, "SessionEnd", { reason: "other" });
  const id = await ask(w, "web", "api-claude-code");
  const { hookSpecificOutput } = await hook(w, "SessionStart", { source: "resume" });
  assert.equal(
    hookSpecificOutput,
    undefined,
    "context of a start is read with the first prompt only",
  );
  assert.equal((await stages(w, id)).at(-1), "queued");
  const prompted = await hook(w, "UserPromptSubmit", { prompt: "Go on" });
  assert.match(prompted.hookSpecificOutput.additionalContext, new RegExp(`id="${id}"`));
});

Deno.test("if nobody confirms the write, the delivery is unclear, and the text is not sent again", async () => {
  const { w, socket } = await fixture();
  await using _ = w;
  await startWaitingHook(w);
  const id = await ask(w, "web", "api-claude-code");
  await w.clock.advance(2_000);
  assert((await stages(w, id)).includes("unclear"));
  socket.ready = true;
  const next = await startWaitingHook(w);
  await w.tick(3);
  assert.deepEqual([next.hookAnswer?.["then"], socket.written], ["end", 0]);
});

Deno.test("no hook waits for a session that has a pane or a socket", async () => {
  const paned = await fixture({ "x-mesh-pane": "%1", "x-mesh-tmux": "/missing/tmux,1,0" });
  await using _paned = paned.w;
  assert.equal((await startWaitingHook(paned.w)).hookAnswer?.["then"], "end");
  const { w, socket } = await fixture();
  await using _ = w;
  socket.ready = true;
  assert.equal((await startWaitingHook(w)).hookAnswer?.["then"], "end");
});

Deno.test("a waiting hook gets no message once its peer accepts no messages from hooks", async () => {
  const { w } = await fixture();
  await using _ = w;
  const line = await startWaitingHook(w);
  const set = (hook_messages: boolean) =>
    w.call(setPeer, { params: { id: "api-claude-code" }, query: {}, body: { hook_messages } });
  await set(false);
  const { delivery_id } = await notify(w, "web", "api-claude-code");
  await w.clock.settle();
  assert.equal(line.hookAnswer, undefined);
  const { state, reason } = await get(w, `/messages/${delivery_id}`);
  assert.deepEqual([state, reason], ["queued", "native: no_socket; hook: hook_messages_off"]);
  await w.tick(10);
  assert.deepEqual(line.hookAnswer, { then: "end" });
  assert.deepEqual((await startWaitingHook(w)).hookAnswer, { then: "end" });
  await set(true);
  const next = await startWaitingHook(w);
  assert.equal(next.hookAnswer?.["then"], "write");
  await typedLines(w, next.hookAnswer ?? {});
});

Deno.test("a hook waits for a session in a kitty window that nobody can type into", async () => {
  const kitty = { "x-mesh-pane": "3", "x-mesh-kitty": "kitty:/missing/none/kitty" };
  const { w } = await fixture(kitty);
  await using _ = w;
  const { peers } = await get(w, "/peers");
  assert.ok(peers.some(({ pane_id }: { pane_id: string | null }) => pane_id === "3"));
  assert.equal((await startWaitingHook(w)).hookAnswer, undefined);
});

Deno.test("a hook is released at the next observation once its session has a socket", async () => {
  const { w, socket } = await fixture();
  await using _ = w;
  const line = await startWaitingHook(w);
  await w.tick(2);
  assert.equal(line.hookAnswer, undefined);
  socket.ready = true;
  await w.tick(2);
  assert.equal(line.hookAnswer?.["then"], "end");
});

Deno.test("a hook is released when its session has ended", async () => {
  const { w } = await fixture();
  await using _ = w;
  const line = await startWaitingHook(w);
  await hook(w, "SessionEnd", { reason: "other" });
  await w.tick(2);
  assert.equal(line.hookAnswer?.["then"], "end");
});

Deno.test("a session has one waiting hook, the newest", async () => {
  const { w } = await fixture();
  await using _ = w;
  const first = await startWaitingHook(w), second = await startWaitingHook(w);
  assert.deepEqual([first.hookAnswer?.["then"], second.hookAnswer], ["end", undefined]);
  await ask(w, "web", "api-claude-code");
  await w.clock.settle();
  assert.equal(second.hookAnswer?.["then"], "write");
  await typedLines(w, second.hookAnswer ?? {});
});

Deno.test("a hook that hung up gets no message: the message waits for the next", async () => {
  const { w } = await fixture();
  await using _ = w;
  const gone = new AbortController();
  const line = await startWaitingHook(w, "s-1", gone.signal);
  gone.abort();
  await line.done.catch(() => undefined);
  await w.clock.settle();
  const id = await ask(w, "web", "api-claude-code");
  await w.clock.settle();
  assert.equal((await stages(w, id)).at(-1), "queued");
  const next = await startWaitingHook(w);
  assert.equal(next.hookAnswer?.["then"], "write");
  await typedLines(w, next.hookAnswer ?? {});
});

Deno.test("a hook that waits long, or while the daemon shuts down, is instructed to ask again", async () => {
  const { w } = await fixture();
  const line = await startWaitingHook(w);
  await w.clock.advance(5 * 60_000);
  assert.deepEqual(line.hookAnswer, { then: "again" });
  const last = await startWaitingHook(w);
  await w[Symbol.asyncDispose]();
  await last.done;
  assert.deepEqual(last.hookAnswer, { then: "again" });
});

Deno.test("a waiting hook waits a moment for its session to register", async () => {
  const { w } = await fixture();
  await using _ = w;
  const line = await startWaitingHook(w, "s-2");
  await hook(w, "SessionStart", { source: "startup", session_id: "s-2", cwd: "/work/db" });
  await w.clock.advance(2_000);
  assert.equal(line.hookAnswer, undefined);
  const stranger = await startWaitingHook(w, "s-3");
  await w.clock.advance(2_000);
  assert.deepEqual(stranger.hookAnswer, { then: "end" });
});

Deno.test("a hook that waits for the session of another process gets no messages", async () => {
  const { w } = await fixture({ "x-mesh-agent-pid": "7" });
  await using _ = w;
  const stranger = await startWaitingHook(w);
  await notify(w, "web", "api-claude-code", "For the session only");
  await w.clock.advance(2_000);
  assert.deepEqual(stranger.hookAnswer, { then: "end" });
});

Deno.test("an agent without waking hooks cannot wait", async () => {
  const { w } = await fixture();
  await using _ = w;
  const { status, error } = await post(w, "/hooks/gemini/wait", { session_id: "s-1" });
  assert.deepEqual([status, error], [404, "unknown_agent"]);
});

// The hook's own side.

/** The answers, in order; undefined stands for a daemon that is not running. */
function hookAnswering(...answers: (Record<string, string> | undefined)[]) {
  const asked: Record<string, unknown>[] = [], typedLines: string[] = [];
  const clock = new FakeClock();
  const code = waitForWake("s-1", {
    clock,
    write: (text) => typedLines.push(text),
    post: (body) => {
      asked.push(body);
      const answer = answers.shift();
      return Promise.resolve(answer && JSON.stringify(answer));
    },
  });
  return { asked, typedLines, clock, code };
}

Deno.test("a hook that gets a text writes it, confirms it, and exits with the waking code", async () => {
  const called = { then: "write", delivery_id: "qd-1", text: "[mesh] hello" };
  const { code, asked, typedLines, clock } = hookAnswering({ then: "again" }, called, {
    then: "end",
  });
  await clock.advance(1_000);
  assert.equal(await code, 2);
  assert.deepEqual(typedLines, ["[mesh] hello\n"]);
  assert.deepEqual(asked.at(-1), { session_id: "s-1", written: "qd-1" });
});

Deno.test("a hook exits quietly when it is released, and when there is no daemon", async () => {
  for (const answer of [{ then: "end" }, undefined]) {
    const { code, typedLines } = hookAnswering(answer);
    assert.deepEqual([await code, typedLines], [0, []]);
  }
});

Deno.test("a hook waits up to a minute for a daemon that restarts", async () => {
  const resumedHook = hookAnswering({ then: "again" }, undefined, undefined, { then: "end" });
  await resumedHook.clock.advance(3_000);
  assert.deepEqual([await resumedHook.code, resumedHook.asked.length], [0, 4]);
  const unansweredHook = hookAnswering({ then: "again" });
  await unansweredHook.clock.advance(62_000);
  assert.equal(await unansweredHook.code, 0);
});
