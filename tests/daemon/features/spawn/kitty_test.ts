/** Agents are started in tmux only: what a peer in a kitty window gets instead. */

import assert from "node:assert/strict";
import { addPeer, post } from "../../../support/daemon/peer_clients.ts";
import { spawningWorld } from "../../../support/daemon/spawns.ts";

const KITTY = "kitty:/run/user/1/kitty-9";

Deno.test("a spawn into kitty is refused, and one by a peer in kitty opens a tmux pane", async () => {
  await using fixture = await spawningWorld();
  const { w, folder: path, terminals } = fixture;
  await addPeer(w, "api", { backend: "codex", path, pane_id: "3", tmux_socket: KITTY });
  const request = { path, backend: "codex" };
  const query = `tmux_socket=${encodeURIComponent(KITTY)}`;
  const refused = await post(w, `/spawn?${query}`, request);
  assert.partialDeepStrictEqual(refused, { error: "spawn_failed" });
  assert.match(String(refused["detail"]), /in tmux, and not in kitty/);
  assert.equal(terminals.launches.length, 0);
  const spawned = await post(w, "/spawn", { ...request, from_peer: "api" });
  assert.equal(spawned["tmux_socket"], terminals.socket);
  const forked = await post(w, "/peers/api/fork-backend", { backend: "generic" });
  assert.notEqual(forked["tmux_socket"], KITTY);
});

Deno.test("a restart of a peer in kitty fails before anything is stopped", async () => {
  await using fixture = await spawningWorld();
  const { w, folder: path, processes } = fixture;
  processes.start(7);
  const place = { pane_id: "3", tmux_socket: KITTY, agent_pid: 7 };
  await addPeer(w, "api", { backend: "codex", path, ...place });
  const restarted = await post(w, "/peers/api/restart", { fresh: true });
  assert.partialDeepStrictEqual(restarted, {
    status: 200,
    outcome: "failed",
    failed: { stage: "preflight", reason: "not_in_tmux" },
  });
  assert.ok(processes.isAlive(7));
});
