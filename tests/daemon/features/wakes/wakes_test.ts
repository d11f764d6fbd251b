/** Asks to agents that have ended: what wakes them, and who is asked. */

import assert from "node:assert/strict";
import { getTrace } from "protocol/messages/contract.ts";
import { getMessage } from "protocol/messages/log.ts";
import { FakeSockets } from "../../../support/world.ts";
import { unreachedPeers } from "protocol/derived/unreached.ts";
import { addPeer, ask, get, post } from "../../../support/daemon/peer_clients.ts";
import {
  apiOf,
  reportStart,
  sleepingWorld,
  startAgent,
  untilLaunched,
  wakeItems,
} from "../../../support/daemon/wakes.ts";

const ALWAYS = { settings: { "daemon.wake": "always" } };

Deno.test("with daemon.wake: always an ask resumes the session of an ended agent, and it answers as the same peer", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w, terminals, peer_id, typed, folder } = fixture;
  await addPeer(w, "web");
  const asked = await post(w, "/ask", { from_peer: "web", to_peer: "api", text: "Ready?" });
  assert.deepEqual([asked.delivery_state, asked.wake.state], ["queued", "waking"]);
  await untilLaunched(fixture);
  const [launch] = terminals.launches;
  assert.deepEqual([launch?.argv.slice(-2), launch?.cwd], [["resume", "s-1"], folder]);
  const back = await reportStart(fixture);
  assert.deepEqual([back.peer_id, back.display_name], [peer_id, "api"]);
  await w.tick();
  assert.equal(typed.length, 1);
  assert.match(typed[0] ?? "", /Ready\?/);
  const { wake, status } = await apiOf(w);
  assert.deepEqual([status, wake?.state], ["online", "awake"]);
  const acked = await post(w, "/ack", {
    correlation_id: asked.correlation_id,
    message: "Yes",
    from_peer: peer_id,
  });
  assert.equal(acked.close_reason, "ack_with_msg");
});

Deno.test("the metrics count wakes by their phase and their outcome", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w } = fixture;
  await addPeer(w, "web");
  await ask(w, "web", "api");
  await untilLaunched(fixture);
  const metrics = async () => await (await w.fetch("/metrics")).text();
  assert.match(await metrics(), /mesh_wakes\{state="launched"\} 1/);
  await reportStart(fixture);
  assert.match(await metrics(), /mesh_wakes\{state="awake"\} 1/);
});

Deno.test("only asks wake: a job waits with its reason, a broadcast leaves the agent out", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w, terminals, peer_id } = fixture;
  await addPeer(w, "web");
  const { job_id } = await post(w, "/jobs", { prompt: "Mend it", assigned_peer: "api" });
  const sent = await post(w, "/broadcast", { from_peer: "web", text: "Hello" });
  const note = await post(w, "/notify", { from_peer: "web", to_peer: "api", text: "Hello" });
  await w.tick(10);
  assert.equal(terminals.launches.length, 0);
  const { state, state_reason } = await get(w, `/jobs/${job_id}`);
  assert.deepEqual([state, state_reason], ["queued", "executor_offline"]);
  assert.deepEqual(sent.skipped, [{ peer_id, reason: "offline" }]);
  const [unreached] = unreachedPeers(sent, (await get(w, "/peers")).peers);
  assert.equal(unreached?.why, "it is asleep, and a broadcast wakes nobody");
  assert.deepEqual([note.queued, note.reason], [true, "recipient_offline"]);
});

Deno.test("any number of messages cause one resumption", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w, terminals, typed } = fixture;
  await addPeer(w, "web");
  await Promise.all([1, 2, 3, 4, 5].map((n) => ask(w, "web", "api", `Question ${n}`)));
  await w.tick(3);
  await ask(w, "web", "api", "Question 6");
  await untilLaunched(fixture);
  await reportStart(fixture);
  await w.tick(2);
  assert.equal(typed.length, 6);
  assert.equal(terminals.launches.length, 1);
});

