/** Spawns and restarts are forgotten: by age, by number, in small steps; what is needed stays. */

import assert from "node:assert/strict";
import * as z from "zod";
import { JournalRetention } from "../../../../../daemon/features/spawn/log/retention.ts";
import type { World } from "../../../../support/world.ts";
import { enter, get, post } from "../../../../support/daemon/peer_clients.ts";
import { agent, restartAndComeBack } from "../../../../support/daemon/restarts.ts";
import { SOCKET, spawningWorld } from "../../../../support/daemon/spawns.ts";

const DAY_SECONDS = 86_400;
const Count = z.object({ count: z.number() });

function counts({ daemon: { ground: { db } } }: World) {
  const spawns = db.get(Count, "select count(*) as count from spawns")?.count;
  const restarts = db.get(Count, "select count(*) as count from restarts")?.count;
  return { spawns, restarts };
}

/** Days pass, and the heart beats often enough that all that is old has gone. */
async function days(w: World, count: number): Promise<void> {
  await w.beat(count * DAY_SECONDS);
  for (let beats = 0; beats < 4; beats++) await w.beat(61);
}

Deno.test("spawns and restarts are kept 30 days from their end, and of a known peer the last one", async () => {
  await using house = await spawningWorld();
  const { w, folder, terminals } = house;
  const { peer_id } = await agent(house);
  const first = await restartAndComeBack(house);
  const last = await restartAndComeBack(house);
  assert.deepEqual([first.answer.outcome, last.answer.outcome], ["restarted", "restarted"]);
  for (let spawn = 0; spawn < 2; spawn++) {
    const body = { backend: "generic", path: folder };
    const { pane_id } = await post(w, "/spawn", body);
    const agent_pid = terminals.panes.get(pane_id)?.pane_pid;
    const place = { pane_id, tmux_socket: SOCKET, path: folder, agent_pid };
    await enter(w, "worker", { backend: "generic", ...place, runtime_session_id: "s-worker" });
  }
  await days(w, 29);
  assert.deepEqual(counts(w), { spawns: 2, restarts: 2 });
  await days(w, 1);
  assert.deepEqual(counts(w), { spawns: 1, restarts: 1 }, "the older ones are gone");
  assert.equal((await get(w, `/peers/${peer_id}/restart`)).restart_id, last.answer.restart_id);
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  await w.fetch("/peers/worker", { method: "DELETE" });
  await days(w, 1);
  assert.deepEqual(counts(w), { spawns: 0, restarts: 0 }, "nobody needs them");
  assert.deepEqual(w.logged, []);
});

Deno.test("a spawn that is awaited stays, and one that nobody came to goes once it was given up", async () => {
  await using house = await spawningWorld({ settings: { "daemon.history_days": "1" } });
  const { w, folder } = house;
  await post(w, "/spawn", { backend: "generic", path: folder });
  await w.beat(DAY_SECONDS - 10);
  for (let beats = 0; beats < 3; beats++) await w.beat();
  assert.equal(counts(w).spawns, 1);
  await days(w, 1); // It was given up after a day, and that day is not over a day ago.
  assert.equal(counts(w).spawns, 1);
  await days(w, 1);
  assert.equal(counts(w).spawns, 0);
});

Deno.test("of many only the newest are kept, and one beat takes no more than it may", async () => {
  await using house = await spawningWorld();
  const { w, folder } = house;
  const { pane_id } = await post(w, "/spawn", { backend: "generic", path: folder });
  const { db } = w.daemon.ground;
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
  const retention = new JournalRetention(w.daemon.ground, limits, () => true);
  const now = w.clock.now();
  retention.beat(now);
  assert.equal(counts(w).spawns, 150, "a beat takes small steps");
  for (let beat = 0; beat < 4; beat++) retention.beat(now);
  assert.equal(counts(w).spawns, 20);
});
