/** Old spawns and restarts are deleted by age and number; entries that a peer needs stay. */

import assert from "node:assert/strict";
import * as z from "zod";
import { SpawnLogRetention } from "../../../../daemon/features/spawn/log_retention.ts";
import type { World } from "../../../support/world.ts";
import { addPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { agentInPane, restartAndRegister } from "../../../support/daemon/restarts.ts";
import { SOCKET, spawningWorld } from "../../../support/daemon/spawns.ts";

const DAY_SECONDS = 86_400;
const Count = z.object({ count: z.number() });

function counts({ daemon: { ctx: { db } } }: World) {
  const spawns = db.get(Count, "select count(*) as count from spawns")?.count;
  const restarts = db.get(Count, "select count(*) as count from restarts")?.count;
  return { spawns, restarts };
}

/** Lets days pass, and ticks until every old entry is deleted. */
async function days(w: World, count: number): Promise<void> {
  await w.tick(count * DAY_SECONDS);
  for (let ticks = 0; ticks < 4; ticks++) await w.tick(61);
}

Deno.test("finished spawns and restarts are deleted after 30 days, except the last of a known peer", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, terminals } = fixture;
  const { peer_id } = await agentInPane(fixture);
  const first = await restartAndRegister(fixture);
  const last = await restartAndRegister(fixture);
  assert.deepEqual([first.answer.outcome, last.answer.outcome], ["restarted", "restarted"]);
  for (let spawn = 0; spawn < 2; spawn++) {
    const body = { backend: "generic", path: folder };
    for (const { pane_pid } of terminals.panes.values()) w.processes.end(pane_pid);
    const { pane_id } = await post(w, "/spawn", body);
    const agent_pid = terminals.panes.get(pane_id)?.pane_pid;
    const location = { pane_id, tmux_socket: SOCKET, path: folder, agent_pid };
    await addPeer(w, "worker", { backend: "generic", ...location, runtime_session_id: "s-worker" });
  }
  await days(w, 29);
  assert.deepEqual(counts(w), { spawns: 2, restarts: 2 });
  await days(w, 1);
  assert.deepEqual(counts(w), { spawns: 1, restarts: 1 }, "the older ones are gone");
  assert.equal((await get(w, `/peers/${peer_id}/restart`)).restart_id, last.answer.restart_id);
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  await w.fetch("/peers/worker", { method: "DELETE" });
  await days(w, 1);
  assert.deepEqual(counts(w), { spawns: 0, restarts: 0 }, "no peer needs them");
  assert.deepEqual(w.logged, []);
});

Deno.test("a spawn that still awaits its agent is kept; an abandoned one is deleted in time", async () => {
  await using fixture = await spawningWorld({ settings: { "daemon.history_days": "1" } });
  const { w, folder } = fixture;
  await post(w, "/spawn", { backend: "generic", path: folder });
  await w.tick(DAY_SECONDS - 10);
  for (let ticks = 0; ticks < 3; ticks++) await w.tick();
  assert.equal(counts(w).spawns, 1);
  await days(w, 1); // It was abandoned after a day, and that was less than a day ago.
  assert.equal(counts(w).spawns, 1);
  await days(w, 1);
  assert.equal(counts(w).spawns, 0);
});

Deno.test("only the newest entries are kept, and each tick deletes a limited number", async () => {
  await using fixture = await spawningWorld();
  const { w, folder } = fixture;
  const { pane_id } = await post(w, "/spawn", { backend: "generic", path: folder });
  const { db } = w.daemon.ctx;
  db.transact((tx) => tx.run("update spawns set settled_at = created_at"));
  const columns = db.all(
    z.object({ name: z.string() }),
    "select name from pragma_table_info('spawns')",
  )
    .map(({ name }) => name).filter((name) => name !== "seq" && name !== "spawn_id").join(", ");
  db.transact((tx) =>
    tx.run(
      `with recursive copy (number) as
       (select 1 union all select number + 1 from copy where number < 199)
     insert into spawns (spawn_id, ${columns}) select 'spawn-' || number, ${columns} from copy
     join spawns where pane_id = :pane_id`,
      { pane_id },
    )
  );
  assert.equal(counts(w).spawns, 200);
  const limits = { history_ms: 30 * DAY_SECONDS * 1000, entries_max: 20 };
  const retention = new SpawnLogRetention(w.daemon.ctx, limits, () => true);
  const now = w.clock.now();
  retention.tick(now);
  assert.equal(counts(w).spawns, 150, "one tick deletes a limited number");
  for (let tick = 0; tick < 4; tick++) retention.tick(now);
  assert.equal(counts(w).spawns, 20);
});
