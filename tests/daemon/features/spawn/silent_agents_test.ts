/** Agents that register only with their first prompt: linked by their pane until then. */

import assert from "node:assert/strict";
import { codexHooks } from "../../../../daemon/features/agents/codex/hooks.ts";
import { FakeProcesses } from "../../../support/world.ts";
import { get, post } from "../../../support/daemon/peer_clients.ts";
import { FakeAgents, FakePanes } from "../../../support/host/fake_panes.ts";
import { create, createRecurring, job, run, stateOf } from "../../../support/daemon/jobs.ts";
import { SOCKET, spawningWorld } from "../../../support/daemon/spawns.ts";

const THREAD = "01a1fa46-f8af-7442-bf16-d89f8d7a29a7";

/** A daemon that spawns Codex, which runs its sessions itself or in a shared server. */
async function fixture(kind: "session" | "server") {
  const processes = new FakeProcesses();
  const codex = Object.assign(new FakeAgents("codex"), {
    resume: () => ({ ok: true as const, args: ["resume", THREAD] }),
  });
  const paneObserver = new FakePanes();
  const hooks = { codex: codexHooks((pid) => ({ pid: pid - 1, kind })) };
  const at = await spawningWorld({ adapters: [codex], hooks, paneObserver, processes });
  const { w, terminals, folder } = at;
  let agent_pane = "%1";
  return {
    w,
    codex,
    folder,
    terminals,
    /** Its screen is drawn: the agent can be recognised. */
    async addAgent() {
      for (let turn = 0; turn < 50 && terminals.panes.size === 0; turn++) await w.clock.settle();
      const [seen] = [...terminals.panes.values()].toReversed();
      const { pane_id, pane_pid: pid } = seen ?? { pane_id: "", pane_pid: 0 };
      agent_pane = pane_id;
      for (const { pane_id } of [...paneObserver.panes]) paneObserver.close(pane_id);
      const foreground = {
        pid,
        started: processes.startTimeOf(pid) ?? "",
        args: ["node", "codex"],
      };
      paneObserver.open(pane_id, { tmux_socket: SOCKET, command: "node", foreground });
      processes.start(7_001, pid); // The agent, a child of its launcher.
      await w.tick(3);
      return pane_id;
    },
    hook: (hook_event_name: string, more: Record<string, unknown> = {}) => {
      const payload = { hook_event_name, session_id: THREAD, cwd: folder, ...more };
      const location = {
        "x-mesh-hook-pid": "7002",
        "x-mesh-pane": agent_pane,
        "x-mesh-tmux": SOCKET,
      };
      return post(w, "/hooks/codex", payload, location);
    },
    agents: async () => {
      const { peers } = await get(w, "/peers?status=online");
      const busy = await get(w, "/peers?status=busy");
      return [...peers, ...busy.peers].filter(({ backend }) => backend === "codex");
    },
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

for (const kind of ["session", "server"] as const) {
  Deno.test(`a job is completed by a spawned Codex that registers with its first prompt (${kind})`, async () => {
    await using at = await fixture(kind);
    const { w, folder } = at;
    const { job_id } = await create(w, { title: "Mend", path: folder, backend: "codex" });
    at.codex.refusalReason = "screen_unknown";
    const pane_id = await at.addAgent();
    assert.deepEqual([await at.agents(), await stateOf(w, job_id)], [[], "dispatching"]);
    at.codex.refusalReason = undefined;
    await w.tick(3);
    const [linked] = await at.agents();
    assert.equal(linked.pane_id, pane_id);
    assert.equal(await stateOf(w, job_id), "delivered");
    const [attempt] = (await job(w, job_id)).runner.attempts;
    await at.hook("SessionStart", { source: "startup" });
    await at.hook("UserPromptSubmit", { prompt: `[mesh ${attempt?.delivery_id}] Mend` });
    assert.equal(await stateOf(w, job_id), "running");
    const [peer, ...others] = await at.agents();
    assert.deepEqual([peer.peer_id, peer.pane_id, others], [linked.peer_id, pane_id, []]);
    const stop = { stop_hook_active: false, last_assistant_message: "Mended" };
    await at.hook("Stop", stop);
    await w.clock.settle();
    const { state, result_summary } = await job(w, job_id);
    assert.deepEqual([state, result_summary], ["completed", "Mended"]);
  });
}

Deno.test("a resumed session is linked as the same peer", async () => {
  await using at = await fixture("session");
  const { w, folder, terminals } = at;
  const asked = { title: "Mend", path: folder, backend: "codex" as const, cron: "@yearly" };
  const { calendar_id } = await createRecurring(w, asked);
  const worked: unknown[] = [];
  for (const text of ["Mended", "Mended again"]) {
    const { job_id } = await run(w, calendar_id);
    await at.addAgent();
    const [attempt] = (await job(w, job_id)).runner.attempts;
    await at.hook("UserPromptSubmit", { prompt: `[mesh ${attempt?.delivery_id}] Mend` });
    await at.hook("Stop", { stop_hook_active: false, last_assistant_message: text });
    assert.equal((await job(w, job_id)).result_summary, text);
    worked.push(attempt?.executor_peer_id);
    for (let turn = 0; turn < 60 && (await at.agents()).length > 0; turn++) await w.tick();
    assert.equal(terminals.panes.size, 0, "the executor is ended with the fire");
  }
  assert.equal(worked[0], worked[1]);
  assert.equal(terminals.launches.at(-1)?.argv.at(-1), THREAD);
});

Deno.test("a session older than a pane, or with its own pane, is not merged with the pane's peer", async () => {
  await using at = await fixture("server");
  const { w, folder } = at;
  await at.hook("UserPromptSubmit", { prompt: "Good morning" });
  const [older] = await at.agents();
  await w.clock.advance(1_000);
  const { job_id } = await create(w, { title: "Mend", path: folder, backend: "codex" });
  await at.addAgent();
  const [attempt] = (await job(w, job_id)).runner.attempts;
  await at.hook("UserPromptSubmit", { prompt: `[mesh ${attempt?.delivery_id}] Mend` });
  assert.equal(await stateOf(w, job_id), "delivered");
  const ids = (await at.agents()).map(({ peer_id }) => peer_id);
  assert.equal(ids.length, 2);
  assert(ids.includes(older.peer_id));
});