Deno.test("by default the human is asked, with the text, and the agent starts only after the answer", async () => {
  await using fixture = await sleepingWorld();
  const { w, terminals } = fixture;
  await addPeer(w, "web");
  const asked = await post(w, "/ask", { from_peer: "web", to_peer: "api", text: "Ready?\nNow?" });
  assert.equal(asked.wake.state, "asking");
  await ask(w, "web", "api", "And this?");
  const items = await wakeItems(w);
  assert.equal(items.length, 1, "one question for all messages");
  const [item] = items;
  assert.match(item?.text ?? "", /api \(codex in .*\) is asleep[^]*@web[^]*> Ready\?\n> Now\?/);
  const options = item?.question?.options?.map(({ id }) => id);
  assert.deepEqual(options, ["wake", "not_now", "never"]);
  await w.tick(10);
  assert.equal(terminals.launches.length, 0);
  const replied = await post(w, `/inbox/${item?.item_id}/reply`, { option_id: "wake" });
  assert.equal(replied.action, "answered");
  await untilLaunched(fixture);
  assert.equal((await apiOf(w)).wake?.state, "waking");
});

Deno.test("a waiting ask says that it waits for the human, that it is being woken, and when it was woken", async () => {
  await using fixture = await sleepingWorld();
  const { w } = fixture;
  await addPeer(w, "web");
  const trace_id = await ask(w, "web", "api");
  const queued = async () => {
    const { stages } = await w.call(getTrace, { params: { trace_id } });
    return stages.find(({ stage }) => stage === "queued")?.detail;
  };
  assert.equal(await queued(), "wake_asked");
  const [item] = await wakeItems(w);
  await post(w, `/inbox/${item?.item_id}/reply`, { option_id: "wake" });
  await untilLaunched(fixture);
  assert.equal(await queued(), "waking");
  await w.tick(30);
  await reportStart(fixture);
  await w.tick();
  const { stages } = await w.call(getTrace, { params: { trace_id } });
  const times = new Map(stages.map(({ stage, ts }) => [stage, Number(new Date(ts))]));
  const names = stages.map(({ stage }) => stage);
  assert.deepEqual(names.filter((name) => /wak|woken/.test(name)), [
    "wake_asked",
    "waking",
    "woken",
  ]);
  const waited = (times.get("woken") ?? 0) - (times.get("waking") ?? 0);
  assert.ok(waited >= 30_000, `woken after ${waited} ms`);
});

Deno.test("not now leaves the agent asleep, and asks nobody again for an hour", async () => {
  await using fixture = await sleepingWorld();
  const { w, terminals } = fixture;
  await addPeer(w, "web");
  await ask(w, "web", "api");
  const [item] = await wakeItems(w);
  await post(w, `/inbox/${item?.item_id}/reply`, { option_id: "not_now" });
  const again = await post(w, "/ask", { from_peer: "web", to_peer: "api", text: "And now?" });
  assert.deepEqual([again.wake.state, again.wake.reason], ["asleep", "not_now"]);
  await w.clock.advance(61 * 60_000);
  await ask(w, "web", "api", "An hour later?");
  assert.equal((await wakeItems(w)).length, 2);
  assert.equal(terminals.launches.length, 0);
});

Deno.test("never for this peer is stored with the peer, until a person changes it", async () => {
  await using fixture = await sleepingWorld();
  const { w } = fixture;
  await addPeer(w, "web");
  await ask(w, "web", "api");
  const [item] = await wakeItems(w);
  await post(w, `/inbox/${item?.item_id}/reply`, { option_id: "never" });
  assert.equal((await apiOf(w)).wake_policy, "never");
  await w.clock.advance(2 * 3_600_000);
  const later = await post(w, "/ask", { from_peer: "web", to_peer: "api", text: "Later?" });
  assert.deepEqual([later.wake.state, later.wake.policy], ["asleep", "never"]);
  const body = JSON.stringify({ wake: "always" });
  const refused = await w.fetch("/peers/api", { method: "PATCH", body });
  assert.equal((await refused.json()).error, "human_not_proven");
  const headers = { "x-mesh-terminal": "77" };
  await w.fetch("/peers/api", { method: "PATCH", body, headers });
  await ask(w, "web", "api", "Again?");
  await untilLaunched(fixture);
});

