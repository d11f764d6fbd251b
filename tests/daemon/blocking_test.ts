import assert from "node:assert/strict";
import { join as pathOf } from "node:path";
import { countingIds, FakeClock } from "kit/clock.ts";
import { FakeProcesses, type World, world } from "../world.ts";
import { ask, enter, get, join, post, said } from "./cast.ts";

const withHuman = (more: Record<string, string> = {}) =>
  world({ settings: { "human.name": "sam", ...more } });

const ALLOW_OR_DENY = [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }];
const PERMISSION = {
  prompt: "Run rm?",
  options: ALLOW_OR_DENY,
  scope: "tool_permission",
  correlation_id: "toolu_01",
};
const DECISION = { ...PERMISSION, scope: "deploy" };

function hold(w: World, more: Record<string, unknown> = {}) {
  return post(w, "/questions/ask-blocking", { ...PERMISSION, ...more });
}

/** A request that is under way, and whether it has been answered yet. */
async function held(w: World, more: Record<string, unknown> = {}) {
  const line = { done: false, answer: hold(w, more) };
  line.answer = line.answer.finally(() => line.done = true);
  await w.clock.settle();
  return line;
}

/** The same, of a caller that hangs up when `gone` says so. */
async function heldUntil(w: World, gone: AbortSignal, more: Record<string, unknown> = {}) {
  const body = JSON.stringify({ ...PERMISSION, ...more });
  const line = w.fetch("/questions/ask-blocking", { method: "POST", body, signal: gone });
  await w.clock.settle();
  return line.then((answer) => answer.json(), () => undefined);
}

Deno.test("a permission is asked of the human, on every surface, and holds its caller", async () => {
  await using w = withHuman();
  const ada = await enter(w, "ada");
  const origin = { surface: "hook", ref: "7" };
  const line = await held(w, { from_peer: "ada", origin, metadata: { tool: "Bash" } });
  assert.equal(line.done, false);
  const kept = await get(w, "/asks/toolu_01");
  assert.deepEqual([kept.correlation_id, kept.from_peer_id, kept.to_peer_name, kept.text], [
    "toolu_01",
    ada.peer_id,
    "sam",
    "Run rm?",
  ]);
  assert.deepEqual([kept.reply_delivery, kept.origin], ["pull", origin]);
  const question = {
    kind: "choice",
    prompt: "Run rm?",
    options: ALLOW_OR_DENY,
    scope: "tool_permission",
    timeout_seconds: 45,
    blocking: true,
    metadata: { tool: "Bash" },
  };
  assert.deepEqual(kept.question, question);
  const { items: [item] } = await get(w, "/inbox");
  assert.deepEqual([item.kind, item.correlation_id, item.question], ["ask", "toolu_01", question]);
  const [told] = said(w, "question");
  assert.deepEqual([told?.["correlation_id"], told?.["scope"], told?.["kind"]], [
    "toolu_01",
    "tool_permission",
    "choice",
  ]);
  await post(w, `/inbox/${item.item_id}/reply`, { option_id: "allow" });
  assert.deepEqual(await line.answer, {
    status: 200,
    correlation_id: "toolu_01",
    outcome: "answered",
    option_id: "allow",
    message: null,
  });
  assert.deepEqual(said(w, "answer"), [
    { correlation_id: "toolu_01", scope: "tool_permission", outcome: "answered" },
  ]);
});

Deno.test("an option that does not permit is an answer as well, and so is a refusal", async () => {
  await using w = withHuman();
  const cases: [object, string, string | null, string | null][] = [
    [{ option_id: "deny" }, "answered", "deny", null],
    [{ text: "Deny", message: "Too risky" }, "answered", "deny", "Too risky"],
    [{ outcome: "denied", option_id: "deny" }, "denied", "deny", null],
    [{ outcome: "denied", message: "Never" }, "denied", null, "Never"],
    [{ outcome: "cancelled" }, "cancelled", null, null],
  ];
  for (const [index, [said, outcome, option_id, message]] of cases.entries()) {
    const correlation_id = `case-${index}`;
    const line = await held(w, { correlation_id });
    await post(w, "/answer", { correlation_id, ...said });
    assert.deepEqual(await line.answer, {
      status: 200,
      ...{ correlation_id, outcome, option_id, message },
    });
  }
});

Deno.test("a decline, or a bare ack, gives no permission", async () => {
  await using w = withHuman();
  const declined = await held(w, { correlation_id: "one" });
  await post(w, "/decline", { correlation_id: "one", reason: "Not today" });
  const { outcome, option_id, message } = await declined.answer;
  assert.deepEqual([outcome, option_id, message], ["declined", null, "Not today"]);
  const acked = await held(w, { correlation_id: "two" });
  await post(w, "/ack", { correlation_id: "two" });
  const bare = await acked.answer;
  assert.deepEqual([bare.outcome, bare.option_id], ["acknowledged", null]);
});

