/** opencode's plugin between a fake opencode and a fake daemon: each message once. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { FakeDaemon, FakeOpencode } from "../../../../../support/agents/fake_opencode.ts";

const A = "aaaaaaaaaaaa", B = "bbbbbbbbbbbb", C = "cccccccccccc";

Deno.test("a plugin connects as the agent of its process, folder and pane", async () => {
  await using daemon = new FakeDaemon().up();
  Deno.writeTextFileSync(join(daemon.state, "hook.token"), "of-hooks\n");
  using opencode = new FakeOpencode();
  await opencode.start(daemon);
  const greeting = await daemon.handshake();
  assert.equal(greeting["backend"], "opencode");
  assert.equal(greeting["path"], "/work/api");
  assert.equal(greeting["agent_pid"], Deno.pid);
  assert.equal(greeting["pane_id"], "%4");
  assert.equal(greeting["tmux_socket"], "/missing/tmux-1/own");
  assert.equal(greeting["auth_token"], "of-hooks");
  assert.equal(greeting["runtime_session_id"], undefined);
  assert.deepEqual(greeting["capabilities"], ["delivery_receipts", "framed_text", "interrupt"]);
  await daemon.turn("pending_first_turn");
});

Deno.test("the first message opens a session, shows it, and is reported accepted and seen", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon);
  await daemon.turn("pending_first_turn");
  daemon.send(A);
  const { id, text } = await opencode.prompts.find("a prompt", () => true);
  assert.match(text, /^\[mesh\] <peer-message type="ask" id="ask-a+">/);
  assert.deepEqual(opencode.selected, [{ sessionID: id }]);
  await daemon.received.find("the session", (frame) => frame["runtime_session_id"] === id);
  // After a reconnect the daemon sends earlier messages again, and gets only reports.
  daemon.send(A);
  await daemon.receipt(A, "accepted");
  await daemon.receipt(A, "seen");
  assert.equal(opencode.prompts.all.length, 1);
});

Deno.test("a message that is sent again is reported again, and delivered to the agent once", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  daemon.send(A);
  await daemon.receipt(A, "seen");
  const before = daemon.received.all.length;
  daemon.send(A);
  await daemon.receipt(A, "seen", before);
  daemon.send(B);
  await daemon.receipt(B, "seen");
  assert.deepEqual(opencode.prompts.all.map(({ id }) => id), ["ses_a", "ses_a"]);
});

Deno.test("a message that an earlier process delivered to the session is reported seen, not repeated", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  opencode.histories.set("ses_a", `[mesh] <peer-message type="ask" id="ask-${A}">x</peer-message>`);
  await opencode.start(daemon, ["opencode", "--session=ses_a"]);
  assert.equal((await daemon.handshake())["runtime_session_id"], "ses_a");
  daemon.send(A);
  await daemon.receipt(A, "seen");
  assert.deepEqual(opencode.prompts.all, []);
});

Deno.test("the continued session is the last one of its folder, and no subagent's", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-c"]);
  assert.equal((await daemon.handshake())["runtime_session_id"], "ses_last");
});

Deno.test("no message is delivered at a dialog, nor before the turn of a declined one has ended", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  opencode.busy("ses_a");
  await daemon.turn("working");
  opencode.event("permission.asked", { id: "per_1", sessionID: "ses_a" });
  await daemon.turn("awaiting_input");
  daemon.send(A);
  daemon.sendFrame({ type: "ping", ping_id: "1" });
  await daemon.received.find("the pong behind it", ({ type }) => type === "pong");
  assert.deepEqual(opencode.prompts.all, []);
  const declined = { requestID: "per_1", sessionID: "ses_a", reply: "reject" };
  opencode.event("permission.replied", declined);
  await daemon.turn("working", daemon.received.all.length);
  assert.deepEqual(opencode.prompts.all, []);
  opencode.idle("ses_a");
  await daemon.receipt(A, "seen");
});

Deno.test("waiting messages pass after an approved dialog, within the same turn", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  opencode.busy("ses_a");
  opencode.event("question.asked", { id: "que_1", sessionID: "ses_sub" });
  await daemon.turn("awaiting_input");
  daemon.send(A);
  opencode.event("question.replied", { requestID: "que_1", sessionID: "ses_sub" });
  await daemon.receipt(A, "accepted");
});

Deno.test("turns, models and chat are reported; those of a subagent are not", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  opencode.children.add("ses_sub");
  opencode.addPrompt("ses_sub", "a subagent's task");
  const message = opencode.addPrompt("ses_a", "the user's words");
  opencode.busy("ses_a");
  await daemon.turn("working");
  opencode.addAnswer("ses_a", message, "the answer");
  await daemon.received.find("the answer", ({ text }) => text === "the answer");
  const chat = daemon.received.all.filter(({ type }) => type === "chat_turn");
  assert.deepEqual(chat.map(({ role, text }) => [role, text]), [
    ["user", "the user's words"],
    ["assistant", "the answer"],
  ]);
  const { model } = await daemon.turn("idle", daemon.received.all.indexOf(chat[0] ?? {}));
  assert.equal(model, "fake/one");
});

Deno.test("the compaction of the served session is reported, and no other", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  opencode.event("session.compacted", { sessionID: "ses_other" });
  opencode.event("session.compacted", { sessionID: "ses_a" });
  await daemon.received.find("the compaction", ({ type }) => type === "compacted");
  assert.equal(daemon.received.all.filter(({ type }) => type === "compacted").length, 1);
});

Deno.test("the starts and ends of subagents at any depth are reported, and again to a new daemon", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  const created = (id: string, parentID: string, agent: string) =>
    opencode.event("session.created", { sessionID: id, info: { id, parentID, agent } });
  const reported = () =>
    daemon.received.all.filter(({ type }) => type === "subagent")
      .map(({ agent_id, agent_type, phase }) => [agent_id, agent_type, phase].join(" "));
  created("ses_other", "ses_elsewhere", "general");
  created("ses_1", "ses_a", "general");
  opencode.busy("ses_1");
  created("ses_2", "ses_1", "explore");
  opencode.idle("ses_2");
  opencode.event("session.status", { sessionID: "ses_2", status: { type: "idle" } });
  await daemon.received.find("the end", ({ phase }) => phase === "ended");
  assert.deepEqual(reported(), [
    "ses_1 general started",
    "ses_2 explore started",
    "ses_2 explore ended",
  ]);
  const before = daemon.received.all.length;
  daemon.lines.at(-1)?.close();
  await daemon.received.find("a report", ({ agent_id }) => agent_id === "ses_1", before);
  opencode.busy("ses_2");
  opencode.event("session.deleted", { info: { id: "ses_1" } });
  await daemon.received.find(
    "the end",
    ({ agent_id, phase }) => agent_id === "ses_1" && phase === "ended",
  );
  assert.deepEqual(reported().slice(3), [
    "ses_1 general started",
    "ses_2 explore started",
    "ses_1 general ended",
  ]);
});

Deno.test("another session in the same process becomes the active one", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  opencode.addPrompt("ses_b", "in a session of its own");
  await daemon.received.find("its greeting", (frame) => frame["runtime_session_id"] === "ses_b");
  await daemon.received.find(
    "its turn",
    ({ type }) => type === "status",
    daemon.received.all.length,
  );
  daemon.send(C);
  await daemon.receipt(C, "seen");
  assert.deepEqual(opencode.prompts.all.map(({ id }) => id), ["ses_b"]);
});

Deno.test("a killed daemon is found again at its new port, and no message is delivered twice", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  daemon.send(A);
  await daemon.receipt(A, "seen");
  await daemon.down();
  const before = daemon.received.all.length;
  daemon.up();
  await daemon.turn("idle", before);
  daemon.send(A);
  daemon.send(B);
  await daemon.receipt(B, "seen", before);
  await daemon.receipt(A, "seen", before);
  assert.equal(opencode.prompts.all.length, 2);
});

Deno.test("a message that waits at a dialog when the connection is lost is left to the daemon", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  opencode.event("permission.asked", { id: "per_1", sessionID: "ses_a" });
  await daemon.turn("awaiting_input");
  daemon.send(A);
  await daemon.down();
  const before = daemon.received.all.length;
  daemon.up();
  await daemon.turn("awaiting_input", before);
  opencode.event("permission.replied", { requestID: "per_1", reply: "once" });
  opencode.idle("ses_a");
  await daemon.turn("idle", before);
  assert.deepEqual(opencode.prompts.all, []); // It may have been withdrawn meanwhile.
});

Deno.test("a message that opencode refuses is rejected; one that it never answered stays unclear", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  opencode.answer = () => ({ error: {}, response: { status: 400 } });
  daemon.send(A);
  await daemon.receipt(A, "rejected");
  opencode.answer = () => {
    throw new Error("The line to opencode's own server broke");
  };
  daemon.send(B);
  await opencode.prompts.find("the second", ({ text }) => text.includes(B));
  opencode.answer = undefined;
  daemon.send(B);
  daemon.send(C);
  await daemon.receipt(C, "seen");
  assert.equal(opencode.prompts.all.filter(({ text }) => text.includes(B)).length, 1);
  opencode.addPrompt("ses_a", `[mesh] <peer-message type="ask" id="ask-${B}">do it</peer-message>`);
  await daemon.receipt(B, "seen");
});

Deno.test("a deleted session gets no message: a new session does", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  opencode.answer = () => {
    opencode.answer = undefined;
    return { error: {}, response: { status: 404 } };
  };
  daemon.send(A);
  const { id } = await opencode.prompts.find("a second try", (prompt) => prompt.id !== "ses_a");
  assert.match(id, /^ses_new/);
});

Deno.test("messages left unread by the user's interruption are named once, not repeated", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  opencode.busy("ses_a");
  daemon.send(A);
  await daemon.receipt(A, "seen");
  opencode.idle("ses_a"); // No answer followed the message.
  opencode.idle("ses_a");
  const { text } = await opencode.prompts.find(
    "its name",
    (prompt) => /Not read/.test(prompt.text),
  );
  assert.equal(text, `[mesh] Not read yet, further up: ask-${A}`);
  opencode.idle("ses_a"); // Nor the one that names it.
  daemon.send(B);
  await daemon.receipt(B, "seen");
  assert.equal(opencode.prompts.all.length, 3);
});

Deno.test("`opencode run` gets no message once its turn has ended", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "run", "a task"]);
  await daemon.turn("pending_first_turn");
  daemon.send(A);
  opencode.addPrompt("ses_a", "a task");
  await daemon.received.find("its session", (frame) => frame["runtime_session_id"] === "ses_a");
  assert.deepEqual(opencode.prompts.all, []);
  opencode.busy("ses_a");
  await daemon.receipt(A, "seen");
});

Deno.test("a plugin stays silent without a daemon, without a home, and with malformed files", async () => {
  await using daemon = new FakeDaemon();
  Deno.writeTextFileSync(join(daemon.state, "daemon.json"), "{ half");
  using opencode = new FakeOpencode();
  await opencode.start(daemon, []);
  opencode.event("session.created", {});
  opencode.event("session.idle", {});
  opencode.addPrompt("ses_a", "words");
  opencode.event("message.updated", JSON.parse('{ "info": null }'));
  opencode.saidBroken();
  assert.deepEqual(daemon.received.all, []);
});

Deno.test("the installed file exports only the plugin, and behaves like its sources", async () => {
  const installed = await import(
    "../../../../../../daemon/features/agents/opencode/plugin/generated/mesh.js"
  );
  assert.deepEqual(Object.keys(installed), ["MeshPlugin"]);
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode(installed.MeshPlugin);
  await opencode.start(daemon, ["opencode", "--session=ses_a"]);
  const { backend, runtime_session_id } = await daemon.handshake();
  assert.deepEqual([backend, runtime_session_id], ["opencode", "ses_a"]);
  await daemon.turn("idle");
  daemon.send(A);
  await daemon.receipt(A, "seen");
});
Deno.test("a plugin does not connect to the address of a daemon that has ended", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  await using daemon = new FakeDaemon().up();
  await using other = new FakeDaemon().up();
  const urlOf = ({ state }: FakeDaemon) =>
    JSON.parse(Deno.readTextFileSync(join(state, "daemon.json"))).url;
  const file = join(daemon.state, "daemon.json");
  const notice = Deno.readTextFileSync(file);
  const ended = { pid: Deno.pid, process_started: "1", url: urlOf(other) };
  Deno.writeTextFileSync(file, JSON.stringify(ended));
  using opencode = new FakeOpencode();
  await opencode.start(daemon);
  Deno.writeTextFileSync(file, notice);
  await daemon.received.find("its greeting", ({ type }) => type === "connect");
  assert.equal(other.lines.length, 0);
});

Deno.test("an answer that the user aborted in the terminal is reported as one interruption", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  const updated = (id: string, name?: string) =>
    opencode.event("message.updated", {
      sessionID: "ses_a",
      info: { id, role: "assistant", sessionID: "ses_a", ...(name && { error: { name } }) },
    });
  updated("msg_1");
  updated("msg_2", "MessageAbortedError");
  updated("msg_2", "MessageAbortedError");
  updated("msg_3", "MessageOutputLengthError");
  opencode.event("session.error", { sessionID: "ses_a", error: { name: "ApiError" } });
  await daemon.received.find("the last error", ({ error }) => error === "ApiError");
  const errors = daemon.received.all.flatMap(({ error }) => error ?? []);
  assert.deepEqual(errors, ["interrupted", "ApiError"]);
});

Deno.test("an error that ends a turn is reported by its class, and an interruption as `interrupted`", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  opencode.event("session.error", { sessionID: "ses_a", error: { name: "MessageAbortedError" } });
  opencode.event("session.error", { sessionID: "ses_sub", error: { name: "Other" } });
  opencode.event("session.error", { sessionID: "ses_a", error: { name: "ApiError" } });
  for (const statusCode of [402, 429]) {
    const error = { name: "APIError", data: { statusCode } };
    opencode.event("session.error", { sessionID: "ses_a", error });
  }
  opencode.event("session.error", { sessionID: "ses_a", error: { name: "It said: no" } });
  await daemon.received.find("the last error", ({ error }) => error === "unknown");
  const errors = daemon.received.all.flatMap(({ error }) => error ?? []);
  const expected = ["interrupted", "ApiError", "billing_error", "rate_limit", "unknown"];
  assert.deepEqual(errors, expected);
});

const ABORTED = { name: "MessageAbortedError" };

/** The user interrupts a turn of the session, in the order of opencode's events. */
function interrupt(opencode: FakeOpencode, sessionID: string): void {
  const info = { id: "msg_9", role: "assistant", sessionID, error: ABORTED };
  opencode.event("message.updated", { sessionID, info });
  opencode.event("session.status", { sessionID, status: { type: "idle" } });
  opencode.idle(sessionID);
}

