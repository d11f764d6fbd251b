/** Codex's native transports: the socket of the shared server, and `codex queue`. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { jsonLog } from "kit/core/log.ts";
import { socketPath } from "../../../../../daemon/features/agents/codex/app_server.ts";
import type { CodexOptions } from "../../../../../daemon/features/agents/codex/codex.ts";
import type { AgentPeer, OutgoingMessage } from "../../../../../daemon/features/agents/adapter.ts";
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
import { FakeClock } from "../../../../support/clock.ts";
import { until } from "../../../../support/host/private_tmux.ts";

const OUTGOING: OutgoingMessage = {
  delivery_id: "qd-3f9c04d1a2b7",
  proof_id: "ask-3f9c04d1a2b7",
  kind: "ask",
  human: false,
  framed: '[mesh] <peer-message id="ask-3f9c04d1a2b7">Tabs\tand\n\nlines, ümläute ⏎</peer-message>',
};

/** The transports in fallback order: the server's socket, the command, the pane. */
function transportsOf(home: CodexHome, peer = SHARED, more: Partial<CodexOptions> = {}) {
  const [socket, command, pane, ...rest] = adapterOf(home, more).transports(peer, OUTGOING);
  assert(socket && command && pane && rest.length === 0);
  return { socket, command, pane };
}

const WORKING_ANSWER: Answers = { "thread/read": WORKING };
const UNREADABLE: Answers = { "thread/read": thread({ type: "dreaming" }) };
const NO_QUEUE: Answers = { "thread/queue/list": () => new Error("unknown method") };

/** Answers to `thread/queue/list` from servers whose queue could not be started again. */
const UNKNOWN_QUEUES: Readonly<Record<string, Answers>> = {
  "without a queue": NO_QUEUE,
  "that lists its queue in another form": { "thread/queue/list": () => ({ items: [] }) },
  "that identifies its messages in another way": {
    "thread/queue/list": () => ({ data: [{ number: 1 }] }),
  },
};

/** The log of the transports, and the option that makes them write it. */
function captureLog() {
  const lines: string[] = [];
  return { lines, log: jsonLog(new FakeClock(), "debug", (line) => lines.push(line)) };
}

// The socket.

const FAILED = thread({ type: "systemError" });