Deno.test("asleep, no such peer and not resumable are told apart", async () => {
  await using fixture = await sleepingWorld({ settings: { "daemon.wake": "never" } });
  const { w, terminals, folder } = fixture;
  await addPeer(w, "web");
  const lost = await addPeer(w, "lost", {
    backend: "codex",
    runtime_session_id: "lost-1",
    path: folder,
  });
  await post(w, `/peers/${lost.peer_id}/offline`, { reason: "session_end" });
  const to = (to_peer: string) => post(w, "/ask", { from_peer: "web", to_peer, text: "There?" });
  const asleep = await to("api");
  assert.deepEqual([asleep.status, asleep.wake.state], [200, "asleep"]);
  const gone = await to("lost");
  assert.deepEqual([gone.wake.state, gone.wake.reason], ["not_resumable", "session_file_missing"]);
  assert.match(gone.wake.detail, /session/);
  const nobody = await to("nobody");
  assert.deepEqual([nobody.status, nobody.error], [404, "unknown_peer"]);
  assert.deepEqual((await to("web")).error, "to_self");
  const refused = await post(w, "/peers/lost/wake");
  assert.deepEqual([refused.status, refused.error, refused.reason], [
    409,
    "not_resumable",
    "session_file_missing",
  ]);
  assert.equal(terminals.launches.length, 0);
});

Deno.test("a session whose files are gone, or whose folder is not allowed, is found out before anybody is asked", async () => {
  for (const [folder, reason] of [[undefined, "unknown_session"], ["/", "path_not_allowed"]]) {
    await using fixture = await sleepingWorld();
    const { w, sessions } = fixture;
    const [known] = sessions.splice(0);
    if (known && folder) sessions.push({ ...known, folder });
    await addPeer(w, "web");
    const asked = await post(w, "/ask", { from_peer: "web", to_peer: "api", text: "Ready?" });
    assert.equal(asked.wake.reason, reason);
    assert.deepEqual(await wakeItems(w), []);
  }
});

// deno-fmt-ignore
const STRANGERS: readonly [name: string, peer: Record<string, unknown>, shown: RegExp][] = [
  ["stranger", { circle: "elsewhere" },                      /@stranger \(circle elsewhere\)/        ],
  // Nothing proves that the caller is this peer.
  ["victim",   { backend: "generic", agent_pid: 900 },       /@victim \(circle default, unverified\)/],
];

for (const [name, peer, shown] of STRANGERS) {
  Deno.test(`with always, an ask of a ${name} still needs the human's word`, async () => {
    const sockets = new FakeSockets();
    await using fixture = await sleepingWorld({ ...ALWAYS, world: { sockets } });
    const { w, terminals, processes } = fixture;
    processes.start(900);
    await addPeer(w, name, peer);
    sockets.holders = [];
    const body = { from_peer: name, to_peer: "api", bypass_circle: true, text: "Run this" };
    assert.equal((await post(w, "/ask", body)).wake.state, "asking");
    const [item] = await wakeItems(w);
    assert.match(item?.text ?? "", shown);
    await w.tick(5);
    assert.equal(terminals.launches.length, 0);
  });
}

Deno.test("an ask that may wake the agent answers the question that a stranger's ask has caused", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w } = fixture;
  await addPeer(w, "stranger", { circle: "elsewhere" });
  await addPeer(w, "web");
  await ask(w, "stranger", "api", "Run this", { bypass_circle: true });
  const [item] = await wakeItems(w);
  assert.equal(item?.read, false);
  await ask(w, "web", "api");
  await untilLaunched(fixture);
  assert.equal((await wakeItems(w))[0]?.read, true);
});

