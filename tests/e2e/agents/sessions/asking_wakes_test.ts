/** Real Claude Code and Codex: asked while they are gone, they answer as the same peers. */

import assert from "node:assert/strict";
import { openAsk } from "protocol/asks/contract.ts";
import { listInbox, replyInboxItem } from "protocol/inbox.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { getPeer, listPeers, listTurns, registerPeer } from "protocol/peers/contract.ts";
import { isAlive } from "../../../../daemon/host/processes.ts";
import { sessionOf } from "../../../../daemon/features/agents/claude_code/registry.ts";
import { transcriptOf } from "../../../../daemon/features/agents/claude_code/transcripts.ts";
import type { ScriptedReply } from "../../../../daemon/features/agents/selftest/fixture.ts";
import { codexCli } from "../../../support/e2e/installed_agents.ts";
import { CodexLab } from "../../../support/e2e/codex_lab.ts";
import { Lab, withLab } from "../../../support/e2e/lab.ts";
import { ANSWERS } from "../../../support/e2e/model_rules.ts";
import type { Mesh } from "../../../support/e2e/programs.ts";
import { until } from "../../../support/waiting.ts";

const REMEMBERS = { match: /Remember (\w+)/, steps: [{ say: "I shall remember $1" }] };

/** Answers when its stop hook reminds it: its tools may have come right after its first prompt. */
const ANSWERS_AT_STOP: ScriptedReply = {
  match: /^- (ask-[0-9a-f]+) from @web: the tool ack/m,
  steps: ANSWERS.steps,
};
const RULES = [ANSWERS, ANSWERS_AT_STOP, REMEMBERS];

/** A program of the same circle asks the peer. */
async function askFor({ call }: Mesh, to_peer: string, text: string) {
  const { peers } = await call(listPeers, { query: {} });
  const circle = peers.find(({ name }) => name === to_peer)?.circle;
  await call(registerPeer, { body: { name: "web", path: "/work", backend: "sdk", circle } });
  return await call(openAsk, { body: { from_peer: "web", to_peer, text } });
}

async function answerOf({ call }: Mesh, correlation_id: string | null) {
  const params = { trace_id: correlation_id ?? "" };
  return await until("the answer", async () => {
    const { stages } = await call(getTrace, { params });
    return stages.some(({ stage }) => stage === "acked") && stages.map(({ stage }) => stage);
  });
}

async function hasSaid({ call }: Mesh, id: string, words: string): Promise<void> {
  await until(words, async () => {
    const { turns } = await call(listTurns, { params: { id }, query: {} });
    return turns.some(({ role, text }) => role === "assistant" && text.includes(words));
  });
}

const peerOf = ({ call }: Mesh, id: string) => call(getPeer, { params: { id }, query: {} });

withLab(
  import.meta.url,
  "a Claude Code that is asked while it is gone is woken after the human's word, and answers as the same peer",
  async () => {
    await using lab = new Lab({
      bare: true,
      permissions: ["mcp__mesh"],
      rules: RULES,
    });
    const { mesh } = lab;
    const commands = { "claude-code": ["claude", "--permission-mode", "manual"] };
    await mesh.setUp({
      config: { spawn: { commands, allowed_paths: [lab.dir] }, human: { name: "sam" } },
    });
    await mesh.up({ TMUX: `${lab.tmux_socket},1,0` });
    const claude = await lab.claude("api");
    const before = await until("the peer", async () => {
      const { peers } = await mesh.call(listPeers, { query: {} });
      return peers.find(({ backend }) => backend === "claude-code");
    });
    await claude.sendPrompt("Remember Lindau");
    await hasSaid(mesh, before.peer_id, "I shall remember Lindau");
    const session = sessionOf([lab.config_dir], before.agent_pid ?? 0)?.sessionId;
    // An ended Claude Code loses what it has not written to its transcript yet.
    await until("its transcript", () => {
      const file = transcriptOf(lab.config_dir, session ?? "");
      return file && Deno.readTextFileSync(file).includes("I shall remember Lindau");
    });
    Deno.kill(claude.pid, "SIGTERM");
    await until("its end", async () => {
      const { wake } = await peerOf(mesh, before.peer_id);
      return !isAlive(claude.pid) && wake?.state === "asleep";
    });
    const asked = await askFor(mesh, before.name, "Which port?");
    assert.equal(asked.delivery_state, "queued");
    const item = await until("the question", async () => {
      const { items } = await mesh.call(listInbox, { query: {} });
      return items.find(({ question }) => question?.scope === "wake");
    }).catch(async ({ message }) => {
      const { wake } = await peerOf(mesh, before.peer_id);
      throw new Error(`${message}: ${JSON.stringify(wake)}`);
    });
    assert.match(item.text, /is asleep[^]*> Which port\?/);
    await mesh.call(replyInboxItem, {
      params: { id: item.item_id },
      body: { option_id: "wake" },
    });
    const stages = await answerOf(mesh, asked.correlation_id);
    for (const stage of ["wake_asked", "waking", "woken", "seen"]) assert(stages.includes(stage));
    const after = await peerOf(mesh, before.peer_id);
    assert.deepEqual([after.name, after.circle], [before.name, before.circle]);
    assert.equal(sessionOf([lab.config_dir], after.agent_pid ?? 0)?.sessionId, session);
    const [request] = lab.model.asked("Which port?");
    assert(request?.raw.includes("I shall remember Lindau"), "the conversation goes on");
  },
);

withLab(
  import.meta.url,
  "a Codex that is asked while it is gone answers as the same peer, and goes back to sleep",
  async () => {
    await using lab = new CodexLab(RULES, ["api"]);
    const { mesh } = lab;
    await lab.open({
      daemon: { wake: "always", wake_idle_minutes: 0 },
      spawn: { commands: { codex: ["codex"] }, allowed_paths: [lab.dir] },
    });
    const codex = await lab.startCodex("api");
    const before = await lab.peer("api-codex");
    assert(before);
    await codex.sendPrompt("Remember Lindau");
    await hasSaid(mesh, before.peer_id, "I shall remember Lindau");
    lab.cli("kill-pane", "-t", codex.pane_id);
    const stopped = new Deno.Command("codex", {
      args: ["app-server", "daemon", "stop"],
      env: { ...lab.env },
      clearEnv: true,
      stdout: "null",
      stderr: "null",
    });
    await stopped.output();
    await until("its sleep", async () => {
      return (await peerOf(mesh, before.peer_id)).wake?.state === "asleep";
    });
    const asked = await askFor(mesh, before.name, "Which port?");
    assert.equal(asked.delivery_state, "queued");
    const stages = await answerOf(mesh, asked.correlation_id);
    assert(stages.includes("woken"));
    const [request] = lab.model.asked("Which port?");
    assert(request?.raw.includes("Remember Lindau"), "the conversation goes on");
    await until("its sleep again", async () => {
      const { offline_reason } = await peerOf(mesh, before.peer_id);
      return offline_reason === "put_to_sleep";
    });
  },
  codexCli,
);
