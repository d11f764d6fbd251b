/** A restart stops the old process: it waits, can be cancelled, and fails after a limit. */

import assert from "node:assert/strict";
import { eventData, get, post } from "../../../../support/daemon/peer_clients.ts";
import {
  agentInPane,
  registerRelaunched,
  restart,
  restartAndRegister,
  stagesOf,
} from "../../../../support/daemon/restarts.ts";
import { spawningWorld } from "../../../../support/daemon/spawns.ts";

Deno.test("a restart waits for the turn to end, and can be cancelled until then [4.peers.restart-cancel]", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals, processes } = fixture;
  const { agent_pid } = await agentInPane(fixture);
  const cancel = async () => (await w.fetch("/peers/api/restart", { method: "DELETE" })).json();
  assert.deepEqual(await cancel(), { cancelled: false, reason: "no_restart_in_flight" });
  await post(w, "/peers/api/turn", { turn_state: "working" });
  const begun = await restart(w, { wait: false });
  assert.deepEqual([begun.outcome, begun.finished_at], ["in_progress", null]);
  await w.tick(5);
  assert.ok(processes.isAlive(agent_pid));
  const second = await restart(w);
  assert.deepEqual([second.outcome, second.failed.reason], ["failed", "restart_in_progress"]);
  assert.deepEqual(await cancel(), { cancelled: true });
  await post(w, "/peers/api/turn", { turn_state: "idle" });
  await w.tick(5);
  const after = await get(w, "/peers/api/restart");
  assert.deepEqual([after.restart_id, after.outcome], [begun.restart_id, "cancelled"]);
  assert.deepEqual(stagesOf(after), ["preflight", "quiesce"]);
  assert.ok(processes.isAlive(agent_pid) && terminals.launches.length === 0);
  const failed = eventData(w, "peer_restart_failed");
  assert.deepEqual(failed.map(({ stage, reason }) => [stage, reason]), [["quiesce", "cancelled"]]);
});

Deno.test("a restart cannot be cancelled once it stops the agent [4.peers.restart-cancel]", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  await agentInPane(fixture);
  await restart(w, { wait: false });
  while (terminals.launches.length === 0) await w.clock.advance(250);
  await w.clock.settle();
  const answer = await (await w.fetch("/peers/api/restart", { method: "DELETE" })).json();
  assert.deepEqual(answer, { cancelled: false, reason: "already_at_register" });
  await registerRelaunched(fixture);
  await w.tick();
  assert.equal((await get(w, "/peers/api/restart")).outcome, "restarted");
});

Deno.test("a restart fails without a change when the turn does not end", async () => {
  await using fixture = await spawningWorld();
  const { w, processes } = fixture;
  const { agent_pid } = await agentInPane(fixture);
  await post(w, "/peers/api/turn", { turn_state: "awaiting_input" });
  const { failed } = await restart(w);
  assert.deepEqual([failed.stage, failed.reason], ["quiesce", "still_working"]);
  assert.ok(processes.isAlive(agent_pid));
  assert.equal((await get(w, "/peers/api")).status, "online");
});

Deno.test("a process that ignores SIGTERM is killed, and if it survives nothing is launched", async () => {
  for (const deaf of [["SIGTERM"], ["SIGTERM", "SIGKILL"]]) {
    await using fixture = await spawningWorld();
    const { w, terminals } = fixture;
    await agentInPane(fixture);
    terminals.deaf = deaf;
    if (deaf.length === 1) {
      assert.equal((await restartAndRegister(fixture)).answer.outcome, "restarted");
      continue;
    }
    const { failed } = await restart(w);
    assert.deepEqual([failed.stage, failed.reason], ["stop", "did_not_stop"]);
    assert.equal(terminals.launches.length, 0);
    assert.equal(terminals.kept.size, 0, "the pane closes with its program, as before");
    assert.equal((await get(w, "/peers/api")).status, "online", "the old process still runs");
  }
});

Deno.test("a process of another user is not stopped: the restart fails and says so", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals, processes } = fixture;
  const { agent_pid } = await agentInPane(fixture);
  processes.otherUsersPids.add(agent_pid);
  const { failed } = await restart(w);
  assert.deepEqual([failed.stage, failed.reason], ["stop", "not_permitted"]);
  assert.ok(processes.isAlive(agent_pid) && terminals.launches.length === 0);
});
