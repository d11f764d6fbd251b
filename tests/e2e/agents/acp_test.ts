/** Real agents over the Agent Client Protocol: asked, permitted, continued, all without a terminal. */

import assert from "node:assert/strict";
import { listPeers } from "../../../daemon/features/peers/contract.ts";
import { ANSWERS } from "../../support/e2e/model_rules.ts";
import { AcpLab, GEMINI_ACP, OPENCODE_ACP } from "../../support/e2e/acp_lab.ts";
import { withLab } from "../../support/e2e/lab.ts";
import { until } from "../../support/waiting.ts";

withLab(import.meta.url, "opencode acp is asked, answers, and continues its session", async () => {
  await using lab = new AcpLab(OPENCODE_ACP, [ANSWERS]);
  await lab.up();
  const peer = await lab.start();
  assert.deepEqual([peer.transport, peer.pane_id], ["websocket", null]);
  const first = await lab.ask("Which port?");
  assert.equal((await lab.answered(first)).reply, "Port 8080");
  assert((await lab.stages(first)).includes("seen"));
  const { peers } = await lab.call(listPeers, { query: {} });
  assert.deepEqual(peers.map(({ name }) => name).toSorted(), ["api", "sam", "web"]);
  await until("the end of the turn", async () => (await lab.turns()).length === 2);
  const [, answer] = await lab.turns();
  assert.deepEqual([answer?.text, answer?.tool_calls.length], ["Answered", 1]);

  assert.equal(await lab.stop(), 143);
  const again = await lab.start();
  assert.equal(again.peer_id, peer.peer_id);
  assert.equal(again.metadata?.["acp_session"], peer.metadata?.["acp_session"]);
  const second = await lab.ask("And now?");
  assert.equal((await lab.answered(second)).responder, "api");
}, OPENCODE_ACP.cli);

withLab(
  import.meta.url,
  "gemini --experimental-acp uses a tool once the human allows it",
  async () => {
    await using lab = new AcpLab(GEMINI_ACP, [ANSWERS]);
    await lab.up();
    await lab.start();
    const id = await lab.ask("Which port?");
    const { item_id, text } = await lab.permission();
    assert.match(text, /^@api wants to use ack \(mesh MCP Server\): .*Port 8080/);
    await lab.reply(item_id, "allow");
    assert.equal((await lab.answered(id)).reply, "Port 8080");
    assert((await lab.stages(id)).includes("seen"));
  },
  GEMINI_ACP.cli,
);
