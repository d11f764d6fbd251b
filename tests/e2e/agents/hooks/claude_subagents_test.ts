/** A real Claude Code that starts a subagent: its peer has a child until the subagent ends. */

import assert from "node:assert/strict";
import { ApiError } from "kit/http/client.ts";
import { openAsk } from "protocol/asks/contract.ts";
import type { ScriptedReply } from "../../../../daemon/features/agents/selftest/fixture.ts";
import { diagnosePeer } from "protocol/lifecycle.ts";
import { getPeer, listPeers } from "protocol/peers/contract.ts";
import { Lab, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

const NAME = "api-claude-code";
const DELEGATED: ScriptedReply = {
  match: /^Delegate it/m,
  steps: [
    {
      tool: "Agent",
      args: { description: "Looks", prompt: "Look inside", subagent_type: "Explore" },
    },
    { say: "Delegated" },
  ],
};
const RULES: readonly ScriptedReply[] = [
  DELEGATED,
  { match: /^Look inside/m, steps: [{ say: "Nothing there" }] },
];

withLab(import.meta.url, "a subagent of Claude Code is seen, refuses asks, and ends", async () => {
  await using lab = new Lab({ rules: RULES, bare: true, permissions: ["Agent"] });
  await lab.mesh.setUp();
  await lab.mesh.up();
  const { call } = lab.mesh;
  const parent = () => call(getPeer, { params: { id: NAME }, query: {} });
  const claude = await lab.claude("api");
  await until("the peer", async () => {
    const { peers } = await call(listPeers, { query: {} });
    return peers.some(({ name, status }) => name === NAME && status === "online");
  });
  const first = lab.model.hold();
  await claude.sendPrompt("Delegate it");
  await until("the model's turn", () => lab.model.asked("Delegate it").length > 0);
  await until("the peer's turn", async () => (await parent()).turn_state === "working");
  const others = lab.model.hold(); // The subagent's answer, and the rest of the session's turn.
  first.release();
  const child = await until("the child", async () => (await parent()).children[0]);
  assert.deepEqual([child.name, child.type, child.status, child.ended_at], [
    `${NAME}.explore-1`,
    "explore",
    "busy",
    null,
  ]);
  await assert.rejects(
    call(openAsk, { body: { from_peer: "cli", to_peer: child.name, text: "Well?" } }),
    (error) => {
      assert(error instanceof ApiError);
      const { peer_id } = child;
      assert.deepEqual(error.status, 409);
      assert.equal(error.problem["peer_id"], peer_id);
      assert.match(error.problem.hint ?? "", new RegExp(`ask @${NAME}, which started it`));
      return true;
    },
  );
  const { contradictions } = await call(diagnosePeer, {
    params: { id: child.peer_id },
    query: {},
  });
  assert.deepEqual(contradictions, []);
  others.release();
  await until("its end", async () => (await parent()).children[0]?.status === "offline");
  await until("the end of the turn", async () => (await parent()).turn_state === "idle");
  const { children, children_count } = await parent();
  assert.equal(children_count, 1);
  assert.notEqual(children[0]?.ended_at, null);
});
