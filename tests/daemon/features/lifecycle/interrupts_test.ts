/** Interrupts over HTTP: who may, what is asked, what is proved, and who is told. */

import assert from "node:assert/strict";
import type {
  AgentPeer,
  InterruptAttempt,
  TurnEnd,
} from "../../../../daemon/features/agents/adapter.ts";
import { create, job } from "../../../support/daemon/jobs.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  post,
  signIn,
} from "../../../support/daemon/peer_clients.ts";
import { FakeAgents, FakePanes, SOCKET } from "../../../support/host/fake_panes.ts";
import { FakeSockets, type World, world, type WorldOptions } from "../../../support/world.ts";

const TERMINAL = { "x-mesh-terminal": "77" };
const ASKED: InterruptAttempt = { state: "asked", by: "Escape in its terminal" };

/** Agents that can be interrupted, and what a test lets them do then. */
class StoppableAgents extends FakeAgents {
  readonly asked: string[] = [];
  attempt: InterruptAttempt = ASKED;
  /** The end in the agent's own records. */
  end: TurnEnd | undefined;
  onInterrupt: (peer: AgentPeer) => void | Promise<void> = () => undefined;

  async interrupt(peer: AgentPeer): Promise<InterruptAttempt> {
    this.asked.push(peer.peer_id);
    await this.onInterrupt(peer);
    return this.attempt;
  }

  lastEnd(): TurnEnd | undefined {
    return this.end;
  }
}

function stopWorld(agents: StoppableAgents, more: WorldOptions = {}): World {
  return world({
    adapters: [agents],
    at_terminal: true,
    paneObserver: new FakePanes(),
    settings: { "human.name": "sam" },
    ...more,
  });
}

/** An agent in a turn; its process runs. */
async function worker(w: World, name = "api", more: Record<string, unknown> = {}) {
  w.processes.start(7);
  const at = { pane_id: "%3", tmux_socket: SOCKET, agent_pid: 7, runtime_session_id: `s-${name}` };
  const { peer_id } = await addPeer(w, name, { backend: "claude-code", ...at, ...more });
  await report(w, peer_id, { turn_state: "working" });
  return peer_id;
}

function report(w: World, peer_id: string, turn: Record<string, unknown>) {
  return post(w, `/peers/${peer_id}/turn`, turn);
}

/** Advances the clock until a request is answered. */
async function answered<T>(w: World, request: Promise<T>): Promise<T> {
  let isDone = false;
  void request.finally(() => isDone = true);
  await w.clock.advanceUntil("the answer", () => isDone, 50);
  return await request;
}

/** Sends the request of a person at a terminal, and advances the clock until it is answered. */
function interrupt(w: World, peer = "api", headers: Record<string, string> = TERMINAL) {
  return answered(w, post(w, `/peers/${peer}/interrupt`, {}, headers));
}

Deno.test("a person interrupts a turn, and hears what proves it; the event log has both", async () => {
  const agents = new StoppableAgents();
  await using w = stopWorld(agents);
  const peer_id = await worker(w);
  agents.onInterrupt = () => void report(w, peer_id, { turn_state: "idle", error: "interrupted" });
  assert.deepEqual(await interrupt(w), {
    status: 200,
    peer_id,
    name: "api",
    outcome: "interrupted",
    by: "Escape in its terminal",
    proof: "hook",
    detail: "The turn of api was interrupted, by Escape in its terminal: its hook shows it.",
  });
  const human = await get(w, "/peers/sam");
  const facts = eventData(w, "interrupt").map(({ outcome, from, from_peer_id }) => {
    return [outcome, from, from_peer_id];
  });
  assert.deepEqual(facts, [["started", "@sam", human.peer_id], [
    "interrupted",
    "@sam",
    human.peer_id,
  ]]);
  assert.equal(eventData(w, "turn_interrupted").length, 1);
});

