/** Real Claude Code: spawned with a message, and restarted in its pane with its session. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { getPeer, listPeers } from "protocol/peers/contract.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { spawnPeer } from "protocol/spawn/contract.ts";
import { restartPeer } from "protocol/spawn/restarts.ts";
import { sessionOf } from "../../../daemon/features/agents/claude_code/registry.ts";
import { Lab, withLab } from "../../support/e2e/lab.ts";
import { until } from "../../support/waiting.ts";

/** A lab whose daemon may spawn Claude Code, in the lab's own tmux server. */
class SpawningLab implements AsyncDisposable {
  readonly lab = new Lab({
    bare: true,
    permissions: ["mcp__mesh"],
    projects: ["api"],
    rules: [{ match: /Remember (\w+)/, steps: [{ say: "I shall remember $1" }] }],
  });

  async up(): Promise<void> {
    const { lab } = this;
    const commands = { "claude-code": ["claude", "--permission-mode", "manual"] };
    await lab.mesh.setUp({ config: { spawn: { commands, allowed_paths: [lab.dir] } } });
    // The daemon starts a server only on its own socket.
    await lab.mesh.up({ TMUX: `${lab.tmux_socket},1,0` });
  }

  get call() {
    return this.lab.mesh.call;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab[Symbol.asyncDispose]();
  }
}

withLab(
  import.meta.url,
  "Claude Code is spawned with a message, and restarted with its session [4.spawn] [3.peer.restart.relaunch]",
  async () => {
    await using fixture = new SpawningLab();
    const { lab } = fixture;
    await fixture.up();
    const path = join(lab.dir, "api");
    const spawned = await fixture.call(spawnPeer, {
      query: { tmux_socket: lab.tmux_socket },
      body: { path, backend: "claude-code", name: "api", message: "Remember Lindau" },
    });
    assert.equal(spawned.registration_state, "awaiting");
    const first = await until("the spawned peer", async () => {
      const { peers } = await fixture.call(listPeers, { query: {} });
      return peers.find(({ name }) => name === "api");
    });
    await until("its message", () => lab.model.asked("Remember Lindau").length > 0);
    const before = sessionOf([lab.config_dir], first.agent_pid ?? 0);
    assert(before, "its session");
    await until("the end of its turn", async () => {
      const { turn_state } = await fixture.call(getPeer, { params: { id: "api" }, query: {} });
      return turn_state === "idle";
    });
    const dry = await fixture.call(restartPeer, { params: { id: "api" }, body: { dry_run: true } });
    assert.deepEqual([dry.outcome, dry.would_run], [
      "would_restart",
      ["claude", "--permission-mode", "manual", "--resume", before.sessionId],
    ]);
    const body = { message: "Remember Bregenz" };
    const done = await fixture.call(restartPeer, { params: { id: "api" }, body });
    assert.equal(done.outcome, "restarted", JSON.stringify(done));
    const after = await fixture.call(getPeer, { params: { id: "api" }, query: {} });
    assert.equal(after.peer_id, first.peer_id);
    assert.equal(after.pane_id, spawned.pane_id);
    assert.notEqual(after.agent_pid, first.agent_pid);
    assert(!isAlive(first.agent_pid ?? 0));
    const [request] = await until("the message after it", () => {
      const asked = lab.model.asked("Remember Bregenz");
      return asked.length > 0 && asked;
    });
    assert(request?.raw.includes("I shall remember Lindau"), "the conversation goes on");
    assert.equal(sessionOf([lab.config_dir], after.agent_pid ?? 0)?.sessionId, before.sessionId);
  },
);
