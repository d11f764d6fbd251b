/** A session is never opened twice, and a wake that fails says so. */

import assert from "node:assert/strict";
import { listInbox } from "protocol/inbox.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { addPeer, ask, post } from "../../../support/daemon/peer_clients.ts";
import { texts } from "../../../support/daemon/message_log.ts";
import {
  apiOf,
  reportStart,
  sleepingWorld,
  startAgent,
  untilLaunched,
  wakeItems,
} from "../../../support/daemon/wakes.ts";

const ALWAYS = { settings: { "daemon.wake": "always" } };

Deno.test("a session that a program outside of the mesh has open is not opened a second time", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w, terminals, running } = fixture;
  running.add("s-1");
  await addPeer(w, "web");
  await ask(w, "web", "api");
  await w.tick(10);
  assert.equal(terminals.launches.length, 0);
  running.clear();
  await untilLaunched(fixture);
});

Deno.test("a person who wakes an agent whose session is open elsewhere reads that mesh tries again", async () => {
  await using fixture = await sleepingWorld({ settings: { "daemon.wake": "never" } });
  const { w, running } = fixture;
  running.add("s-1");
  const { status, wake } = await post(w, "/peers/api/wake");
  assert.deepEqual([status, wake.state, wake.reason], [200, "waking", "session_running"]);
  assert.match(wake.detail, /process 77.*mesh tries again for 30 s/);
  running.clear();
  await untilLaunched(fixture);
});

Deno.test("a session that stays open elsewhere is given up, with the program that has it", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w, terminals, running } = fixture;
  running.add("s-1");
  await addPeer(w, "web");
  await ask(w, "web", "api");
  for (let seconds = 0; seconds < 35; seconds++) await w.tick();
  const { wake } = await apiOf(w);
  assert.deepEqual([wake?.state, wake?.reason], ["asleep", "session_running"]);
  assert.match(wake?.detail ?? "", /process 77/);
  assert.equal(terminals.launches.length, 0);
});

Deno.test("an agent that is still ending is not started beside itself", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w, terminals } = fixture;
  const second = await startAgent(fixture);
  await post(w, `/peers/${second.peer_id}/offline`, { reason: "session_end" });
  await addPeer(w, "web");
  await ask(w, "web", "api");
  await w.tick(3);
  assert.equal(terminals.launches.length, 0, "its process runs");
  terminals.end(second.agent_pid);
  await untilLaunched(fixture);
});

Deno.test("a peer that comes back while its pane is being opened loses the second instance", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w, terminals } = fixture;
  const open = terminals.openWindow.bind(terminals);
  terminals.openWindow = async (...given) => {
    await startAgent(fixture);
    return await open(...given);
  };
  await addPeer(w, "web");
  await ask(w, "web", "api");
  await untilLaunched(fixture);
  const [launch] = terminals.launches;
  assert.ok(launch, "it was opened");
  assert.ok(!terminals.panes.has(launch.pane_id), "and closed again");
  assert.equal((await apiOf(w)).status, "online");
});

Deno.test("a failure is told to the askers, and nothing is started again for five minutes", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w, terminals } = fixture;
  terminals.broken = "no space";
  await addPeer(w, "web");
  const id = await ask(w, "web", "api");
  for (let ticks = 0; ticks < 20; ticks++) await w.tick();
  const { wake } = await apiOf(w);
  assert.deepEqual([wake?.state, wake?.reason], ["asleep", "spawn_failed"]);
  const told = await texts(w, { peer: "web" });
  assert.match(told.find((text) => text.includes("could not be woken")) ?? "", new RegExp(id));
  terminals.broken = undefined;
  await ask(w, "web", "api", "And now?");
  await w.tick(5);
  assert.equal(terminals.launches.length, 0);
  const woken = await post(w, "/peers/api/wake");
  assert.deepEqual([woken.status, woken.wake?.state], [200, "waking"], "a person may");
  assert.equal(terminals.launches.length, 1);
});

Deno.test("an agent that ends at its start is a failed wake, and no loop", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w, terminals } = fixture;
  await addPeer(w, "web");
  await ask(w, "web", "api");
  await untilLaunched(fixture);
  const [launch] = terminals.launches;
  terminals.end(terminals.panes.get(launch?.pane_id ?? "")?.pane_pid ?? 0);
  for (let seconds = 0; seconds < 20; seconds++) await w.tick();
  assert.equal((await apiOf(w)).wake?.reason, "exited");
  assert.equal(terminals.launches.length, 1);
});

/** An agent that was started for an ask, and does not register for some minutes. */
async function silentAgent(minutes: number) {
  const fixture = await sleepingWorld(ALWAYS);
  const { w, terminals } = fixture;
  await addPeer(w, "web");
  const correlation_id = await ask(w, "web", "api");
  await untilLaunched(fixture);
  const { pane_id = "" } = terminals.launches[0] ?? {};
  const pid = terminals.panes.get(pane_id)?.pane_pid ?? 0;
  const pass = async (count: number) => {
    await w.clock.advance(count * 60_000);
    for (let ticks = 0; ticks < 30; ticks++) await w.tick();
  };
  await pass(minutes);
  return { fixture, correlation_id, pane_id, pid, pass };
}

