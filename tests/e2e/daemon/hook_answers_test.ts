/** A daemon that is killed right after the answer of a hook, which does not wait for the disk. */

import assert from "node:assert/strict";
import { client } from "kit/http/client.ts";
import { listDeliveries } from "protocol/messages/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { RealDaemon, temporary } from "../../support/programs/child.ts";

const SESSION = { session_id: "s-1", cwd: "/work/api", transcript_path: "/t" };
const KILLS = 5;

async function hook(base: string, hook_event_name: string, more: Record<string, unknown> = {}) {
  const body = JSON.stringify({ ...SESSION, hook_event_name, ...more });
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${base}/hooks/claude-code`, { method: "POST", headers, body });
  assert.equal(response.status, 200);
  return await response.json();
}

Deno.test("a kill after a hook's answer loses no message: the next prompt hands over each once", async () => {
  using state = temporary();
  const texts = Array.from({ length: KILLS }, (_, n) => `message ${n}`);
  for (const text of texts) {
    await using daemon = await RealDaemon.start(state.path);
    const call = client(daemon.base, fetch);
    await hook(daemon.base, "SessionStart", { source: "startup" });
    const { peers } = await call(listPeers, { query: {} });
    const to_peer = peers.find(({ backend }) => backend === "claude-code")?.peer_id ?? "";
    await call(notifyPeer, { body: { from_peer: "ada", to_peer, text, bypass_circle: true } });
    assert.deepEqual(await hook(daemon.base, "Stop"), {});
    await daemon.kill();
  }
  await using daemon = await RealDaemon.start(state.path);
  const { hookSpecificOutput } = await hook(daemon.base, "UserPromptSubmit", { prompt: "Go" });
  for (const text of texts) {
    assert.equal(hookSpecificOutput.additionalContext.split(`>${text}<`).length, 2, text);
  }
  const { counts } = await client(daemon.base, fetch)(listDeliveries, { query: {} });
  assert.equal(counts.sent, KILLS);
});