Deno.test("the agent's own record proves an interrupt, also once it works on its next prompt", async () => {
  const agents = new StoppableAgents();
  await using w = stopWorld(agents);
  await worker(w);
  agents.onInterrupt = () => {
    const at = w.clock.now() + 10;
    agents.end = { how: "interrupted", at, source: "session file", prompts_since: ["next"] };
  };
  const done = await interrupt(w);
  assert.deepEqual([done.outcome, done.proof], ["interrupted", "session file"]);
  assert.equal((await get(w, "/peers/api")).turn_state, "working");
});

Deno.test("a job and an ask of the interrupted turn are ended, and their senders are told by whom", async () => {
  const agents = new StoppableAgents();
  await using w = stopWorld(agents);
  const peer_id = await worker(w, "api", { addressable: true });
  const web = await connectPeer(w, "web", { backend: "sdk", capabilities: ["delivery_receipts"] });
  const id = await ask(w, "web", "api");
  const made = await create(w, { prompt: "Build it", assigned_peer: "api" });
  await w.tick();
  const { delivery_id } = eventData(w, "notification").at(-1) ?? {};
  const prompt = `[mesh] <peer-message type="ask" id="${id}" from="@web">Ready?</peer-message>` +
    ` [mesh] <peer-message type="notify" id="${delivery_id}" from="@mesh">x</peer-message>`;
  await report(w, peer_id, { turn_state: "working", prompt });
  agents.onInterrupt = () => void report(w, peer_id, { turn_state: "idle", error: "interrupted" });
  assert.equal((await interrupt(w)).outcome, "interrupted");
  const notices = web.of("notify").map(({ text }) => text);
  assert.match(notices.join("\n"), /was interrupted \(@sam asked for it\) before an answer/);
  const { stages } = await get(w, `/traces/${id}`);
  const ended = stages.find(({ stage }: { stage: string }) => stage === "turn_interrupted");
  assert.equal(ended.detail, "@sam asked for it; seen by its hook");
  assert.equal((await job(w, made.job_id)).state_reason, "turn_interrupted");
});

Deno.test("an idle peer is not busy, and nothing is done", async () => {
  const agents = new StoppableAgents();
  agents.attempt = { state: "idle" };
  await using w = stopWorld(agents);
  const peer_id = await worker(w);
  await report(w, peer_id, { turn_state: "idle", last_message: "Done" });
  const done = await interrupt(w);
  assert.deepEqual([done.outcome, done.by, done.proof], ["not_busy", null, null]);
  assert.deepEqual(eventData(w, "interrupt").map(({ outcome }) => outcome), ["not_busy"]);
});

Deno.test("without a proof within 5 s, the outcome is that it was asked, and no more", async () => {
  const agents = new StoppableAgents();
  await using w = stopWorld(agents);
  await worker(w);
  const before = w.clock.now();
  const done = await interrupt(w);
  assert.deepEqual([done.outcome, done.proof], ["asked", null]);
  assert.match(done.detail, /nothing shows yet that it has\. Look at its terminal, or kill it\.$/);
  assert.ok(w.clock.now() - before >= 5_000 && w.clock.now() - before < 6_000);
  assert.equal((await get(w, "/peers/api")).turn_state, "working");
});

Deno.test("a turn that ends by itself at the same moment is not reported as interrupted", async () => {
  const agents = new StoppableAgents();
  await using w = stopWorld(agents);
  const peer_id = await worker(w);
  agents.onInterrupt = () => void report(w, peer_id, { turn_state: "idle", last_message: "Done" });
  assert.deepEqual([(await interrupt(w)).outcome], ["ended"]);
  // The turn has ended between the check of its state and that of its screen.
  await report(w, peer_id, { turn_state: "working" });
  agents.attempt = { state: "idle" };
  assert.equal((await interrupt(w)).outcome, "not_busy");
});

