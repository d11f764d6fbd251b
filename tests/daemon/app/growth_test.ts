/** No work of the daemon reads a table from one end to the other as the table grows. */

import assert from "node:assert/strict";
import { addPeer, ask, connectPeer, get, notify, post } from "../../support/daemon/peer_clients.ts";
import { schedule } from "../../support/daemon/schedules.ts";
import { recordStatements } from "../../support/storage/query_plans.ts";
import { type World, world } from "../../support/world.ts";

/** Tables that grow with use, and the indexes that hold only the few rows that are unfinished. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  messages: [
    "messages_open",
    "messages_outside",
    "messages_queued",
    "messages_under_way",
    "messages_urgent",
  ],
  events: [],
  jobs: ["jobs_state", "jobs_checking"],
  job_attempts: ["job_attempts_open", "job_attempts_spawn", "job_attempts_release"],
  schedules: ["schedules_due"],
  inbox_items: ["inbox_unread"],
  stages: [],
  idempotency: [],
};
/** Statements that take the first rows of a table only, in the order of the table. */
const FIRST_ROWS = /order by (?:seq|id)(?: desc)? limit/;

const READS = [
  "/health",
  "/metrics",
  "/figures",
  "/peers",
  "/peers?live=true",
  "/peers/ada",
  "/peers/ada/doctor",
  "/messages",
  "/messages?q=plum&peer=ada&state=failed",
  "/asks",
  "/asks?state=open",
  "/asks?state=closed&peer_id=ada",
  "/asks/pending?peer_id=ada",
  "/asks/history?peer_id=ada&since=2000-01-01T00:00:00Z",
  "/deliveries",
  "/deliveries?state=failed",
  "/deliveries?state=queued",
  "/events?type=ask",
  "/inbox",
  "/inbox?unread=1",
  "/ids/abcd",
];

/** Does what a daemon does in a day. */
async function useAll(w: World): Promise<void> {
  await addPeer(w, "ada");
  await addPeer(w, "eve");
  await connectPeer(w, "bob");
  await post(w, "/ack", { correlation_id: await ask(w, "ada", "bob"), message: "Yes" });
  await ask(w, "ada", "sam");
  await ask(w, "bob", "eve");
  await notify(w, "bob", "eve");
  await post(w, "/broadcast", { from_peer: "ada", text: "All" });
  await post(w, "/asks/many", { from_peer: "ada", to_peers: ["bob", "eve"], text: "Many" });
  await post(w, "/jobs", { title: "Work", request: "Do it", assigned_peer_id: "bob" });
  await schedule(w);
  await get(w, "/deliveries/pending?peer_id=eve");
  await post(w, "/peers/prune", { dry_run: true });
  for (const path of READS) await (await w.fetch(path)).text();
  for (const seconds of [1, 61, 3600, 40 * 86_400, 61]) await w.tick(seconds);
}

Deno.test("no statement reads a table that grows from end to end", async () => {
  using recorded = recordStatements();
  await using w = world({ settings: { "human.name": "sam" } });
  await useAll(w);
  assert.ok(recorded.statements.size > 100, "the statements of a day");
  const scans = Object.entries(TABLES).flatMap(([table, indexes]) =>
    recorded.scansOf(w.daemon.ctx.db, table, indexes)
      .filter((sql) => !FIRST_ROWS.test(sql.replaceAll(/\s+/g, " ")))
      .map((sql) => `${table}: ${sql}`)
  );
  assert.deepEqual(scans, []);
});

Deno.test("a tick reads live peers, and the peers of a pane or a process, by an index", async () => {
  using recorded = recordStatements();
  await using w = world();
  w.processes.start(41);
  await addPeer(w, "ada", { pane_id: "%1", tmux_socket: "/t", agent_pid: 41 });
  await w.tick(2);
  const scans = recorded.scansOf(w.daemon.ctx.db, "peers", ["peers_live", "peers_live_names"]);
  const common = scans.filter((sql) => /pane_id = |agent_pid = |status in \('online'/.test(sql));
  assert.deepEqual(common, []);
});
