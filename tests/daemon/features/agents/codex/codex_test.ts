/** Codex's adapter without Codex: its server's socket, its queue, its screens and its rollouts. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { socketPath } from "../../../../../daemon/features/agents/codex/app_server.ts";
import {
  codexAdapter,
  type CodexOptions,
} from "../../../../../daemon/features/agents/codex/codex.ts";
import { isTested } from "../../../../../daemon/features/agents/codex/version.ts";
import type { AgentPeer, OutgoingMessage } from "../../../../../daemon/features/agents/adapter.ts";
import { startTimeOf } from "../../../../../daemon/host/processes.ts";
import { TmuxServers } from "../../../../../daemon/host/tmux/tmux.ts";
import { FakeClock } from "../../../../support/clock.ts";
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
import { silent, until } from "../../../../support/host/private_tmux.ts";

const OUTGOING: OutgoingMessage = {
  delivery_id: "qd-3f9c04d1a2b7",
  proof_id: "ask-3f9c04d1a2b7",
  kind: "ask",
  human: false,
  framed: '[mesh] <peer-message id="ask-3f9c04d1a2b7">Tabs\tand\n\nlines, ümläute ⏎</peer-message>',
};

function adapterOf({ dir }: CodexHome, more: Partial<CodexOptions> = {}) {
  const ctx = { clock: systemClock, log: silent };
  const tmuxServers = new TmuxServers({ ...ctx, ids: randomIds, state_dir: dir, search_path: "" });
  return codexAdapter({ ...ctx, tmuxServers, codex_home: dir, env: {}, ...more });
}

/** The rungs in their order: the server's socket, the command, the pane. */
function transportsOf(home: CodexHome, peer = SHARED, more: Partial<CodexOptions> = {}) {
  const [socket, command, pane, ...rest] = adapterOf(home, more).transports(peer, OUTGOING);
  assert(socket && command && pane && rest.length === 0);
  return { socket, command, pane };
}

// The socket.

for (const [what, state] of Object.entries({ "an idle": IDLE, "a working": WORKING })) {
  Deno.test(`${what} session's server queues the whole text, and its answer accepts it`, async () => {
    const add = () => ({ queuedSubmission: { id: "q-1" } });
    await using home = new CodexHome().listen({ "thread/read": state, "thread/queue/add": add });
    const { socket } = transportsOf(home);
    assert.deepEqual(await socket.check(SHARED, OUTGOING), { ready: true });
    assert(!home.asked.some(({ method }) => method === "thread/queue/add"), "a look only");
    assert.deepEqual(await socket.deliver(SHARED, OUTGOING), { state: "accepted" });
    assert.deepEqual(home.asked.at(-1), {
      method: "thread/queue/add",
      params: {
        threadId: THREAD,
        clientUserMessageId: OUTGOING.delivery_id,
        input: [{ type: "text", text: OUTGOING.framed }],
      },
    });
  });
}

// deno-fmt-ignore
const UNREADY: [what: string, answers: Answers, peer: Partial<AgentPeer>, reason: string][] = [
  ["an open dialog",            { "thread/read": AT_DIALOG },                          {}, "dialog_open"],
  ["a question to the human",   { "thread/read": thread({ type: "active", activeFlags: ["waitingOnUserInput"] }) }, {}, "dialog_open"],
  ["a flag of a later version", { "thread/read": thread({ type: "active", activeFlags: ["someDialog"] }) },         {}, "dialog_open"],
  ["a session that nobody runs", { "thread/read": NOT_LOADED },                        {}, "not_loaded"],
  ["a thread it has never had", { "thread/read": () => new Error("thread not loaded: x") }, {}, "not_loaded"],
  ["a thread in an error",      { "thread/read": thread({ type: "systemError" }) },    {}, "broken"],
  ["a status that is unknown",  { "thread/read": thread({ type: "dreaming" }) },       {}, "thread_unknown"],
  ["a thread closed to input",  { "thread/read": thread({ type: "idle" }, { canAcceptDirectInput: false }) }, {}, "thread_unknown"],
  ["an answer about another",   { "thread/read": () => thread({ type: "idle" })({ threadId: OTHER_THREAD }) }, {}, "thread_unknown"],
  ["a refusal of the look",     { "thread/read": () => new Error("internal") },        {}, "thread_unknown"],
  ["a peer without a session",  { "thread/read": IDLE }, { runtime_session_id: null },     "no_session"],
  ["a session that is no id",   { "thread/read": IDLE }, { runtime_session_id: "--resume" }, "no_session"],
];

for (const [what, answers, changed, reason] of UNREADY) {
  Deno.test(`the socket refuses ${what} before the first byte`, async () => {
    await using home = new CodexHome().listen(answers);
    const peer = { ...SHARED, ...changed };
    const { socket } = transportsOf(home, peer);
    assert.deepEqual(await socket.check(peer, OUTGOING), { ready: false, reason });
    assert.deepEqual(await socket.deliver(peer, OUTGOING), { state: "refused", reason });
    assert(home.asked.every(({ method }) => method === "thread/read"));
  });
}