Deno.test("an agent whose reports and screen differ is looked at twice, and then left alone", async () => {
  const agents = new StoppableAgents();
  await using w = stopWorld(agents);
  const peer_id = await worker(w);
  agents.attempt = { state: "idle" };
  const refused = await interrupt(w);
  assert.deepEqual([refused.status, refused.error, refused.reason], [
    409,
    "interrupt_refused",
    "turn_unproved",
  ]);
  assert.equal(agents.asked.length, 2);
  // A hook reports the start of a turn after the screen shows it.
  await report(w, peer_id, { turn_state: "idle" });
  agents.attempt = { state: "refused", reason: "turn_unproved" };
  agents.onInterrupt = async ({ turn_state }) => {
    if (turn_state === "idle") return void await report(w, peer_id, { turn_state: "working" });
    agents.attempt = ASKED;
    await report(w, peer_id, { turn_state: "idle", error: "interrupted" });
  };
  assert.equal((await interrupt(w)).outcome, "interrupted");
});

Deno.test("a peer at a dialog, offline, a subagent or of an unknown program is not asked", async () => {
  const agents = new StoppableAgents();
  await using w = stopWorld(agents);
  const peer_id = await worker(w);
  const reasonOf = async (peer = "api") => {
    const { status, error, reason } = await interrupt(w, peer);
    assert.deepEqual([status, error], [409, "interrupt_refused"], peer);
    return reason;
  };
  await report(w, peer_id, { turn_state: "awaiting_input" });
  assert.equal(await reasonOf(), "at_dialog");
  await report(w, peer_id, { turn_state: "working" });
  await post(w, `/peers/${peer_id}/offline`);
  assert.equal(await reasonOf(), "not_online");
  const sdk = await addPeer(w, "sdk");
  assert.equal(await reasonOf("sdk"), "turn_unproved");
  await report(w, sdk.peer_id, { turn_state: "working" });
  assert.equal(await reasonOf("sdk"), "no_interrupt");
  assert.equal(await reasonOf("sam"), "no_interrupt");
  const provenance = { ephemeral: true, addressable: false, parent_runtime_id: "s-api" };
  await addPeer(w, "child", { provenance });
  assert.equal(await reasonOf("child"), "parent_has_turn");
  assert.deepEqual(agents.asked, []);
  assert.ok(eventData(w, "interrupt").every(({ outcome }) => outcome === "refused"));
});

Deno.test("an agent that ends during the interrupt is reported as ended", async () => {
  const agents = new StoppableAgents();
  await using w = stopWorld(agents);
  const peer_id = await worker(w);
  agents.onInterrupt = () => void post(w, `/peers/${peer_id}/offline`, { reason: "agent_exited" });
  const done = await interrupt(w);
  assert.deepEqual([done.outcome, done.proof, done.detail], [
    "ended",
    "process",
    "The program of api has ended.",
  ]);
});

Deno.test("of two interrupts at once, one is refused and one asks the agent", async () => {
  const agents = new StoppableAgents();
  await using w = stopWorld(agents);
  const peer_id = await worker(w);
  const first = post(w, "/peers/api/interrupt", {}, TERMINAL);
  await w.clock.settle();
  const second = await post(w, "/peers/api/interrupt", {}, TERMINAL);
  assert.deepEqual([second.status, second.error], [409, "interrupt_in_progress"]);
  await report(w, peer_id, { turn_state: "idle", error: "interrupted" });
  assert.equal((await answered(w, first)).outcome, "interrupted");
  assert.equal(agents.asked.length, 1);
});

Deno.test("a client that stops its own agent gets a frame, once; another client is not asked", async () => {
  await using w = stopWorld(new StoppableAgents());
  const api = await connectPeer(w, "api", { backend: "acp", capabilities: ["interrupt"] });
  const plain = await connectPeer(w, "plain", { backend: "acp" });
  for (const socket of [api, plain]) {
    await socket.send({ type: "status", status: "busy", turn_state: "working" });
  }
  const asking = post(w, "/peers/api/interrupt", {}, TERMINAL);
  await w.clock.settle();
  assert.equal(api.of("interrupt").length, 1);
  await api.send({ type: "status", status: "online", turn_state: "idle", error: "interrupted" });
  const done = await answered(w, asking);
  assert.deepEqual([done.outcome, done.by], ["interrupted", "its own client"]);
  assert.equal((await interrupt(w)).outcome, "not_busy");
  assert.equal(api.of("interrupt").length, 1);
  assert.equal((await interrupt(w, "plain")).reason, "no_interrupt");
  assert.equal(plain.of("interrupt").length, 0);
});