/** The reports after this many frames: each end of a turn, each text, and each other state. */
function reports(daemon: FakeDaemon, from = 0): unknown[] {
  return daemon.received.all.slice(from).flatMap(({ error, text, turn_state, phase }) =>
    error ?? text ?? turn_state ?? phase ?? []
  );
}

Deno.test("an interruption is reported by the new connection while one is being opened", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon);
  await daemon.turn("pending_first_turn");
  daemon.isMute = true;
  const before = daemon.received.all.length;
  opencode.addPrompt("ses_a", "a task");
  await daemon.handshake(before); // The daemon now drops what comes on the older connection.
  opencode.busy("ses_a");
  interrupt(opencode, "ses_a");
  const after = daemon.received.all.length;
  daemon.accept();
  await daemon.received.find("the end", ({ error }) => error === "interrupted", after);
  await daemon.turn("idle", after);
  const expected = ["a task", "working", "interrupted", "idle"];
  assert.deepEqual(reports(daemon, before).slice(0, 4), expected);
});

Deno.test("an answer, an error and a subagent from a time without a daemon are reported in order", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  const message = opencode.addPrompt("ses_a", "a task");
  opencode.busy("ses_a");
  await daemon.turn("working");
  await daemon.down();
  const before = daemon.received.all.length;
  daemon.isMute = true;
  await daemon.up().handshake(before); // The plugin has noticed that its connection is lost.
  const child = { id: "ses_sub", parentID: "ses_a", agent: "explore" };
  opencode.event("session.created", { info: child });
  opencode.idle("ses_sub");
  opencode.addAnswer("ses_a", message, "the answer");
  opencode.event("session.error", { sessionID: "ses_a", error: { name: "ApiError" } });
  daemon.accept();
  await daemon.received.find("the error", ({ error }) => error === "ApiError", before);
  const expected = ["started", "ended", "the answer", "ApiError"];
  const states = new Set<unknown>(["working", "idle"]);
  assert.deepEqual(reports(daemon, before).filter((report) => !states.has(report)), expected);
});