Deno.test("without a server, or with one that has gone, nothing is sent", async () => {
  await using home = new CodexHome();
  const { socket } = transportsOf(home);
  const refusal = async () => await socket.deliver(SHARED, OUTGOING);
  assert.deepEqual(await refusal(), { state: "refused", reason: "no_server" });
  const path = join(home.dir, "left");
  const listener = Deno.listen({ transport: "unix", path });
  Deno.mkdirSync(join(home.dir, "app-server-control"));
  Deno.linkSync(path, socketPath(home.dir)); // To close the listener takes its own name away.
  listener.close();
  assert.deepEqual(await refusal(), { state: "refused", reason: "connection_refused" });
});

Deno.test("a folder of Codex's that lies too deep for a socket's path is served as any other", async () => {
  await using home = new CodexHome(..."deep/".repeat(30).split("/")).listen({
    "thread/read": IDLE,
  });
  assert(socketPath(home.dir).length > 108);
  const { socket } = transportsOf(home);
  assert.deepEqual(await socket.check(SHARED, OUTGOING), { ready: true });
});

Deno.test("a server that does not greet as Codex does is told nothing", async () => {
  await using home = new CodexHome().listen({ "thread/read": IDLE }, "");
  const { socket } = transportsOf(home);
  assert.deepEqual(await socket.check(SHARED, OUTGOING), {
    ready: false,
    reason: "server_unknown",
  });
  assert.deepEqual(home.asked, []);
});

Deno.test("a server that refuses the message is a definite no", async () => {
  const refuse = () => new Error("queue is full");
  await using home = new CodexHome().listen({ "thread/read": IDLE, "thread/queue/add": refuse });
  const receipt = await transportsOf(home).socket.deliver(SHARED, OUTGOING);
  assert.deepEqual(receipt, { state: "refused", reason: "queue_refused" });
});

Deno.test("a server that does not answer the message leaves it unclear", async () => {
  const silence = () => undefined;
  await using home = new CodexHome().listen({ "thread/read": IDLE, "thread/queue/add": silence });
  const clock = new FakeClock();
  const delivering = transportsOf(home, SHARED, { clock }).socket.deliver(SHARED, OUTGOING);
  await until("the message", () => home.asked.some(({ method }) => method === "thread/queue/add"));
  await clock.advance(5_000);
  assert.deepEqual(await delivering, { state: "unclear", reason: "no_answer" });
});

Deno.test("only releases that were proved are written to by the socket", async () => {
  for (const version of ["0.169.0", "0.169.7"]) assert(isTested(version), version);
  const unproved = ["0.168.9", "0.170.0", "1.0.0", "0.169.0-alpha.1", "10.169.0", "0.169."];
  for (const version of unproved) assert(!isTested(version), version);
  await using home = new CodexHome().listen({ "thread/read": IDLE }, "0.170.0");
  const { socket } = transportsOf(home);
  const unready = { ready: false, reason: "version_unproved" };
  assert.deepEqual(await socket.check(SHARED, OUTGOING), unready);
});

// The command.

/** A program named `codex` that notes its arguments and its folder, and ends as told. */
function program(home: CodexHome, code: number): Record<string, string> {
  const script = `#!/bin/sh
printf '%s\\n' "$CODEX_HOME" "$@" > ${home.dir}/said
exit ${code}
`;
  Deno.mkdirSync(join(home.dir, "bin"));
  Deno.writeTextFileSync(join(home.dir, "bin", "codex"), script, { mode: 0o755 });
  return { PATH: `${home.dir}/bin:/usr/bin:/bin` };
}

Deno.test("a release that was not proved is given the message by `codex queue`", async () => {
  await using home = new CodexHome().listen({ "thread/read": IDLE }, "0.170.0");
  const { command } = transportsOf(home, SHARED, { env: program(home, 0) });
  assert.deepEqual(await command.check(SHARED, OUTGOING), { ready: true });
  assert.deepEqual(await command.deliver(SHARED, OUTGOING), { state: "accepted" });
  const said = Deno.readTextFileSync(join(home.dir, "said"));
  const args = [home.dir, "queue", "--thread", THREAD, `--message=${OUTGOING.framed}`];
  assert.equal(said, `${args.join("\n")}\n`);
  assert(home.asked.every(({ method }) => method === "thread/read"));
});

Deno.test("`codex queue` sees none of the daemon's secrets, given or inherited", async () => {
  await using home = new CodexHome().listen({ "thread/read": IDLE }, "0.170.0");
  const env = { ...program(home, 0), MESH_DAEMON__AUTH_TOKEN: "s3cret", HARMLESS: "1" };
  const seen = join(home.dir, "seen");
  Deno.writeTextFileSync(join(home.dir, "bin", "codex"), `#!/bin/sh\nexec env > '${seen}'\n`);
  Deno.env.set("MESH_RELAY_SECRET", "s3cret");
  try {
    await transportsOf(home, SHARED, { env }).command.deliver(SHARED, OUTGOING);
  } finally {
    Deno.env.delete("MESH_RELAY_SECRET");
  }
  assert.match(Deno.readTextFileSync(seen), /^HARMLESS=1$/m);
  assert.doesNotMatch(Deno.readTextFileSync(seen), /s3cret/);
});

