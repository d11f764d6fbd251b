/** Twenty spawned agents in tmux: all are reached, and no unknown process of ours runs. */

import assert from "node:assert/strict";
import { AgentFleet, FLEET_SIZE } from "../../support/programs/spawned_agents.ts";
import { temporary } from "../../support/programs/child.ts";
import { until } from "../../support/waiting.ts";

Deno.test("for 20 spawned peers only the daemon, its tmux client and the stdio proxies run", async () => {
  using state = temporary();
  await using fleet = await AgentFleet.start(state.path);
  const { peers } = await fleet.get("/peers");
  assert.deepEqual(
    (peers as { status: string }[]).map(({ status }) => status),
    Array(FLEET_SIZE).fill("online"),
  );
  const kinds = fleet.processes().map(({ kind }) => kind).sort();
  const proxies = Array(FLEET_SIZE / 2).fill("stdio proxy");
  assert.deepEqual(kinds, ["daemon", ...proxies, "tmux client"]);
  await fleet.post("/notify", { from_peer: "cli", to_peer: "member-0", text: "hello, agent" });
  const [pane = ""] = fleet.panes;
  await until(
    "the message",
    () => fleet.tmux("capture-pane", "-p", "-t", pane).includes("hello, agent"),
  );
  for (const { pid, resident_mb } of fleet.processes()) assert.ok(resident_mb > 0, String(pid));
});