Deno.test("a permission that nobody gives in time is denied, all else has timed out", async () => {
  await using w = withHuman();
  for (const [body, outcome] of [[PERMISSION, "denied"], [DECISION, "timed_out"]] as const) {
    const correlation_id = outcome;
    const line = await held(w, { ...body, correlation_id, timeout_seconds: 5 });
    await w.clock.advance(4999);
    assert.equal(line.done, false);
    await w.clock.advance(1);
    assert.deepEqual(await line.answer, {
      status: 200,
      ...{ correlation_id, outcome, option_id: null, message: "Nobody answered in time" },
    });
    const kept = await get(w, `/asks/${correlation_id}`);
    assert.deepEqual([kept.state, kept.close_reason, kept.outcome, kept.answer], [
      "closed",
      "evicted",
      outcome,
      null,
    ]);
    const late = await post(w, "/answer", { correlation_id, option_id: "allow" });
    assert.deepEqual([late.status, late.error], [410, "already_closed"]);
  }
  assert.equal((await get(w, "/inbox")).items.length, 2);
  assert.deepEqual(said(w, "answer"), []);
});

Deno.test("a hold is 45 s by default, and never longer than approvals.timeout_seconds", async () => {
  await using w = withHuman({ "approvals.timeout_seconds": "60" });
  for (const [given, seconds] of [[{}, 45], [{ timeout_seconds: 1e9 }, 60]] as const) {
    const line = await held(w, { ...given, correlation_id: `t${seconds}` });
    await w.clock.advance(seconds * 1000 - 1);
    await w.clock.settle();
    assert.equal(line.done, false);
    await w.clock.advance(1);
    assert.equal((await line.answer).outcome, "denied");
  }
  const none = await held(w, { timeout_seconds: 0, correlation_id: "now" });
  await w.clock.advance(0);
  assert.equal((await none.answer).outcome, "denied");
});

Deno.test("what a question has to be is checked before it is asked", async () => {
  await using w = withHuman();
  const wrong = [
    { options: [] },
    { options: undefined },
    { options: [...ALLOW_OR_DENY, { id: "allow", title: "Yes" }] },
    { prompt: "" },
    { scope: "" },
    { timeout_seconds: "5" },
    { timeout_seconds: -1 },
    ...["", "a b", "../x", "notif-1", "qd-000000000001", "pending", "x".repeat(129)]
      .map((correlation_id) => ({ correlation_id })),
  ];
  for (const more of wrong) {
    const answer = await hold(w, more);
    assert.deepEqual([answer.status, answer.error], [422, "invalid_request"], JSON.stringify(more));
  }
  assert.equal((await hold(w, { from_peer: "sam" })).error, "to_self");
  assert.deepEqual((await get(w, "/asks")).asks, []);
});

Deno.test("without options a question of another scope takes a text", async () => {
  await using w = withHuman();
  const line = await held(w, { scope: "plan", options: [] });
  await post(w, "/answer", { correlation_id: "toolu_01", text: "Begin with the tests" });
  const { outcome, message } = await line.answer;
  assert.deepEqual([outcome, message], ["answered", "Begin with the tests"]);
});

Deno.test("a caller that hangs up leaves nothing behind that could be allowed", async () => {
  await using w = withHuman();
  for (const [body, outcome] of [[PERMISSION, "denied"], [DECISION, "timed_out"]] as const) {
    const gone = new AbortController();
    const correlation_id = outcome;
    const line = heldUntil(w, gone.signal, { ...body, correlation_id });
    await w.clock.settle();
    assert.equal((await get(w, `/asks/${correlation_id}`)).state, "open");
    gone.abort();
    await line;
    await w.clock.settle();
    const kept = await get(w, `/asks/${correlation_id}`);
    assert.deepEqual([kept.state, kept.close_reason, kept.outcome], [
      "closed",
      "cancelled",
      outcome,
    ]);
    assert.equal((await post(w, "/answer", { correlation_id, option_id: "allow" })).status, 410);
  }
  assert.equal((await get(w, "/inbox")).items.length, 2, "Nothing else is told to the human");
});

Deno.test("a second request under the same id waits for the same answer", async () => {
  await using w = withHuman();
  const gone = new AbortController();
  const first = heldUntil(w, gone.signal);
  await w.clock.settle();
  const second = await held(w);
  assert.equal((await get(w, "/inbox")).items.length, 1);
  gone.abort();
  await first;
  await w.clock.settle();
  assert.equal(second.done, false);
  await post(w, "/answer", { correlation_id: "toolu_01", option_id: "allow" });
  assert.equal((await second.answer).option_id, "allow");
  const third = await hold(w);
  assert.deepEqual([third.outcome, third.option_id], ["answered", "allow"]);
});