/** The peers of a test of permissions, each with a process, and the certificate of each. */
async function circleOf(w: World) {
  const certificates: Record<string, string> = {};
  const rows = [["boss", "orchestrator", "default", 11], ["web", "agent", "default", 12], [
    "far",
    "orchestrator",
    "other",
    13,
  ]] as const;
  for (const [name, role, circle, agent_pid] of rows) {
    w.processes.start(agent_pid);
    const { birth_certificate } = await addPeer(w, name, { role, circle, agent_pid });
    certificates[name] = birth_certificate ?? "";
  }
  return certificates;
}

Deno.test("an orchestrator interrupts in its circle; no other peer, program or circle does", async () => {
  const agents = new StoppableAgents();
  const sockets = new FakeSockets();
  await using w = stopWorld(agents, { at_terminal: false, sockets });
  const peer_id = await worker(w);
  const certificates = await circleOf(w);
  sockets.holders = [];
  const from = (name: string, headers: Record<string, string> = {}) =>
    answered(w, post(w, `/peers/${peer_id}/interrupt?from_peer=${name}`, {}, headers));
  const certified = (name: string) => ({ "x-mesh-certificate": certificates[name] ?? "" });
  const refused: [string, Promise<{ status: number; error?: string }>][] = [
    ["a program without a name", interrupt(w, peer_id, {})],
    ["a program at no terminal", interrupt(w, peer_id, TERMINAL)],
    ["a program with the orchestrator's name", from("boss")],
    ["a peer without the role", from("web", certified("web"))],
    ["a peer that names the orchestrator", from("boss", certified("web"))],
    ["the orchestrator of another circle", from("far", certified("far"))],
  ];
  for (const [who, answer] of refused) {
    const { status, error } = await answer;
    assert.deepEqual([who, status, error], [who, 403, "interrupt_not_allowed"]);
  }
  sockets.holders = [12];
  assert.equal((await from("boss")).status, 403, "another peer's process");
  assert.deepEqual([agents.asked, eventData(w, "interrupt")], [[], []]);
  agents.onInterrupt = () => {
    sockets.holders = [];
    void report(w, peer_id, { turn_state: "idle", error: "interrupted" });
  };
  sockets.holders = [11];
  assert.equal((await from("boss")).outcome, "interrupted");
  sockets.holders = [];
  await report(w, peer_id, { turn_state: "working" });
  assert.equal((await from("boss", certified("boss"))).outcome, "interrupted");
  assert.equal(eventData(w, "interrupt").at(-1)?.from, "@boss");
  await post(w, "/peers/boss/offline");
  assert.equal((await from("boss", certified("boss"))).error, "interrupt_not_allowed");
});

Deno.test("an orchestrator does not interrupt its own turn", async () => {
  await using w = stopWorld(new StoppableAgents(), { at_terminal: false });
  const { boss } = await circleOf(w);
  const own = await post(w, "/peers/boss/interrupt", {}, { "x-mesh-certificate": boss });
  assert.deepEqual([own.status, own.error], [422, "to_self"]);
});

Deno.test("a page interrupts after a sign-in, unless an agent holds its cookie", async () => {
  const agents = new StoppableAgents();
  const sockets = new FakeSockets();
  await using w = stopWorld(agents, { at_terminal: false, sockets });
  const peer_id = await worker(w);
  sockets.holders = [];
  const page = await signIn(w);
  agents.onInterrupt = () => void report(w, peer_id, { turn_state: "idle", error: "interrupted" });
  sockets.holders = [7];
  assert.equal((await interrupt(w, "api", page)).error, "interrupt_not_allowed");
  sockets.holders = [];
  assert.equal((await interrupt(w, "api", page)).outcome, "interrupted");
});
