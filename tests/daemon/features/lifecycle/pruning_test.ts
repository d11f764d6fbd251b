/** `POST /peers/prune`: closes offline peers that nothing waits for. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  get,
  notify,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { surface } from "../../../support/daemon/surfaces.ts";

Deno.test("pruning closes offline peers that nothing waits for, and says why others stay", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "live");
  const gone = ["idle", "asked", "asker", "queued", "runs", "works", "owns", "daily", "target"];
  for (const name of gone) await addPeer(w, name);
  w.processes.start(7);
  await addPeer(w, "runs", { agent_pid: 7 });
  const phone = await surface(w, "phone");
  await phone.drop();
  await ask(w, "live", "asked");
  await ask(w, "asker", "live");
  const later = { due_at: "2030-01-02T00:00:00Z", created_by: "live" };
  await post(w, "/jobs", { title: "Do", assigned_peer: "works", ...later });
  const target = { path: "/srv", backend: "codex" };
  await post(w, "/jobs", { title: "Again", ...target, cron: "@daily", owner_peer: "owns" });
  const schedule = { text: "Stand up", cron: "@daily" };
  await post(w, "/schedules", { ...schedule, from_peer: "daily", to_peer: "live" });
  await post(w, "/schedules", { ...schedule, from_peer: "live", to_peer: "target" });
  for (const name of [...gone, "runs-2"]) await post(w, `/peers/${name}/offline`, {});
  await notify(w, "live", "queued");
  const preview = await post(w, "/peers/prune", { dry_run: true });
  const pruned = await post(w, "/peers/prune", {});
  assert.deepEqual(preview, { ...pruned, dry_run: true });
  assert.deepEqual(pruned.closed.map(({ name }: { name: string }) => name), ["idle", "runs"]);
  const kept = pruned.kept.map(({ name, reason }: Record<string, string>) => `${name}: ${reason}`);
  assert.deepEqual(kept, [
    "asked: open_asks",
    "asker: open_asks",
    "queued: queued_messages",
    "works: jobs",
    "owns: jobs",
    "daily: schedules",
    "target: schedules",
    "runs-2: running",
    "phone: surface",
  ]);
  assert.equal((await get(w, "/peers/idle")).status, 404);
  assert.deepEqual(await post(w, "/peers/prune", {}), { ...pruned, closed: [] });
});

Deno.test("a pruned client is a new peer when it connects again", async () => {
  await using w = world();
  const first = await connectPeer(w, "web", { metadata: { client_id: "c-1" } });
  await first.drop();
  assert.equal((await post(w, "/peers/prune", {})).closed.length, 1);
  const again = await connectPeer(w, "web", { metadata: { client_id: "c-1" } });
  const [before, after] = [first, again].map((client) => client.of("connected")[0]?.peer_id);
  assert.notEqual(after, before);
});