Deno.test("an agent that does not register in time is ended, and its asker and the trace say so", async () => {
  const { fixture, correlation_id, pane_id, pid, pass } = await silentAgent(2);
  await using _ = fixture;
  const { w, terminals, processes } = fixture;
  assert.equal((await apiOf(w)).wake?.state, "waking", "it has time");
  await pass(1);
  const { wake } = await apiOf(w);
  assert.deepEqual([wake?.state, wake?.reason], ["asleep", "not_registered"]);
  assert.ok(!processes.isAlive(pid) && !terminals.panes.has(pane_id), "its program has ended");
  const told = await texts(w, { peer: "web" });
  const failure = told.find((text) => text.includes("could not be woken")) ?? "";
  assert.match(failure, new RegExp(`had not registered after 3 minutes.*${correlation_id}`));
  const { items } = await w.call(listInbox, { query: {} });
  assert.match(items[0]?.text ?? "", /^api could not be woken: Its program in %\d+ had not/);
  const { stages } = await w.call(getTrace, { params: { trace_id: correlation_id } });
  const failed = stages.find(({ stage }) => stage === "wake_failed");
  assert.match(failed?.detail ?? "", /mesh has ended it/);
  assert.equal(terminals.launches.length, 1);
});

Deno.test("a silent agent whose program does not end keeps its session, so no second one starts", async () => {
  const { fixture, pid, pass } = await silentAgent(0);
  await using _ = fixture;
  const { w, terminals, processes } = fixture;
  processes.otherUsersPids.add(pid);
  await pass(4);
  await ask(w, "web", "api", "And now?");
  await pass(6);
  assert.ok(processes.isAlive(pid));
  assert.deepEqual([terminals.launches.length, (await apiOf(w)).wake?.state], [1, "waking"]);
});

Deno.test("a silent agent is left alone while a person looks at its pane, or if the pane runs another program", async () => {
  const { fixture, pane_id, pid, pass } = await silentAgent(0);
  await using _ = fixture;
  const { w, terminals, processes } = fixture;
  terminals.watched.add(pane_id);
  await pass(4);
  assert.ok(processes.isAlive(pid));
  terminals.watched.clear();
  const [pane] = [...terminals.panes.values()].filter((known) => known.pane_id === pane_id);
  assert.ok(pane);
  processes.start(4711);
  terminals.panes.set(pane_id, { ...pane, pane_pid: 4711 });
  await pass(0);
  assert.ok(processes.isAlive(4711));
  assert.equal((await apiOf(w)).wake?.reason, "not_registered");
});

Deno.test("a failed wake is the reason of the sleep, although the agent was online for a moment", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w, terminals, peer_id } = fixture;
  await addPeer(w, "web");
  await ask(w, "web", "api");
  await untilLaunched(fixture);
  const [launch] = terminals.launches;
  await w.tick(2);
  await post(w, `/peers/${peer_id}/turn`, { turn_state: "idle" });
  await post(w, `/peers/${peer_id}/offline`, {});
  terminals.end(terminals.panes.get(launch?.pane_id ?? "")?.pane_pid ?? 0);
  for (let seconds = 0; seconds < 20; seconds++) await w.tick();
  const { status, wake } = await apiOf(w);
  assert.deepEqual([status, wake?.state, wake?.reason], ["offline", "asleep", "exited"]);
});

Deno.test("an agent that ends after its start with unread asks is offered to the human, and not started again", async () => {
  await using fixture = await sleepingWorld(ALWAYS);
  const { w, terminals } = fixture;
  await addPeer(w, "web");
  await ask(w, "web", "api");
  await untilLaunched(fixture);
  const { agent_pid } = await reportStart(fixture);
  terminals.end(agent_pid);
  for (let seconds = 0; seconds < 10; seconds++) await w.tick();
  assert.equal(terminals.launches.length, 1);
  assert.equal((await wakeItems(w)).length, 1);
});

Deno.test("nothing is sent again that the agent may have read: a woken agent is only reminded of it", async () => {
  await using fixture = await sleepingWorld();
  const { w, terminals, typed } = fixture;
  const api = await startAgent(fixture);
  await addPeer(w, "web");
  const id = await ask(w, "web", "api", "Delete the old branch");
  await w.tick(2);
  assert.equal(typed.length, 1);
  terminals.end(api.agent_pid);
  for (let seconds = 0; seconds < 8; seconds++) await w.tick();
  const [item] = await wakeItems(w);
  assert.match(item?.text ?? "", /ended before it had answered 1 ask[^]*Delete the old branch/);
  await post(w, `/inbox/${item?.item_id}/reply`, { option_id: "wake" });
  await untilLaunched(fixture);
  await reportStart(fixture);
  await w.tick(2);
  assert.equal(typed.length, 2);
  assert.ok(!typed[1]?.includes("Delete the old branch"));
  assert.match(typed[1] ?? "", new RegExp(`${id} from @web`));
});

Deno.test("an agent that was killed or closed on purpose is not offered", async () => {
  for (const reason of ["job_over", "killed"]) {
    await using fixture = await sleepingWorld();
    const { w, terminals } = fixture;
    const api = await startAgent(fixture);
    await addPeer(w, "web");
    await ask(w, "web", "api");
    await post(w, `/peers/${api.peer_id}/offline`, { reason });
    terminals.end(api.agent_pid);
    for (let seconds = 0; seconds < 8; seconds++) await w.tick();
    assert.deepEqual(await wakeItems(w), [], reason);
  }
});
