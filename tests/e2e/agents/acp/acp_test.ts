/** Real agents over the Agent Client Protocol: asked, permitted, continued, with no terminal. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { getAsk } from "protocol/asks/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { ANSWERS } from "../../../support/e2e/model_rules.ts";
import {
  AcpLab,
  CLAUDE_ACP,
  CODEX_ACP,
  COPILOT_ACP,
  GEMINI_ACP,
  OPENCODE_ACP,
  QWEN_ACP,
} from "../../../support/e2e/acp_lab.ts";
import { inLongForm, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

/**
 * In the long form: each adapter brings an agent of 400 MB along. opencode takes 5 s of processor
 * time to start, and is asked in the next test.
 */
const LONG = [OPENCODE_ACP, CLAUDE_ACP, CODEX_ACP];

for (
  const [agent, isPermitted] of [
    [OPENCODE_ACP, true],
    [COPILOT_ACP, false],
    [CLAUDE_ACP, false],
    [CODEX_ACP, true],
  ] as const
) {
  const name = `${agent.command.join(" ")} is asked, answers, and continues its session`;
  const define = LONG.includes(agent) ? inLongForm(withLab) : withLab;
  define(import.meta.url, name, async () => {
    await using lab = new AcpLab(agent, [ANSWERS]);
    const answered = async (text: string) => {
      const id = await lab.ask(text);
      if (!isPermitted) await lab.reply((await lab.permission()).item_id, "allow");
      const { reply, responder } = await lab.waitForAnswer(id);
      assert.deepEqual([reply, responder], ["Port 8080", "api"]);
      await lab.isSeen(id);
    };
    await lab.up();
    const peer = await lab.start();
    assert.deepEqual([peer.transport, peer.pane_id], ["websocket", null]);
    await answered("Which port?");
    const { peers } = await lab.call(listPeers, { query: {} });
    assert.deepEqual(peers.map(({ name }) => name).toSorted(), ["api", "sam", "web"]);
    await until("the end of the turn", async () => (await lab.turns()).length === 2);
    const [, answer] = await lab.turns();
    assert.match(answer?.text ?? "", /^(Warning: [^]*\n)?Answered$/);
    assert.equal(answer?.tool_calls.length, 1);

    assert.equal(await lab.stop(), 143);
    const again = await lab.start();
    assert.equal(again.peer_id, peer.peer_id);
    assert.equal(again.metadata?.["acp_session"], peer.metadata?.["acp_session"]);
    await answered("And now?");
  }, agent.cli);
}

/**
 * Gemini CLI names the file of a session by the minute of its start. Within that minute, it writes
 * over the session that it loads.
 */
function olderChats(folder: string): void {
  for (const { name } of Deno.readDirSync(folder)) {
    const older = name.replace(/^session-[^-]+-[^-]+-[^-]+-[^-]+-/, "session-2026-01-01T00-00-");
    Deno.renameSync(join(folder, name), join(folder, older));
  }
}

/** Gemini CLI and Qwen Code have several tools of mesh whose names end in `ack`. */
const ACK = { correlation_id: "$1", message: "Port 8080" };
const ACKS = { ...ANSWERS, steps: [{ tool: "mesh_ack", args: ACK }, { say: "Done" }] };
const QWEN_ACKS = { ...ACKS, steps: [{ tool: "mesh__ack", args: ACK }, { say: "Done" }] };

for (
  const [agent, rule, isPermitted] of [
    [OPENCODE_ACP, ANSWERS, true],
    [COPILOT_ACP, ANSWERS, false],
    [QWEN_ACP, QWEN_ACKS, false],
    [CLAUDE_ACP, ANSWERS, false],
    [CODEX_ACP, ANSWERS, true],
  ] as const
) {
  const name = `${agent.command.join(" ")} has mesh's tools by its session alone`;
  const define = agent === OPENCODE_ACP ? withLab : inLongForm(withLab);
  define(import.meta.url, name, async () => {
    await using lab = new AcpLab(agent, [rule]);
    await lab.up(agent === CLAUDE_ACP ? "codex" : "claude-code");
    await lab.start();
    const id = await lab.ask("Which port?");
    if (!isPermitted) await lab.reply((await lab.permission()).item_id, "allow");
    const { reply, responder } = await lab.waitForAnswer(id);
    assert.deepEqual([reply, responder], ["Port 8080", "api"]);
  }, agent.cli);
}

// The suite has this of Copilot CLI: a permission by the human, and the session continued.
inLongForm(withLab)(
  import.meta.url,
  "gemini --acp uses a tool once the human allows it",
  async () => {
    await using lab = new AcpLab(GEMINI_ACP, [ACKS]);
    await lab.up();
    const { metadata } = await lab.start();
    const first = await lab.ask("Which port?");
    const { item_id, text } = await lab.permission();
    assert.match(text, /^@api wants to use ack \(mesh MCP Server\): .*Port 8080/);
    assert.equal((await lab.peer())?.turn_state, "awaiting_input");
    await lab.reply(item_id, "allow");
    assert.equal((await lab.waitForAnswer(first)).reply, "Port 8080");
    await lab.isSeen(first);
    await until("the end of the turn", async () => (await lab.peer())?.turn_state === "idle");

    assert.equal(await lab.stop("SIGINT"), 130);
    olderChats(join(lab.dir, "home/.gemini/tmp/api/chats"));
    assert.equal((await lab.start()).metadata?.["acp_session"], metadata?.["acp_session"]);
    const second = await lab.ask("And now?");
    await lab.reply((await lab.permission()).item_id, "deny");
    await lab.isSeen(second);
    const [latest = ""] = lab.model.transcripts().slice(-1);
    assert(latest.includes(first) && latest.includes(second), "the earlier session");
    assert.equal((await lab.call(getAsk, { params: { id: second } })).state, "open");
  },
  GEMINI_ACP.cli,
);