Deno.test("a refused connection leaves its reports to the connection that is still open", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon);
  await daemon.turn("pending_first_turn");
  daemon.isMute = true;
  const before = daemon.received.all.length;
  opencode.addPrompt("ses_a", "a task");
  await daemon.handshake(before);
  interrupt(opencode, "ses_a");
  daemon.lines.at(-1)?.close(4004);
  await daemon.received.find("the end", ({ error }) => error === "interrupted", before);
  assert.equal(daemon.lines.length, 2);
});

Deno.test("the first hundred reports from a time without a daemon are kept", async () => {
  await using daemon = new FakeDaemon();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  for (let number = 1; number <= 101; number++) {
    opencode.event("session.error", { sessionID: "ses_a", error: { name: `E${number}` } });
  }
  daemon.up();
  await daemon.received.find("the last one kept", ({ error }) => error === "E99");
  await daemon.turn("idle", daemon.received.all.length - 1);
  assert(!daemon.received.all.some(({ error }) => error === "E101"));
});

Deno.test("the daemon's interrupt stops a running turn, but no dialog, and nothing else", async () => {
  await using daemon = new FakeDaemon().up();
  using opencode = new FakeOpencode();
  await opencode.start(daemon, ["opencode", "-s", "ses_a"]);
  await daemon.turn("idle");
  const interrupt = async (ping_id: string) => {
    daemon.sendFrame({ type: "interrupt" });
    daemon.sendFrame({ type: "ping", ping_id });
    await daemon.received.find("that it was read", (frame) => frame["ping_id"] === ping_id);
  };
  await interrupt("idle");
  opencode.busy("ses_a");
  opencode.event("permission.asked", { id: "per_1", sessionID: "ses_a" });
  await daemon.turn("awaiting_input");
  await interrupt("at a dialog");
  const before = daemon.received.all.length;
  opencode.event("permission.replied", { requestID: "per_1", sessionID: "ses_a", reply: "once" });
  await daemon.turn("working", before);
  assert.deepEqual(opencode.aborted.all, []);
  daemon.sendFrame({ type: "interrupt" });
  assert.equal(await opencode.aborted.find("the end", () => true), "ses_a");
  opencode.event("session.error", { sessionID: "ses_a", error: { name: "MessageAbortedError" } });
  await daemon.received.find("the report", ({ error }) => error === "interrupted");
});