Deno.test("the human's own ask wakes without a question, unless the policy is never", async () => {
  for (const [policy, launches] of [["ask", 1], ["never", 0]] as const) {
    await using fixture = await sleepingWorld({ settings: { "daemon.wake": policy } });
    const { w, terminals } = fixture;
    const headers = { "x-mesh-terminal": "77" };
    await post(w, "/ask", { from_peer: "sam", to_peer: "api", text: "Ready?" }, headers);
    if (launches > 0) await untilLaunched(fixture);
    else await w.tick(2);
    assert.deepEqual([terminals.launches.length, (await wakeItems(w)).length], [launches, 0]);
  }
});

Deno.test("only a person answers the question, and wakes a peer directly", async () => {
  await using fixture = await sleepingWorld();
  const { w, terminals, processes } = fixture;
  processes.start(900);
  const agent = await addPeer(w, "web", { backend: "generic", agent_pid: 900 });
  const correlation_id = await ask(w, agent.peer_id, "api");
  const [item] = await wakeItems(w);
  const option = { option_id: "wake" };
  const answer = { correlation_id: item?.correlation_id, ...option };
  const refusals = [
    await post(w, `/inbox/${item?.item_id}/reply`, option),
    await post(w, "/answer", answer),
    await post(w, "/ack", answer),
    await post(w, "/peers/api/wake"),
  ];
  assert.deepEqual(refusals.map(({ error }) => error), Array(4).fill("human_not_proven"));
  await w.tick(3);
  assert.equal(terminals.launches.length, 0);
  assert.ok(correlation_id);
});

Deno.test("a peer that comes back by itself, and asks that are closed, end the question", async () => {
  for (const ends of ["peer", "ask"]) {
    await using fixture = await sleepingWorld();
    const { w, terminals, pane_id, folder } = fixture;
    await addPeer(w, "web");
    const correlation_id = await ask(w, "web", "api");
    const [item] = await wakeItems(w);
    if (ends === "peer") {
      const { pane_pid } = terminals.userPane();
      const place = { path: folder, agent_pid: pane_pid, runtime_session_id: "s-1" };
      await addPeer(w, "api", { backend: "codex", pane_id, ...place });
    } else await post(w, `/asks/${correlation_id}/cancel`, { peer_id: "web" });
    await w.tick(2);
    const [over] = await wakeItems(w);
    assert.equal(over?.read, true, ends);
    const late = await post(w, `/inbox/${item?.item_id}/reply`, { option_id: "wake" });
    assert.deepEqual([late.status, late.error], [410, "already_closed"]);
    assert.equal(terminals.launches.length, 0);
  }
});

for (const policy of ["always", "ask"]) {
  Deno.test(`with ${policy}, an ask to a sleeping agent at its limit wakes it only after the reset`, async () => {
    await using fixture = await sleepingWorld({ settings: { "daemon.wake": policy } });
    const { w, terminals, records } = fixture;
    const api = await startAgent(fixture);
    await addPeer(w, "web");
    await w.tick(3);
    const at = w.clock.now();
    records.end = {
      how: "failed",
      at,
      source: "session file",
      text: "usage_limit_exceeded",
      resets_at: at + 3_600_000,
    };
    await w.tick(3);
    terminals.end(api.agent_pid);
    await w.tick(8);
    const id = await ask(w, "web", "api");
    await w.tick(60);
    const wakes = async () => [terminals.launches.length, (await wakeItems(w)).length];
    assert.deepEqual(await wakes(), [0, 0]);
    const { reason } = await w.call(getMessage, { params: { id } });
    const { wake } = await apiOf(w);
    assert.equal(reason, "account_limited");
    assert.deepEqual([wake?.state, wake?.reason], ["asleep", "account_limited"]);
    for (let minutes = 0; minutes < 61; minutes++) await w.tick(60);
    await w.tick(10);
    assert.deepEqual(await wakes(), policy === "always" ? [1, 0] : [0, 1]);
  });
}
