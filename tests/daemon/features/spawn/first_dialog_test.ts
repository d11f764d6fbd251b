/** Spawned agents that wait at a dialog before their hooks run: a person learns so in seconds. */

import assert from "node:assert/strict";
import type { Backend } from "protocol/agents/contract.ts";
import { FakeProcesses } from "../../../support/world.ts";
import { addPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { FakeAgents, FakePanes } from "../../../support/host/fake_panes.ts";
import { SOCKET, spawningWorld } from "../../../support/daemon/spawns.ts";

/** A daemon that spawns agents of this kind, whose screen shows a dialog at first. */
async function fixture(backend: Backend, settings: Record<string, string>) {
  const processes = new FakeProcesses(), paneObserver = new FakePanes();
  const agents = new FakeAgents(backend);
  agents.refusalReason = "dialog_open";
  const hooks = {
    [backend]: { read: () => ({ event: "Stop", session_id: "" }), answer: () => ({}) },
  };
  const at = await spawningWorld({
    adapters: [agents],
    hooks,
    paneObserver,
    processes,
    settings: { "spawn.commands": JSON.stringify({ [backend]: [backend] }), ...settings },
  });
  const { w, terminals, folder } = at;
  return {
    w,
    agents,
    /** Spawns an agent, and draws its screen. */
    async spawn(more: Record<string, string> = {}) {
      const spawned = await post(w, "/spawn", { path: folder, backend, ...more });
      const { pane_pid: pid = 0 } = terminals.panes.get(spawned.pane_id) ?? {};
      const foreground = { pid, started: processes.startTimeOf(pid) ?? "", args: [backend] };
      paneObserver.open(spawned.pane_id, { tmux_socket: SOCKET, command: backend, foreground });
      await w.tick(4);
      return { ...spawned, pid };
    },
    inbox: async (): Promise<string[]> =>
      (await get(w, "/inbox")).items.map(({ text }: { text: string }) => text),
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

for (const backend of ["claude-code", "codex", "gemini", "opencode"] as const) {
  Deno.test(`a spawned ${backend} that waits at its first dialog awaits input, and the human is notified`, async () => {
    await using at = await fixture(backend, { "human.name": "sam" });
    const { w, agents } = at;
    await addPeer(w, "boss");
    const spawned = await at.spawn({ name: "helper", message: "Mend it", from_peer: "boss" });
    const peer = await get(w, "/peers/helper");
    assert.deepEqual(
      [peer.turn_state, peer.inbound_status, peer.pane_id],
      ["awaiting_input", "pane_unsafe", spawned.pane_id],
    );
    const said = new RegExp(
      `helper \\(${backend} in .*waits at a dialog in pane ${spawned.pane_id}`,
    );
    assert.deepEqual((await at.inbox()).filter((text) => said.test(text)).length, 1);
    const { deliveries } = await get(w, "/deliveries/pending?peer_id=boss");
    assert.ok(deliveries.some(({ text }: { text: string }) => said.test(text)));
    await w.tick(60);
    assert.equal((await at.inbox()).length, 1, "said once");
    const { deliveries: waiting } = await get(w, `/deliveries?peer_id=${peer.peer_id}`);
    assert.deepEqual(waiting.map(({ state }: { state: string }) => state), ["queued"]);
    agents.refusalReason = undefined;
    await w.tick(4);
    assert.equal((await get(w, "/peers/helper")).turn_state, "idle");
    const { deliveries: sent } = await get(w, `/deliveries?peer_id=${peer.peer_id}`);
    assert.deepEqual(sent.map(({ state }: { state: string }) => state), ["sent"]);
  });
}

Deno.test("a spawned agent without a dialog is registered by its hooks, and no person is notified", async () => {
  await using at = await fixture("claude-code", { "human.name": "sam" });
  for (const reason of [undefined, "screen_unknown", "draft_present"] as const) {
    at.agents.refusalReason = reason;
    await at.spawn();
  }
  assert.deepEqual((await get(at.w, "/peers?status=online")).peers.length, 1, "only the human");
  assert.deepEqual(await at.inbox(), []);
});

Deno.test("without a human, a spawned agent at a dialog is shown, and nothing fails", async () => {
  await using at = await fixture("codex", {});
  await at.spawn({ name: "helper" });
  assert.equal((await get(at.w, "/peers/helper")).turn_state, "awaiting_input");
  assert.deepEqual(at.w.logged, []);
});
