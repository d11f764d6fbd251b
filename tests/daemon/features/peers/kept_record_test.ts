/** The record of a peer that is kept in memory is the one that the database holds. */

import assert from "node:assert/strict";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import * as peers from "../../../../daemon/features/peers/store.ts";
import { connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { type World, world } from "../../../support/world.ts";

/** Compares the kept record of each live peer with its row. */
function compare(w: World): void {
  const { db } = w.daemon.ctx;
  for (const stored of peers.livePeers(db)) {
    assert.deepEqual(peers.get(db, stored.peer_id), stored);
    assert.equal(peers.get(db, stored.peer_id), peers.get(db, stored.peer_id));
  }
}

Deno.test("after each change of a peer, its kept record is that of its row", async () => {
  await using w = world({ hooks: { "claude-code": claudeCodeHooks } });
  await connectPeer(w, "bob", { metadata: { team: "a", more: [1, { deep: true }] } });
  const hook = (hook_event_name: string, more: Record<string, unknown> = {}) =>
    w.post("/hooks/claude-code", { session_id: "s-1", cwd: "/work", hook_event_name, ...more });
  const steps: readonly (() => unknown)[] = [
    () => hook("SessionStart", { source: "startup", model: "opus" }),
    () => hook("UserPromptSubmit", { prompt: "Build it" }),
    () => hook("Notification", { message: "Claude needs your permission to use Bash" }),
    () => hook("PostToolUse", { tool_name: "Bash", tool_input: {}, tool_response: "x" }),
    () => hook("Stop", { last_assistant_message: "Done" }),
    () => post(w, "/peers/bob/name", { name: "rob" }),
    () => post(w, "/peers/rob/description", { description: "Works on api" }),
    () => post(w, "/peers/rob/provenance", { addressable: false }),
    () => hook("SessionEnd", { reason: "logout" }),
  ];
  for (const step of steps) {
    await step();
    compare(w);
    await w.tick();
    compare(w);
  }
  assert.equal((await get(w, "/peers/rob")).addressable, false);
});
