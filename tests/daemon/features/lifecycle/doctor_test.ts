/** The doctor of peers: the evidence it shows, and the contradictions it finds. */

import assert from "node:assert/strict";
import { type World, world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { FakeAgents, FakePanes, SOCKET } from "../../../support/host/fake_panes.ts";

const PANE = { pane_id: "%3", tmux_socket: SOCKET };

/** A healthy Claude Code: process 7 in an existing pane. */
async function healthyPeer(more: { backend?: "claude-code" | "generic" } = {}) {
  const [paneObserver, agents] = [new FakePanes(), new FakeAgents(more.backend)];
  const w = world({ paneObserver, adapters: [agents] });
  w.processes.start(7);
  paneObserver.open("%3", { foreground: { pid: 7, started: "1", args: ["claude"] } });
  const known = { backend: "claude-code", agent_pid: 7, runtime_session_id: "s-1", ...PANE };
  const { peer_id } = await addPeer(w, "ada", { ...known, ...more });
  return {
    w,
    paneObserver,
    agents,
    peer_id,
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

async function codes(w: World): Promise<string[]> {
  const { contradictions } = await get(w, "/peers/ada/doctor");
  return contradictions.map(({ code }: { code: string }) => code);
}

interface DoctorCheck {
  readonly name: string;
  readonly ok: boolean | null;
  readonly source: string | null;
  readonly age_seconds: number | null;
  readonly detail: string;
}

Deno.test("the doctor shows each piece of evidence with its source and age [4.peers.doctor]", async () => {
  await using fixture = await healthyPeer();
  const { w, peer_id } = fixture;
  await post(w, "/peers/ada/turn", { turn_state: "working" });
  await w.clock.advance(5000);
  const report = await get(w, "/peers/ada/doctor");
  assert.deepEqual([report.peer_id, report.contradictions], [peer_id, []]);
  const checksByName = new Map(report.checks.map((check: DoctorCheck) => [check.name, check]));
  const of = (name: string) => checksByName.get(name);
  const status = { name: "status", ok: true, source: "hook", age_seconds: 5, detail: "busy" };
  assert.deepEqual(of("status"), status);
  const turn = { name: "turn", ok: null, source: "hook", age_seconds: 5, detail: "working" };
  assert.deepEqual(of("turn"), turn);
  const here = { source: "process table", age_seconds: 0 };
  assert.deepEqual(of("process"), {
    name: "process",
    ok: true,
    ...here,
    detail: "pid 7, started 1",
  });
  assert.deepEqual(of("process in pane"), {
    name: "process in pane",
    ok: true,
    ...here,
    detail: "%3",
  });
  assert.partialDeepStrictEqual(of("pane"), { ok: true, source: "tmux", age_seconds: 0 });
  const pane = { ok: true, source: "pane", detail: "ready" };
  assert.partialDeepStrictEqual(of("transport pane"), pane);
});

Deno.test("the age of evidence counts from its last report, whatever the source [c2.peer.evidence]", async () => {
  await using w = world();
  const socket = await connectPeer(w, "ada");
  await socket.send({ type: "status", status: "busy", turn_state: "working" });
  await w.clock.advance(7000);
  await post(w, "/peers/ada/offline", { reason: "session_end", source: "hook" });
  await w.clock.advance(3000);
  const { checks } = await get(w, "/peers/ada/doctor");
  const status = checks.find(({ name }: DoctorCheck) => name === "status");
  assert.deepEqual([status.ok, status.source, status.age_seconds, status.detail], [
    false,
    "hook",
    3,
    "offline: session_end",
  ]);
});

const MINUTES = 60_000;

// deno-fmt-ignore
const CONTRADICTIONS: readonly (readonly [string, string, (fixture: Awaited<ReturnType<typeof healthyPeer>>) => unknown])[] = [
  ["PANE_MISSING",        "a pane that tmux does not have",         ({ paneObserver }) => paneObserver.close("%3")],
  ["AGENT_PID_DEAD",      "a process that has ended",               ({ w }) => w.processes.end(7)],
  ["PANE_OWNER_MISMATCH", "a process outside its pane",          ({ paneObserver }) => paneObserver.within.clear()],
  ["SESSION_MISMATCH",    "a process that runs a different session",    ({ agents }) => (agents.refusalReason = "session_changed")],
  ["SESSION_MISMATCH",    "a session of two live peers",     addSameSessionPeer],
  ["STALE_PENDING_ASK",   "an ask that has waited for half an hour", letMessageWait],
  ["TURN_STUCK",          "a turn that does not end",               ({ w }) => leaveTurnOpen(w)],
  ["UNPROVED_DELIVERY",   "a message without a proof",          leaveUnproved],
  ["RETIRED_BUT_LIVE",    "a retired peer whose process runs",      ({ w }) => post(w, "/peers/ada/offline", { terminal: true })],
];

async function addSameSessionPeer({ w }: { w: World }) {
  const { peer_id } = await addPeer(w, "bob", { backend: "claude-code" });
  const other = { name: "bob", path: "/work", backend: "claude-code", runtime_session_id: "s-1" };
  await post(w, "/peers", { ...other, peer_id });
}

async function letMessageWait({ w, agents }: { w: World; agents: FakeAgents }) {
  agents.refusalReason = "dialog_open";
  await ask(w, "cli", "ada");
  await w.clock.advance(31 * MINUTES);
}

async function leaveTurnOpen(w: World) {
  await post(w, "/peers/ada/turn", { turn_state: "working" });
  await w.clock.advance(31 * MINUTES);
}

async function leaveUnproved({ w }: { w: World }) {
  await notify(w, "cli", "ada");
  await w.clock.advance(31_000);
}

Deno.test("the doctor does not warn of missing proofs of a program that can give none", async () => {
  await using fixture = await healthyPeer({ backend: "generic" });
  await leaveUnproved(fixture);
  const { checks } = await get(fixture.w, "/peers/ada/doctor");
  const proofs = checks.find(({ name }: DoctorCheck) => name === "proofs");
  assert.deepEqual([proofs.ok, await codes(fixture.w)], [false, []]);
});

for (const [code, what, then] of CONTRADICTIONS) {
  Deno.test(`the doctor reports ${what}`, async () => {
    await using fixture = await healthyPeer();
    const { w, peer_id } = fixture;
    assert.deepEqual(await codes(w), []);
    await then(fixture);
    const id = `/peers/${peer_id}/doctor`;
    const { contradictions } = await get(w, id);
    assert.deepEqual(contradictions.map(({ code }: { code: string }) => code), [code]);
    assert.deepEqual(eventData(w, "peer_contradiction").map(({ code }) => code), [code]);
  });
}

Deno.test("the doctor reports an online peer that no transport reaches", async () => {
  await using w = world();
  await addPeer(w, "ada");
  assert.deepEqual(await codes(w), ["ONLINE_BUT_NO_TRANSPORT"]);
  await post(w, "/peers/ada/offline");
  assert.deepEqual(await codes(w), []);
});

Deno.test("the doctor forgets the contradictions of a removed peer", async () => {
  await using fixture = await healthyPeer();
  const { w, paneObserver } = fixture;
  const { doctor } = w.daemon;
  paneObserver.close("%3");
  assert.deepEqual(await codes(w), ["PANE_MISSING"]);
  await addPeer(w, "bob");
  await get(w, "/peers/bob/doctor");
  const before = doctor.size;
  await w.fetch("/peers/ada", { method: "DELETE" });
  await get(w, "/peers/bob/doctor");
  assert.equal(doctor.size, before - 1);
});

Deno.test("the doctor changes nothing, and publishes each contradiction once while it lasts [c2.event.contradiction]", async () => {
  await using fixture = await healthyPeer();
  const { w, paneObserver, peer_id } = fixture;
  paneObserver.close("%3");
  const before = await get(w, "/peers/ada");
  for (let time = 0; time < 2; time++) assert.deepEqual(await codes(w), ["PANE_MISSING"]);
  assert.deepEqual(await get(w, "/peers/ada"), before);
  const once = [{ peer_id, code: "PANE_MISSING", severity: "error" }];
  assert.deepEqual(eventData(w, "peer_contradiction"), once);
  paneObserver.open("%3", { foreground: { pid: 7, started: "1", args: [] } });
  assert.deepEqual(await codes(w), []);
  paneObserver.close("%3");
  assert.deepEqual(await codes(w), ["PANE_MISSING"]);
  assert.equal(eventData(w, "peer_contradiction").length, 2);
});

Deno.test("a pane of a tmux server that does not answer is not reported as missing", async () => {
  await using fixture = await healthyPeer();
  fixture.paneObserver.reachable = false;
  assert.deepEqual(await codes(fixture.w), []);
});

Deno.test("a peer that ends during its examination is reported in its new state", async () => {
  await using fixture = await healthyPeer();
  const { w, agents, peer_id } = fixture;
  agents.onCheck = () => w.daemon.peers.offline(peer_id, { terminal: true });
  const { contradictions } = await get(w, "/peers/ada/doctor");
  assert.deepEqual(contradictions.map(({ code }: { code: string }) => code), ["RETIRED_BUT_LIVE"]);
});

Deno.test("the doctor answers 404 for an unknown or closed peer", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "ada");
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  for (const name of ["nobody", peer_id]) {
    assert.equal((await get(w, `/peers/${name}/doctor`)).error, "unknown_peer");
  }
});
