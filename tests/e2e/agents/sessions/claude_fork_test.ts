/** Real Claude Code: a copy of a peer knows the conversation of the peer, which goes on. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { listPeers } from "../../../../daemon/features/peers/contract.ts";
import { forkSession } from "../../../../daemon/features/spawn/sessions/contract.ts";
import { sessionOf } from "../../../../daemon/features/agents/claude_code/registry.ts";
import { Lab, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

withLab(
  import.meta.url,
  "a copy of a Claude Code begins with its conversation, and is a peer of its own",
  async () => {
    await using lab = new Lab({
      bare: true,
      permissions: ["mcp__mesh"],
      rules: [{ match: /Remember (\w+)/, steps: [{ say: "I shall remember $1" }] }],
    });
    const commands = { "claude-code": ["claude", "--permission-mode", "manual"] };
    const spawn = { commands, allowed_paths: [lab.dir], env: lab.env };
    await lab.mesh.setUp({ config: { spawn } });
    await lab.mesh.up({ TMUX: `${lab.tmux_socket},1,0` });
    const { call } = lab.mesh;
    const original = await lab.claude("api");
    await original.sendPrompt("Remember Lindau");
    const named = async (name: string) => {
      const { peers } = await call(listPeers, { query: {} });
      return peers.find((peer) => peer.name === name && peer.status === "online");
    };
    const source = await until("the turn of the source", async () => {
      const peer = await named("api-claude-code");
      return original.screen.includes("I shall remember Lindau") && peer?.turn_state === "idle" &&
        peer;
    });
    const forked = await call(forkSession, {
      params: { id: source.peer_id },
      body: { name: "copy", message: "Remember Bregenz" },
    });
    assert.equal(forked.source_peer_id, source.peer_id);
    assert.equal(forked.session_id, original.session?.sessionId);
    const copy = await until("the copy", () => named("copy"));
    assert.notEqual(copy.peer_id, source.peer_id);
    assert.equal(copy.pane_id, forked.pane_id);
    const [request] = await until("the message to the copy", () => {
      const asked = lab.model.asked("Remember Bregenz");
      return asked.length > 0 && asked;
    });
    assert(request?.raw.includes("I shall remember Lindau"), "it knows the earlier turn");
    assert.notEqual(sessionOf([lab.config_dir], copy.agent_pid ?? 0)?.sessionId, forked.session_id);
    const before = await named("api-claude-code");
    assert.deepEqual(
      [before?.peer_id, before?.pane_id, before?.agent_pid],
      [source.peer_id, original.pane_id, original.pid],
      "the source goes on undisturbed",
    );
    assert.equal(original.session?.sessionId, forked.session_id);
    assert(join(lab.dir, "api") === copy.path);
  },
);
