/** A real Claude Code reads what a real Gemini CLI recorded of its session, with our tool. */

import assert from "node:assert/strict";
import { listPeers, registerPeer } from "protocol/peers/contract.ts";
import { getUsage, listUsage, readTranscript } from "protocol/transcripts.ts";
import { AgentFixture } from "../../../support/e2e/agent_harness.ts";
import { prepareGemini } from "../../../support/e2e/agent_setups.ts";
import { binOf, geminiCli } from "../../../support/e2e/installed_agents.ts";
import { inLongForm, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

const TOKEN = ["ghp_", "0123456789abcdefghijABCDEFGHIJ"].join("");

async function test(): Promise<void> {
  const bin = binOf(geminiCli);
  await using fixture = new AgentFixture((lab) => prepareGemini(lab, bin));
  const { lab } = fixture;
  const config = {
    daemon: { port: 0, circle_boundary: "machine" },
    transcripts: "peers",
  };
  lab.write("home/.claude/settings.json", { permissions: { allow: ["mcp__mesh"] } });
  await lab.mesh.setUp({ agent: "claude-code", config });
  await fixture.up(config);
  const { peer_id, name, pane_id } = await fixture.start();
  const id = await fixture.ask(peer_id, `Which port? The token is ${TOKEN}.`);
  assert.equal((await fixture.answer(id)).reply, "Port 8080");
  await until("the end of the turn", () => fixture.screen.includes("DONE 1"));
  const input = { params: { id: peer_id }, query: {} };
  // This test is a peer of the same circle.
  const self = { name: "counter", path: lab.dir, backend: "generic" as const };
  await fixture.call(registerPeer, { body: { ...self, agent_pid: Deno.pid } });
  const counted = { ...input, query: { from_peer: "counter" } };
  const usageNow = async () => (await fixture.call(getUsage, counted)).usage;
  // Usage is written after the answer is shown.
  await until("its tokens", async () => (await usageNow())?.input_tokens);
  // They count for the ask that the agent answered.
  const report = await fixture.call(listUsage, { query: { from_peer: "counter", by: "chain" } });
  const rows = "rows" in report ? report.rows : [];
  assert(rows.find(({ key }) => key === id)?.input_tokens, JSON.stringify(report));
  // A session can be read after its end as well.
  await lab.killPane(pane_id ?? "");
  const claude = await lab.claude("api");
  const isReader = async () => {
    const { peers } = await fixture.call(listPeers, { query: {} });
    return peers.some(({ backend, status }) => backend === "claude-code" && status === "online");
  };
  await until("the reader among the peers", isReader);
  await claude.sendPrompt(`Look @@TOOL read_transcript {"peer":"${name}"}`);
  const result = await until("the transcript at the reader's model", () => {
    return lab.model.transcripts().find((raw) => /type=\\+"transcript/.test(raw));
  });
  for (const part of ["(mesh]", "mcp_mesh_ack", "Port 8080", "DONE 1"]) {
    assert(result.includes(part), `${part} in ${result}`);
  }
  assert(result.includes("The token is [masked]") && !result.includes(TOKEN), result);
  // A program that proves neither a person nor a peer reads no text.
  await assert.rejects(fixture.call(readTranscript, input), /not proven/);
  await assert.rejects(fixture.call(getUsage, input), /not proven/);
  const usage = await usageNow();
  assert(usage && (usage.input_tokens ?? 0) > 0 && usage.context_tokens, JSON.stringify(usage));
}

inLongForm(withLab)(
  import.meta.url,
  "a Claude Code reads a Gemini CLI's transcript, with secrets masked [4.transcript.tool]",
  test,
  geminiCli,
);
