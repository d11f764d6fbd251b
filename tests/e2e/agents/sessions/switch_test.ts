/**
 * Real agents: Codex takes the place of Claude Code in its pane, as the same peer, and reads what
 * was handed over.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { switchPeer } from "protocol/handoffs.ts";
import { getPeer, listPeers, registerPeer } from "protocol/peers/contract.ts";
import { isAlive } from "../../../../daemon/host/processes.ts";
import { spawnPeer } from "protocol/spawn/contract.ts";
import { prepareStandaloneCodex } from "../../../support/e2e/agent_setups.ts";
import { binOf, claudeCode, codexCli } from "../../../support/e2e/installed_agents.ts";
import { Lab, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

/** Codex reads the file of the message that takes it into its place. */
const READS = {
  match: /<attachment [^>]*path="([^"]+)"/,
  steps: [{ tool: "exec_command", args: { cmd: "cat '$1'" } }, { say: "Taken over" }],
};

withLab(
  import.meta.url,
  "Codex takes the place of Claude Code in its pane, and reads the hand-over",
  async () => {
    await using lab = new Lab({
      bare: true,
      permissions: ["mcp__mesh"],
      rules: [{ match: /Remember (\w+)/, steps: [{ say: "I shall remember $1" }] }],
    });
    const codex = prepareStandaloneCodex(lab, binOf(codexCli), [READS]);
    await using _model = codex.model;
    const commands = {
      "claude-code": [binOf(claudeCode), "--permission-mode", "manual"],
      codex: [codex.bin, ...codex.command.slice(1)],
    };
    const env = { ...lab.env, ...codex.env };
    await lab.mesh.setUp({
      config: { spawn: { commands, allowed_paths: [lab.dir], env }, transcripts: "peers" },
    });
    await lab.mesh.up({ TMUX: `${lab.tmux_socket},1,0` });
    const { call } = lab.mesh;
    const spawned = await call(spawnPeer, {
      query: { tmux_socket: lab.tmux_socket },
      body: {
        path: join(lab.dir, "api"),
        backend: "claude-code",
        name: "api",
        message: "Remember Lindau",
      },
    });
    const before = await until("the turn of Claude Code", async () => {
      const { peers } = await call(listPeers, { query: {} });
      const peer = peers.find(({ name }) => name === "api");
      return lab.model.asked("Remember Lindau").length > 0 && peer?.turn_state === "idle" && peer;
    });
    const { circle } = before;
    const self = { path: lab.dir, name: "lead", backend: "generic" as const, agent_pid: Deno.pid };
    await call(registerPeer, { body: { ...self, circle } });
    const switched = await call(switchPeer, {
      params: { id: "api" },
      body: { backend: "codex", note: "Go on with the lake", from_peer: "lead" },
    });
    assert.equal(switched.outcome, "restarted", JSON.stringify(switched));
    const after = await call(getPeer, { params: { id: "api" }, query: {} });
    assert.deepEqual(
      [after.peer_id, after.pane_id, after.backend],
      [before.peer_id, spawned.pane_id, "codex"],
    );
    assert(!isAlive(before.agent_pid ?? 0), "Claude Code has ended");
    const { requests } = codex.model.model;
    const [read] = await until("the hand-over to be read", () => {
      const found = requests.filter(({ results }) => results.length > 0);
      return found.length > 0 && found;
    }, 40_000);
    assert.match(read?.results.join("\n") ?? "", /I shall remember Lindau/);
    assert.match(read?.prompt ?? "", /Note: Go on with the lake/);
    await lab.endAgents(); // Before the model of Codex, which it would ask again.
  },
  codexCli,
);