Deno.test("all who hold a question hear of its end at its own time, not at theirs", async () => {
  await using w = withHuman();
  const first = await held(w, { timeout_seconds: 10 });
  await w.clock.advance(6000);
  const second = await held(w, { timeout_seconds: 10 });
  await w.clock.advance(4000);
  assert.deepEqual([(await first.answer).outcome, (await second.answer).outcome], [
    "denied",
    "denied",
  ]);
  assert.equal(said(w, "ack").length, 1);
});

Deno.test("what was allowed of one question never passes for another's", async () => {
  await using w = withHuman();
  await enter(w, "bob");
  await enter(w, "eve");
  const line = await held(w, { from_peer: "bob" });
  await post(w, "/answer", { correlation_id: "toolu_01", option_id: "allow" });
  await line.answer;
  for (const more of [{ prompt: "Run curl?" }, { scope: "x" }, { options: [ALLOW_OR_DENY[0]] }]) {
    const other = await hold(w, { from_peer: "bob", ...more });
    assert.deepEqual([other.status, other.error], [409, "correlation_taken"]);
  }
  const stranger = await hold(w, { from_peer: "eve" });
  assert.deepEqual([stranger.status, stranger.error], [403, "not_the_asker"]);
  const plain = await ask(w, "cli", "bob", "Run rm?");
  assert.equal((await hold(w, { correlation_id: plain })).error, "correlation_taken");
});

Deno.test("a chosen id is the ask's id everywhere, even one of our own form", async () => {
  await using w = withHuman();
  for (const id of ["toolu_01", "ask-00ff00ff00ff", "0b8f2c1e-7a3d-4e9b-9c55-1f2e3d4c5b6a"]) {
    const line = await held(w, { correlation_id: id });
    const { stages } = await get(w, `/traces/${id}`);
    assert.equal(stages[0].stage, "created");
    const open = (await get(w, "/asks/pending?peer_id=cli&direction=outbound")).asks;
    assert.deepEqual(open.map(({ correlation_id }: Record<string, string>) => correlation_id), [
      id,
    ]);
    const waiting = post(w, `/asks/${id}/wait`, { peer_id: "cli" });
    await w.clock.settle();
    await post(w, "/ack", { correlation_id: id, message: "allow" });
    const waited = await waiting;
    assert.deepEqual([waited.correlation_id, waited.option_id], [id, "allow"]);
    assert.equal((await line.answer).option_id, "allow");
  }
  const line = await held(w, { correlation_id: "mine" });
  await post(w, "/asks/mine/cancel", { peer_id: "cli", reason: "Never mind" });
  const { outcome, message } = await line.answer;
  assert.deepEqual([outcome, message], ["cancelled", "Never mind"]);
});

Deno.test("without a human the question waits in the inbox of whoever comes", async () => {
  await using w = world();
  const line = await held(w);
  const kept = await get(w, "/asks/toolu_01");
  assert.deepEqual([kept.to_peer_id, kept.to_peer_name, kept.state], ["human", "human", "open"]);
  await post(w, "/answer", { correlation_id: "toolu_01", option_id: "allow" });
  assert.equal((await line.answer).option_id, "allow");
  const late = await held(w, { correlation_id: "late" });
  await enter(w, "sam", { role: "human" });
  const { items: [item] } = await get(w, "/inbox?unread=1");
  await post(w, `/inbox/${item.item_id}/reply`, { option_id: "deny" });
  assert.equal((await late.answer).option_id, "deny");
  const denied = await held(w, { correlation_id: "denied", timeout_seconds: 1 });
  await w.clock.advance(1000);
  assert.equal((await denied.answer).outcome, "denied");
  assert.deepEqual(w.logged, []);
});

Deno.test("a question that is flagged as blocking by /ask is an ask like any other", async () => {
  using at = house();
  let w = at.start();
  await enter(w, "bob");
  const question = { kind: "choice", options: ALLOW_OR_DENY, blocking: true };
  const id = await ask(w, "ada", "bob", "Which?", { question });
  await w[Symbol.asyncDispose]();
  w = at.start();
  await using _ = w;
  assert.equal((await get(w, `/asks/${id}`)).state, "open");
});

