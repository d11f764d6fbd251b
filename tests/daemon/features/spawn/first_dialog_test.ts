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
    paneObserver,
    terminals,
    /** Spawns an agent, and draws its screen. */
    async spawn(more: Record<string, string> = {}) {
      const spawned = await post(w, "/spawn", { path: folder, backend, ...more });
      const { pane_pid: pid = 0 } = terminals.panes.get(spawned.pane_id) ?? {};
      const foreground = { pid, started: processes.startTimeOf(pid) ?? "", args: [backend] };
      paneObserver.open(spawned.pane_id, { tmux_socket: SOCKET, command: backend, foreground });
      await w.tick();
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
    await w.tick();
    const answered = await get(w, "/peers/helper");
    assert.deepEqual([answered.turn_state, answered.waits_for], ["idle", null]);
    await w.tick();
    const { items: [{ read, read_by }] } = await get(w, "/inbox");
    assert.deepEqual([read, read_by], [true, "mesh"], "the item is over with the dialog");
    const { deliveries: sent } = await get(w, `/deliveries?peer_id=${peer.peer_id}`);
    assert.deepEqual(sent.map(({ state }: { state: string }) => state), ["sent"]);
  });
}

Deno.test("a dialog that opens after a silent agent has registered is shown and told, until it is answered", async () => {
  await using at = await fixture("codex", { "human.name": "sam" });
  const { w, agents } = at;
  agents.refusalReason = undefined;
  await at.spawn({ name: "helper" });
  const helper = () => get(w, "/peers/helper");
  assert.deepEqual([(await helper()).turn_state, await at.inbox()], [null, []]);
  agents.refusalReason = "dialog_open";
  agents.dialog = { kind: "trust", detail: "hooks" };
  await w.tick(2);
  const { turn_state, waits_for } = await helper();
  assert.deepEqual([turn_state, waits_for.kind, waits_for.detail], [
    "awaiting_input",
    "trust",
    "hooks",
  ]);
  assert.match(
    (await at.inbox())[0] ?? "",
    /it asks if it may run its hooks\. .*mesh attach helper/,
  );
  agents.refusalReason = undefined;
  await w.tick(2);
  assert.deepEqual([(await helper()).turn_state, (await helper()).waits_for], ["idle", null]);
  await w.tick();
  assert.equal((await get(w, "/inbox")).items[0].read, true);
});

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

const TRUST = [
  "",
  " ❯ No, exit",
  "   Yes, I trust this folder",
  " Enter to confirm · Esc to cancel",
];

Deno.test("the notice and the record say which dialog it is", async () => {
  await using at = await fixture("codex", { "human.name": "sam" });
  at.agents.dialog = { kind: "trust", detail: "hooks" };
  await at.spawn({ name: "helper" });
  const { waits_for } = await get(at.w, "/peers/helper");
  assert.deepEqual([waits_for.kind, waits_for.detail], ["trust", "hooks"]);
  assert.match(
    (await at.inbox())[0] ?? "",
    /: it asks if it may run its hooks\. .*mesh attach helper/,
  );
});

Deno.test("the dialog of a spawn that cannot be linked is read from its screen, told once, and ended", async () => {
  await using at = await fixture("codex", { "human.name": "sam" });
  const { w, agents, paneObserver } = at;
  agents.refusalReason = "not_foreground";
  const { spawn_id, pane_id } = await at.spawn({ name: "helper" });
  assert.deepEqual(await at.inbox(), []);
  const state = () => get(w, `/spawns/${spawn_id}`);
  assert.equal((await state()).waits_for, null);
  paneObserver.rows = TRUST;
  await w.tick();
  assert.deepEqual(
    [(await state()).waits_for.kind, (await state()).peer_id, (await state()).display_name],
    ["trust", null, "helper"],
  );
  const said = await at.inbox();
  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", new RegExp(`helper .* pane ${pane_id}: .*mesh attach ${pane_id}`));
  await w.tick(30);
  assert.equal((await at.inbox()).length, 1, "told once");
  paneObserver.rows = ["> "];
  await w.tick();
  assert.equal((await state()).waits_for, null);
  assert.equal((await get(w, "/inbox")).items[0].read, true);
});

Deno.test("the notice of a spawn ends with its pane", async () => {
  await using at = await fixture("codex", { "human.name": "sam" });
  const { w, agents, paneObserver, terminals } = at;
  agents.refusalReason = "not_foreground";
  paneObserver.rows = ["Please use /login to sign in to use Copilot"];
  const { pane_id } = await at.spawn({ name: "helper" });
  assert.match((await at.inbox())[0] ?? "", /it wants its user to log in/);
  assert.equal((await get(w, "/inbox")).items[0].read, false);
  terminals.panes.delete(pane_id);
  await w.tick();
  assert.equal((await get(w, "/inbox")).items[0].read, true);
});

Deno.test("an agent whose hooks should have registered it is reported after five minutes", async () => {
  await using at = await fixture("codex", { "human.name": "sam" });
  const { w, agents } = at;
  agents.refusalReason = "screen_unknown";
  const { pane_id } = await at.spawn({ name: "helper" });
  await w.tick(290);
  assert.deepEqual(await at.inbox(), []);
  await w.tick(11);
  await w.tick(11);
  const said = await at.inbox();
  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", new RegExp(`helper .*has not registered.*mesh attach ${pane_id}`));
});

Deno.test("an unknown spawn is refused", async () => {
  await using at = await fixture("codex", {});
  const answer = await get(at.w, "/spawns/spawn-00000000ffff");
  assert.deepEqual([answer.status, answer.error], [404, "unknown_spawn"]);
  assert.ok("allowed_paths" in await get(at.w, "/spawn/config"));
});
