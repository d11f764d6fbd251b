/** Woken agents go back to sleep; those that a person uses do not. */

import assert from "node:assert/strict";
import { addPeer, ask, post } from "../../../support/daemon/peer_clients.ts";
import {
  apiOf,
  reportStart,
  type SleepingWorld,
  sleepingWorld,
  startAgent,
  untilLaunched,
} from "../../../support/daemon/wakes.ts";

const SETTINGS = { "daemon.wake": "always", "daemon.wake_idle_minutes": "10" };

/** Wakes `api` by an ask of `web`. */
async function woken(fixture: SleepingWorld) {
  const { w } = fixture;
  await addPeer(w, "web");
  const correlation_id = await ask(w, "web", "api");
  await untilLaunched(fixture);
  const started = await reportStart(fixture);
  await w.tick(2);
  return { correlation_id, ...started };
}

async function minutes({ w }: SleepingWorld, count: number): Promise<void> {
  await w.clock.advance(count * 60_000);
  for (let ticks = 0; ticks < 8; ticks++) await w.tick();
}

Deno.test("a woken agent goes back to sleep after its answer and the idle minutes", async () => {
  await using fixture = await sleepingWorld({ settings: SETTINGS });
  const { w, terminals, processes } = fixture;
  const { correlation_id, agent_pid, pane_id, peer_id } = await woken(fixture);
  await minutes(fixture, 30);
  assert.ok(processes.isAlive(agent_pid), "its ask is open");
  await post(w, "/ack", { correlation_id, message: "Yes", from_peer: peer_id });
  await post(w, `/peers/${peer_id}/turn`, { turn_state: "idle" });
  await minutes(fixture, 9);
  assert.ok(processes.isAlive(agent_pid), "it was idle for nine minutes only");
  await minutes(fixture, 2);
  assert.ok(!processes.isAlive(agent_pid));
  assert.ok(!terminals.panes.has(pane_id));
  const { status, offline_reason, wake } = await apiOf(w);
  assert.deepEqual([status, offline_reason, wake?.state], ["offline", "put_to_sleep", "asleep"]);
  await ask(w, "web", "api", "One more?");
  await untilLaunched(fixture, 2);
});

const OF_PERSONS: Readonly<Record<string, (f: SleepingWorld, pane: string) => unknown>> = {
  "a person types in it": async ({ w, peer_id }) => {
    const prompt = "What did web want?";
    await post(w, `/peers/${peer_id}/turn`, { turn_state: "working", prompt });
    await post(w, `/peers/${peer_id}/turn`, { turn_state: "idle" });
  },
  "a person's terminal shows its window": async ({ w, terminals }, pane_id) => {
    terminals.watched.add(pane_id);
    await w.tick(2);
    terminals.watched.clear();
  },
};

for (const [act, take] of Object.entries(OF_PERSONS)) {
  Deno.test(`a woken agent stays awake from the time when ${act}`, async () => {
    await using fixture = await sleepingWorld({ settings: SETTINGS });
    const { w, processes } = fixture;
    const { correlation_id, agent_pid, pane_id, peer_id } = await woken(fixture);
    await take(fixture, pane_id);
    await post(w, "/ack", { correlation_id, message: "Yes", from_peer: peer_id });
    await minutes(fixture, 60);
    assert.ok(processes.isAlive(agent_pid));
    assert.equal((await apiOf(w)).wake, null);
  });
}

Deno.test("an agent that a person started or woke by hand stays awake", async () => {
  await using fixture = await sleepingWorld({ settings: SETTINGS });
  const { w, processes, terminals } = fixture;
  await post(w, "/peers/api/wake");
  const { agent_pid } = await reportStart(fixture);
  await minutes(fixture, 60);
  assert.ok(processes.isAlive(agent_pid));
  terminals.end(agent_pid);
  await w.tick(2);
  const own = await startAgent(fixture);
  await minutes(fixture, 60);
  assert.ok(processes.isAlive(own.agent_pid));
});

Deno.test("an agent that works, or waits for an answer itself, is not put to sleep", async () => {
  await using fixture = await sleepingWorld({ settings: SETTINGS });
  const { w, processes } = fixture;
  const { correlation_id, agent_pid, peer_id } = await woken(fixture);
  await post(w, "/ack", { correlation_id, message: "Yes", from_peer: peer_id });
  const outgoing = await ask(w, peer_id, "web", "Which port?");
  await minutes(fixture, 60);
  assert.ok(processes.isAlive(agent_pid), "it waits for web");
  await post(w, "/ack", { correlation_id: outgoing, message: "8080", from_peer: "web" });
  await post(w, `/peers/${peer_id}/turn`, { turn_state: "working" });
  await minutes(fixture, 60);
  assert.ok(processes.isAlive(agent_pid), "it works");
});

Deno.test("an ask that arrives while the agent is being ended wakes it again, after its end", async () => {
  await using fixture = await sleepingWorld({ settings: SETTINGS });
  const { w, processes, terminals, typed } = fixture;
  const { correlation_id, agent_pid, peer_id } = await woken(fixture);
  await post(w, "/ack", { correlation_id, message: "Yes", from_peer: peer_id });
  processes.ignored = ["SIGHUP", "SIGTERM"];
  await w.clock.advance(11 * 60_000);
  await w.tick();
  assert.equal((await apiOf(w)).offline_reason, "put_to_sleep");
  const before = typed.length;
  await ask(w, "web", "api", "Still there?");
  assert.ok(processes.isAlive(agent_pid));
  assert.equal(terminals.launches.length, 1);
  await untilLaunched(fixture, 2);
  assert.ok(!processes.isAlive(agent_pid));
  await reportStart(fixture);
  await w.tick(2);
  assert.equal(typed.length, before + 1);
});