/** A house whose daemon may end and start again on the same file, or on what a crash left of it. */
function house() {
  const directory = Deno.makeTempDirSync();
  const shared = { clock: new FakeClock(), ids: countingIds(), processes: new FakeProcesses() };
  const start = (name: string) =>
    world({
      ...shared,
      db_path: pathOf(directory, name),
      settings: { "human.name": "sam" },
    });
  return {
    start: () => start("mesh.db"),
    /** What the disk holds now, as `kill -9` leaves it, under another daemon. */
    startFromCrash: () => {
      for (const end of ["", "-wal"]) {
        Deno.copyFileSync(pathOf(directory, `mesh.db${end}`), pathOf(directory, `crash.db${end}`));
      }
      return start("crash.db");
    },
    [Symbol.dispose]: () => Deno.removeSync(directory, { recursive: true }),
  };
}

Deno.test("a daemon that goes down denies what it holds, on the disk, and says so", async () => {
  using at = house();
  let w = at.start();
  const permission = await held(w);
  const decision = await held(w, { ...DECISION, correlation_id: "two" });
  await w.daemon.goDown();
  assert.deepEqual([(await permission.answer).outcome, (await decision.answer).outcome], [
    "denied",
    "timed_out",
  ]);
  await w[Symbol.asyncDispose]();
  w = at.start();
  await using _ = w;
  const kept = await get(w, "/asks/toolu_01");
  assert.deepEqual([kept.state, kept.close_reason, kept.outcome], ["closed", "evicted", "denied"]);
  assert.equal((await hold(w)).outcome, "denied", "Whoever asks again hears the same");
});

Deno.test("a question that came in as the daemon went down is not left open", async () => {
  await using w = withHuman();
  const line = hold(w);
  await w.daemon.goDown();
  const { status, outcome, error } = await line;
  assert.ok(outcome === "denied" || (status === 503 && error === "shutting_down"));
  for (const { state } of w.daemon.asks.page({ ...ALL, state: null }).asks) {
    assert.equal(state, "closed");
  }
});
const ALL = { peer_id: null, before: Number.MAX_SAFE_INTEGER, limit: 100 };

Deno.test("after a crash nobody holds on, and what was held is denied without a word", async () => {
  using at = house();
  await using before = at.start();
  await join(before, "ada");
  const line = await held(before, { from_peer: "ada" });
  await using w = at.startFromCrash();
  const kept = await get(w, "/asks/toolu_01");
  assert.deepEqual([kept.state, kept.close_reason, kept.outcome], ["closed", "evicted", "denied"]);
  const { events } = await get(w, "/events?type=ack");
  assert.deepEqual(
    events.map(({ correlation_id, outcome }: Record<string, string>) => [correlation_id, outcome]),
    [["toolu_01", "denied"]],
  );
  assert.equal((await join(w, "ada")).of("ack").length, 0);
  assert.equal(
    (await post(w, "/answer", { correlation_id: "toolu_01", text: "allow" })).status,
    410,
  );
  assert.equal((await hold(w, { from_peer: "ada" })).outcome, "denied");
  assert.deepEqual(w.logged, []);
  assert.equal(line.done, false);
});

Deno.test("a real connection that breaks denies its permission as well", async () => {
  await using w = withHuman();
  const opened = Promise.withResolvers<void>(), ended = Promise.withResolvers<unknown>();
  using _ = w.daemon.ground.events.subscribe({
    event: ({ type, data }) => {
      if (type === "question") opened.resolve();
      if (type === "ack") ended.resolve(data);
    },
  });
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  const body = JSON.stringify(PERMISSION);
  const socket = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  const head = `POST /questions/ask-blocking HTTP/1.1\r\nHost: 127.0.0.1:${server.addr.port}\r\n` +
    `Content-Length: ${body.length}\r\n\r\n`;
  await socket.write(new TextEncoder().encode(head + body));
  await opened.promise;
  socket.close();
  const { close_reason, outcome } = await ended.promise as Record<string, string>;
  assert.deepEqual([close_reason, outcome], ["cancelled", "denied"]);
  await server.shutdown();
});

Deno.test("a flood of held questions ends with its daemon, each of them denied", async () => {
  await using w = withHuman();
  const lines = Array.from({ length: 300 }, (_, n) => hold(w, { correlation_id: `id-${n}` }));
  await w.clock.settle();
  const early = Array.from({ length: 100 }, (_, n) => {
    return post(w, "/answer", { correlation_id: `id-${n}`, option_id: "allow" });
  });
  for (const { status } of await Promise.all(early)) assert.equal(status, 200);
  await w.daemon.goDown();
  const outcomes = (await Promise.all(lines)).map(({ outcome }) => outcome);
  assert.deepEqual(new Set(outcomes.slice(0, 100)), new Set(["answered"]));
  assert.deepEqual(new Set(outcomes.slice(100)), new Set(["denied"]));
  assert.equal(said(w, "ack").length, 300);
});
