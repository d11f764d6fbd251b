/** The message that a spawned agent gets once it has registered. */

import assert from "node:assert/strict";
import { join as joinPath } from "node:path";
import { listMessages } from "protocol/messages/log.ts";
import { FakeClock } from "../../../support/clock.ts";
import { countingIds } from "../../../support/ids.ts";
import { addPeer, eventData, post } from "../../../support/daemon/peer_clients.ts";
import { registerSpawned, spawningWorld } from "../../../support/daemon/spawns.ts";
import { texts } from "../../../support/daemon/message_log.ts";
import { queue } from "../../../../daemon/features/messages/ledger/ledger.ts";

/** Registers the agent in a pane, like its hook or the program itself. */
Deno.test("the message of a spawn waits for the registration, and is a notify from its sender [4.spawn.seed]", async () => {
  await using fixture = await spawningWorld();
  const { w, folder } = fixture;
  await addPeer(w, "lead");
  const asked = { path: folder, backend: "codex", message: "Begin with the tests" };
  const spawned = await post(w, "/spawn", { ...asked, from_peer: "lead" });
  assert.equal(spawned.seed_state, "awaiting_registration");
  assert.deepEqual(await texts(w, { peer: "lead" }), []);
  const { peer_id } = await registerSpawned(w, spawned.pane_id);
  await w.clock.settle();
  const { messages } = await w.call(listMessages, { query: { peer: peer_id } });
  const [note] = messages;
  assert.equal(messages.length, 1);
  assert.deepEqual([note?.text, note?.kind, note?.from_peer_name], [
    "Begin with the tests",
    "notify",
    "lead",
  ]);
  await registerSpawned(w, spawned.pane_id);
  await w.tick();
  assert.equal((await texts(w, { peer: peer_id })).length, 1, "only once");
});

Deno.test("a spawn's message from a proven human is framed as the human's", async () => {
  for (const at_terminal of [true, false]) {
    await using fixture = await spawningWorld({ settings: { "human.name": "sam" }, at_terminal });
    const { w, folder } = fixture;
    const asked = { path: folder, backend: "codex", message: "Begin", from_peer: "sam" };
    const { pane_id } = await post(w, "/spawn", asked, { "x-mesh-terminal": "77" });
    const { peer_id } = await registerSpawned(w, pane_id);
    await w.clock.settle();
    const [held] = queue(w.daemon.ctx.db, peer_id, 1);
    assert.equal(held?.voice, at_terminal ? "human" : "unverified");
  }
});

Deno.test("a spawn's message goes to no other pane, tmux server or backend", async () => {
  await using fixture = await spawningWorld();
  const { w, folder } = fixture;
  const spawned = await post(w, "/spawn", { path: folder, backend: "codex", message: "Hi" });
  await registerSpawned(w, "%9");
  await registerSpawned(w, spawned.pane_id, { tmux_socket: "/missing/another" });
  await registerSpawned(w, spawned.pane_id, { backend: "generic" });
  await w.tick();
  assert.equal(eventData(w, "notification").length, 0);
});

Deno.test("a spawn's message and its sender survive a restart of the daemon [4.spawn.seed]", async () => {
  const dir = await Deno.makeTempDir();
  const clock = new FakeClock(), ids = countingIds();
  const options = { clock, ids, db_path: joinPath(dir, "mesh.db") };
  let pane_id = "";
  {
    await using fixture = await spawningWorld(options);
    const asked = { path: fixture.folder, backend: "codex", message: "Begin", from_peer: "lead" };
    ({ pane_id } = await post(fixture.w, "/spawn", asked));
  }
  {
    await using fixture = await spawningWorld(options);
    const { peer_id } = await registerSpawned(fixture.w, pane_id);
    await fixture.w.clock.settle();
    assert.deepEqual(await texts(fixture.w, { peer: peer_id }), ["Begin"]);
  }
  await Deno.remove(dir, { recursive: true });
});

Deno.test("a message that no transport can deliver is not stored, and the response says so [4.spawn.seed]", async () => {
  const commands = JSON.stringify({ gemini: ["gemini"] });
  await using fixture = await spawningWorld({ settings: { "spawn.commands": commands } });
  const { w, folder } = fixture;
  const spawned = await post(w, "/spawn", { path: folder, backend: "gemini", message: "Hi" });
  assert.equal(spawned.seed_state, "undeliverable");
  assert.equal(spawned.warnings.length, 2);
});