Deno.test("the command is not used where the socket serves, at a dialog, or for a book", async () => {
  await using proved = new CodexHome().listen({ "thread/read": IDLE });
  const reason = async (home: CodexHome, outgoing = OUTGOING) => {
    const readiness = await transportsOf(home).command.check(SHARED, outgoing);
    return readiness.ready ? undefined : readiness.reason;
  };
  assert.equal(await reason(proved), "socket_serves");
  await using dialog = new CodexHome().listen({ "thread/read": AT_DIALOG }, "0.170.0");
  assert.equal(await reason(dialog), "dialog_open");
  await using idle = new CodexHome().listen({ "thread/read": IDLE }, "0.170.0");
  assert.equal(await reason(idle, { ...OUTGOING, framed: "ü".repeat(60_001) }), "too_large");
});

Deno.test("a command that fails leaves it unclear, one that is misused or missing is a no", async () => {
  const ends = [[1, "unclear", "command_failed"], [2, "refused", "queue_refused"]] as const;
  for (const [code, state, reason] of ends) {
    await using home = new CodexHome().listen({ "thread/read": IDLE }, "0.170.0");
    const { command } = transportsOf(home, SHARED, { env: program(home, code) });
    assert.deepEqual(await command.deliver(SHARED, OUTGOING), { state, reason });
  }
  await using home = new CodexHome().listen({ "thread/read": IDLE }, "0.170.0");
  const { command } = transportsOf(home, SHARED, { env: { PATH: home.dir } });
  const refusal = { state: "refused", reason: "no_command" };
  assert.deepEqual(await command.deliver(SHARED, OUTGOING), refusal);
});

// What is seen of a session.

// deno-fmt-ignore
const OBSERVATIONS: [what: string, answers: Answers, alive: boolean, turn_state: string | null][] = [
  ["idle",       { "thread/read": IDLE },       true,  "idle"],
  ["working",    { "thread/read": WORKING },    true,  "working"],
  ["at dialog",  { "thread/read": AT_DIALOG },  true,  "awaiting_input"],
  ["not loaded", { "thread/read": NOT_LOADED }, false, null],
];

for (const [what, answers, alive, turn_state] of OBSERVATIONS) {
  Deno.test(`a session of the shared server is seen as its thread is: ${what}`, async () => {
    await using home = new CodexHome().listen(answers);
    const observation = await adapterOf(home).observe(SHARED);
    assert.deepEqual(observation, { alive, turn_state, source: "app server" });
  });
}

Deno.test("a session without a server has ended, and what cannot be read tells nothing", async () => {
  await using none = new CodexHome();
  assert.equal((await adapterOf(none).observe(SHARED))?.alive, false);
  await using odd = new CodexHome().listen({ "thread/read": thread({ type: "dreaming" }) });
  assert.equal(await adapterOf(odd).observe(SHARED), undefined);
});

Deno.test("a session in a process of its own lives as long as that", async () => {
  await using home = new CodexHome();
  const own = { ...SHARED, agent_pid: Deno.pid, agent_started: startTimeOf(Deno.pid) ?? null };
  const adapter = adapterOf(home);
  assert.equal((await adapter.observe(own))?.alive, true);
  assert.equal((await adapter.observe({ ...own, agent_started: "1" }))?.alive, false);
  assert.equal(adapter.transport(SHARED), "native");
  assert.equal(adapter.transport({ ...own, pane_id: "%1" }), "pane");
  assert.equal(adapter.transport(own), "none");
});

Deno.test("a queue that the human's interruption holds is started for our message only", async () => {
  const ownIds = ["qd-3f9c04d1a2b7", "notif-3f9c04d1a2b7"];
  for (const first of [...ownIds, "their-own"]) {
    const starts = ownIds.includes(first);
    const data = [{ id: "q-1", clientUserMessageId: first, input: [] }];
    await using home = new CodexHome().listen({
      "thread/read": IDLE,
      "thread/queue/list": () => ({ data, nextCursor: null }),
      "thread/queue/start": () => ({ turn: {} }),
    });
    await adapterOf(home).observe(SHARED);
    const started = home.asked.filter(({ method }) => method === "thread/queue/start");
    const params = { threadId: THREAD, queuedSubmissionId: "q-1" };
    assert.deepEqual(started, starts ? [{ method: "thread/queue/start", params }] : []);
  }
});

// Calls.

Deno.test("a call is of the thread that it names, if it comes from below a Codex", async () => {
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

// Screens, as captured, with the row of the cursor.

Deno.test("what a session does is broken off by its server, turn by turn, and only what is under way", async () => {
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
  assert.deepEqual(home.asked, [], "no session is told");
});
