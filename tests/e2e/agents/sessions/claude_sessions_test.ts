/**
 * Real Claude Code: a session from outside of the mesh is resumed as a peer, and a copy of that
 * peer knows its conversation.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { listPeers, registerPeer } from "protocol/peers/contract.ts";
import { forkSession, listSessions, resumeSession } from "protocol/spawn/sessions.ts";
import { sessionOf } from "../../../../daemon/features/agents/claude_code/registry.ts";
import { Lab, withLab } from "../../../support/e2e/lab.ts";
import { inPane, run } from "../../../support/e2e/programs.ts";
import { until } from "../../../support/waiting.ts";
import { meshCommand } from "../../../support/programs/program.ts";

/** Runs one turn in the lab's folder before `mesh setup`, as a person would without the mesh. */
async function runOutside({ dir, env }: Lab, prompt: string): Promise<string> {
  const { success, stdout } = await new Deno.Command("claude", {
    args: ["-p", prompt, "--output-format", "json"],
    cwd: join(dir, "api"),
    env: { ...env },
    clearEnv: true,
    stdin: "null",
  }).output();
  assert(success, "claude -p");
  return JSON.parse(new TextDecoder().decode(stdout)).session_id;
}

/** Resumes a session in a pane of a person, where no agent runs, and returns what is printed. */
function resumesAsPerson(lab: Lab, session_id: string): () => Promise<string> {
  const command = inPane(lab.dir, lab.env, ["sh"]);
  // The agent inherits the environment of the tmux server, which starts with this session.
  const server = ["-u", "-S", lab.tmux_socket, "-f", "/dev/null"];
  const { success } = new Deno.Command("tmux", {
    args: [...server, "new-session", "-d", "-s", "person", "-x", "160", "-y", "50", ...command],
    env: { ...lab.env },
    clearEnv: true,
  }).outputSync();
  assert(success, "a tmux server");
  let runs = 0;
  return async () => {
    const output = join(lab.dir, `resumed-${++runs}`);
    const mesh = meshCommand([]).join(" ");
    const line = `${mesh} resume ${session_id} --name api --json > ${output}.part 2>&1; ` +
      `mv ${output}.part ${output}`;
    lab.cli("send-keys", "-t", "person", "-l", "--", line);
    lab.cli("send-keys", "-t", "person", "Enter");
    return await until("the command's output", () => run("cat", [output]));
  };
}

withLab(
  import.meta.url,
  "a Claude Code session of outside is resumed as a peer, and a copy of it knows the conversation",
  async () => {
    await using lab = new Lab({
      bare: true,
      permissions: ["mcp__mesh"],
      rules: [{ match: /Remember (\w+)/, steps: [{ say: "I shall remember $1" }] }],
    });
    const session_id = await runOutside(lab, "Remember Lindau");
    const commands = { "claude-code": ["claude", "--permission-mode", "manual"] };
    await lab.mesh.setUp({
      config: { spawn: { commands, allowed_paths: [lab.dir] }, transcripts: "peers" },
    });
    await lab.mesh.up({ TMUX: `${lab.tmux_socket},1,0` });
    const { call } = lab.mesh;
    const named = async (name: string) => {
      const { peers } = await call(listPeers, { query: {} });
      return peers.find((peer) => peer.name === name && peer.status === "online");
    };
    const { sessions } = await call(listSessions, { query: { query: "lindau" } });
    assert.deepEqual(
      sessions.map(({ backend, session_id, folder }) => [backend, session_id, folder]),
      [["claude-code", session_id, join(lab.dir, "api")]],
    );
    const query = { tmux_socket: lab.tmux_socket };
    const body = { backend: "claude-code" as const, session_id, name: "api" };
    await assert.rejects(call(resumeSession, { query, body }), /not proven that a person/);
    const resume = resumesAsPerson(lab, session_id);
    const resumed = JSON.parse(await resume());
    const source = await until("the resumed peer", () => named("api"));
    assert.equal(source.pane_id, resumed.pane_id);
    assert.match(await resume(), /runs already: api \(peer-/);

    const { circle } = source;
    const self = { path: lab.dir, name: "lead", backend: "generic" as const, agent_pid: Deno.pid };
    await call(registerPeer, { body: { ...self, circle } });
    const forked = await call(forkSession, {
      params: { id: source.peer_id },
      body: { name: "copy", message: "Remember Bregenz", from_peer: "lead" },
    });
    assert.equal(forked.session_id, session_id);
    const copy = await until("the copy", () => named("copy"));
    assert.notEqual(copy.peer_id, source.peer_id);
    const [request] = await until("the message to the copy", () => {
      const asked = lab.model.asked("Remember Bregenz");
      return asked.length > 0 && asked;
    });
    assert(request?.raw.includes("I shall remember Lindau"), "it knows the turn of outside");
    const sessionNow = (pid: number | null) => sessionOf([lab.config_dir], pid ?? 0)?.sessionId;
    assert.notEqual(sessionNow(copy.agent_pid), session_id);
    const after = await named("api");
    assert.deepEqual([after?.pane_id, after?.agent_pid], [source.pane_id, source.agent_pid]);
    assert.equal(sessionNow(source.agent_pid), session_id, "the source goes on undisturbed");
  },
);