for (
  const [what, state] of Object.entries({
    "an idle": IDLE,
    "a working": WORKING,
    "a limited": FAILED,
  })
) {
  Deno.test(`${what} session's server queues the whole text, and its answer accepts it`, async () => {
    const add = () => ({ queuedSubmission: { id: "q-1" } });
    await using home = new CodexHome().listen({ "thread/read": state, "thread/queue/add": add });
    const { socket } = transportsOf(home);
    assert.deepEqual(await socket.check(SHARED, OUTGOING), { ready: true });
    assert(
      !home.asked.some(({ method }) => method === "thread/queue/add"),
      "a check sends nothing",
    );
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
  ["a status that is unknown",  { "thread/read": thread({ type: "dreaming" }) },       {}, "thread_unknown"],
  ["a thread closed to input",  { "thread/read": thread({ type: "idle" }, { canAcceptDirectInput: false }) }, {}, "thread_unknown"],
  ["an answer about another thread", { "thread/read": () => thread({ type: "idle" })({ threadId: OTHER_THREAD }) }, {}, "thread_unknown"],
  ["a failed read of the thread", { "thread/read": () => new Error("internal") },        {}, "thread_unknown"],
  ["a peer without a session",  { "thread/read": IDLE }, { runtime_session_id: null },     "no_session"],
  ["an invalid session id",     { "thread/read": IDLE }, { runtime_session_id: "--resume" }, "no_session"],
];

for (const [what, answers, changed, reason] of UNREADY) {
  Deno.test(`the socket refuses ${what} before the first byte`, async () => {
    await using home = new CodexHome().listen(answers);
    const peer = { ...SHARED, ...changed };
    const { socket } = transportsOf(home, peer);
    assert.deepEqual(await socket.check(peer, OUTGOING), { ready: false, reason });
    assert.deepEqual(await socket.deliver(peer, OUTGOING), { state: "refused", reason });
    assert(home.asked.every(({ method }) => /^thread\/(read|queue\/list)$/.test(method)));
  });
}

Deno.test("without a server, or with one that is gone, nothing is sent", async () => {
  await using home = new CodexHome();
  const { socket } = transportsOf(home);
  const refusal = async () => await socket.deliver(SHARED, OUTGOING);
  assert.deepEqual(await refusal(), { state: "refused", reason: "no_server" });
  const path = join(home.dir, "left");
  const listener = Deno.listen({ transport: "unix", path });
  Deno.mkdirSync(join(home.dir, "app-server-control"));
  Deno.linkSync(path, socketPath(home.dir)); // Closing the listener removes its own name.
  listener.close();
  assert.deepEqual(await refusal(), { state: "refused", reason: "connection_refused" });
});

Deno.test("a Codex folder whose path exceeds a socket's limit is reached all the same", async () => {
  await using home = new CodexHome(..."deep/".repeat(30).split("/")).listen({
    "thread/read": IDLE,
  });
  assert(socketPath(home.dir).length > 108);
  const { socket } = transportsOf(home);
  assert.deepEqual(await socket.check(SHARED, OUTGOING), { ready: true });
});

Deno.test("a server with an unknown handshake is sent nothing", async () => {
  await using home = new CodexHome().listen({ "thread/read": IDLE }, "");
  const { socket } = transportsOf(home);
  assert.deepEqual(await socket.check(SHARED, OUTGOING), {
    ready: false,
    reason: "server_unknown",
  });
  assert.deepEqual(home.asked, []);
});

Deno.test("a message that the server refuses is definitely refused", async () => {
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

for (const version of ["0.159.0", "0.171.0", "0.170.0-alpha.2", "1.4.0", "12.0.1"]) {
  Deno.test(`release ${version} is asked for its queue, and takes the message by its socket`, async () => {
    const add = () => ({ queuedSubmission: { id: "q-1" } });
    await using home = new CodexHome().listen(
      { "thread/read": WORKING, "thread/queue/add": add },
      version,
    );
    const { socket } = transportsOf(home);
    assert.deepEqual(await socket.deliver(SHARED, OUTGOING), { state: "accepted" });
  });
}

for (const [what, list] of Object.entries(UNKNOWN_QUEUES)) {
  Deno.test(`a server ${what} gets no message into its queue`, async () => {
    await using home = new CodexHome().listen({ "thread/read": IDLE, ...list });
    const { socket } = transportsOf(home);
    const refusal = { state: "refused", reason: "queue_unknown" };
    assert.deepEqual(await socket.deliver(SHARED, OUTGOING), refusal);
    assert(!home.asked.some(({ method }) => method === "thread/queue/add"));
  });
}

// The command.

/** A program named `codex` that records its arguments and its folder, and exits with `code`. */
function program(home: CodexHome, code: number): Record<string, string> {
  const script = `#!/bin/sh
printf '%s\\n' "$CODEX_HOME" "$@" > ${home.dir}/said
exit ${code}
`;
  Deno.mkdirSync(join(home.dir, "bin"));
  Deno.writeTextFileSync(join(home.dir, "bin", "codex"), script, { mode: 0o755 });
  return { PATH: `${home.dir}/bin:/usr/bin:/bin` };
}

Deno.test("a message for an idle session of a server without a known queue goes through `codex queue`", async () => {
  await using home = new CodexHome().listen({ "thread/read": IDLE, ...NO_QUEUE });
  const { command } = transportsOf(home, SHARED, { env: program(home, 0) });
  assert.deepEqual(await command.check(SHARED, OUTGOING), { ready: true });
  assert.deepEqual(await command.deliver(SHARED, OUTGOING), { state: "accepted" });
  const said = Deno.readTextFileSync(join(home.dir, "said"));
  const args = [home.dir, "queue", "--thread", THREAD, `--message=${OUTGOING.framed}`];
  assert.equal(said, `${args.join("\n")}\n`);
  assert(home.asked.every(({ method }) => /^thread\/(read|queue\/list)$/.test(method)));
});

// deno-fmt-ignore
const COMMAND_STATES: [what: string, answers: Answers, turn_state: AgentPeer["turn_state"], ready: boolean][] = [
  ["in a turn",                                WORKING_ANSWER,  "working",        false],
  ["whose server says so after its hooks",     WORKING_ANSWER,  "idle",           false],
  ["of an unreadable server, in a turn",       UNREADABLE,      "working",        false],
  ["of an unreadable server, at a dialog",     UNREADABLE,      "awaiting_input", false],
  ["of an unreadable server, of unknown state", UNREADABLE,     null,             false],
  ["of an unreadable server, idle",            UNREADABLE,      "idle",           true ],
];

for (const [what, answers, turn_state, ready] of COMMAND_STATES) {
  const outcome = ready ? "gets it by the command" : "gets nothing that an interruption could hold";
  Deno.test(`a session ${what}, without a known queue, ${outcome}`, async () => {
    await using home = new CodexHome().listen({ ...answers, ...NO_QUEUE });
    const peer = { ...SHARED, turn_state };
    const { command } = transportsOf(home, peer, { env: program(home, 0) });
    const readiness = await command.check(peer, OUTGOING);
    assert.deepEqual(readiness, ready ? { ready } : { ready, reason: "turn_not_over" });
  });
}

Deno.test("`codex queue` gets no secret of the daemon, given or inherited", async () => {
  await using home = new CodexHome().listen({ "thread/read": IDLE, ...NO_QUEUE });
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

Deno.test("the command refuses where the socket serves, at a dialog, and for a very long text", async () => {
  await using proved = new CodexHome().listen({ "thread/read": IDLE });
  const reason = async (home: CodexHome, outgoing = OUTGOING) => {
    const readiness = await transportsOf(home).command.check(SHARED, outgoing);
    return readiness.ready ? undefined : readiness.reason;
  };
  assert.equal(await reason(proved), "socket_serves");
  await using dialog = new CodexHome().listen({ "thread/read": AT_DIALOG, ...NO_QUEUE });
  assert.equal(await reason(dialog), "dialog_open");
  await using idle = new CodexHome().listen({ "thread/read": IDLE, ...NO_QUEUE });
  assert.equal(await reason(idle, { ...OUTGOING, framed: "ü".repeat(60_001) }), "too_large");
});

Deno.test("an error that repeats the message is not logged; any other one is", async () => {
  const errors = [["queue is full", true], [`bad input: ${OUTGOING.framed}`, false]] as const;
  for (const [message, isLogged] of errors) {
    const { lines, log } = captureLog();
    const refuse = () => new Error(message);
    await using home = new CodexHome().listen({ "thread/read": IDLE, "thread/queue/add": refuse });
    await transportsOf(home, SHARED, { log }).socket.deliver(SHARED, OUTGOING);
    assert.match(lines.join(), isLogged ? /queue is full/ : /\[hidden\]/);
  }
  const { lines, log } = captureLog();
  await using home = new CodexHome().listen({ "thread/read": IDLE, ...NO_QUEUE });
  const env = program(home, 2);
  const script = '#!/bin/sh\necho "unexpected: $4" | cut -c1-60 >&2\nexit 2\n';
  Deno.writeTextFileSync(join(home.dir, "bin", "codex"), script);
  await transportsOf(home, SHARED, { env, log }).command.deliver(SHARED, OUTGOING);
  assert.match(lines.join(), /codex queue.*\[hidden\]/);
});

Deno.test("a command that fails leaves the message unclear; wrong usage or a missing command refuses it", async () => {
  const ends = [[1, "unclear", "command_failed"], [2, "refused", "queue_refused"]] as const;
  for (const [code, state, reason] of ends) {
    await using home = new CodexHome().listen({ "thread/read": IDLE, ...NO_QUEUE });
    const { command } = transportsOf(home, SHARED, { env: program(home, code) });
    assert.deepEqual(await command.deliver(SHARED, OUTGOING), { state, reason });
  }
  await using home = new CodexHome().listen({ "thread/read": IDLE, ...NO_QUEUE });
  const { command } = transportsOf(home, SHARED, { env: { PATH: home.dir } });
  const refusal = { state: "refused", reason: "no_command" };
  assert.deepEqual(await command.deliver(SHARED, OUTGOING), refusal);
});
