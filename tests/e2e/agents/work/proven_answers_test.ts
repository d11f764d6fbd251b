/** Real Claude Code says that it is done: the daemon refutes it, and verifies the repair. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { getAsk, openAsk } from "protocol/asks/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import type { ScriptedReply } from "../../../../daemon/features/agents/selftest/fixture.ts";
import { Lab, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

const FORGED = `commit:${"deadbeef".repeat(5)}`;

/** Waits within the turn until the test has seen that an answer came back. */
const wait = (file: string): ScriptedReply["steps"][number] => ({
  tool: "Bash",
  args: { command: `until [ -e ${file} ]; do sleep 0.05; done`, description: "Waits" },
});

const RULES: readonly ScriptedReply[] = [
  {
    match: /<peer-message type="ask" id="(ask-[0-9a-f]+)"[^>]*>Commit it/,
    steps: [
      { tool: "ack", args: { correlation_id: "$1", message: "Committed", claims: [FORGED] } },
      wait("back-2"),
      { tool: "ack", args: { correlation_id: "$1", message: "I insist", claims: [FORGED] } },
      { say: "Insisted" },
    ],
  },
  {
    match: /<peer-message type="ask" id="(ask-[0-9a-f]+)"/,
    steps: [
      { tool: "ack", args: { correlation_id: "$1", message: "It is done" } },
      wait("back-1"),
      { tool: "Bash", args: { command: "touch ./green", description: "Repairs it" } },
      { tool: "ack", args: { correlation_id: "$1", message: "Now it is repaired" } },
      { say: "Repaired" },
    ],
  },
];

withLab(
  import.meta.url,
  "Claude Code says done with a red check, is refuted, repairs it, and is verified",
  async () => {
    const permissions = ["mcp__mesh", "Bash"];
    await using lab = new Lab({ rules: RULES, bare: true, permissions, projects: ["api"] });
    const checks = { green: { argv: ["test", "-f", "green"], files: [] } };
    const config = { spawn: { allowed_paths: [lab.dir] }, jobs: { checks } };
    await lab.mesh.setUp({ config });
    await lab.mesh.up();
    await (await lab.claude("api")).waitForTools();
    const { call } = lab.mesh;
    const { peer_id } = await until("Claude Code among the peers", async () => {
      const { peers } = await call(listPeers, { query: {} });
      return peers.find(({ backend, status }) => backend === "claude-code" && status === "online");
    });
    const open = async (text: string, prove?: string[]) => {
      const asker = { from_peer: "cli", to_peer: peer_id, reply_delivery: "pull" as const };
      return (await call(openAsk, { body: { ...asker, text, prove } })).correlation_id ?? "";
    };
    let backs = 0;
    const closed = async (id: string) => {
      await until("the refuted answer to be back", async () => {
        const { proof } = await call(getAsk, { params: { id } });
        return proof?.state === "returned";
      });
      Deno.writeTextFileSync(join(lab.dir, "api", `back-${++backs}`), "");
      return await until("the end of the ask", async () => {
        const ask = await call(getAsk, { params: { id } });
        return ask.state === "closed" && ask;
      }, 60_000);
    };
    const repaired = await closed(await open("Fix the flaky test", ["green"]));
    assert.deepEqual(
      [repaired.proof?.state, repaired.proof?.answers, repaired.reply],
      ["verified", 2, "Now it is repaired"],
    );
    assert.ok(Deno.statSync(join(lab.dir, "api", "green")).isFile);
    const [prompt] = lab.model.asked('<peer-message type="ask"');
    assert.match(prompt?.prompt ?? "", /The daemon runs the check green in your folder/);
    new Deno.Command("git", { args: ["init", "-q", join(lab.dir, "api")] }).outputSync();
    // An ask that arrives within the turn is no prompt of its own, which the rules match.
    await until("the end of the turn", async () => {
      const { peers } = await call(listPeers, { query: {} });
      return peers.some((peer) => peer.peer_id === peer_id && peer.turn_state === "idle");
    });
    const forged = await closed(await open("Commit it"));
    assert.deepEqual(
      [forged.proof?.state, forged.proof?.claims, forged.reply],
      ["refuted", [FORGED], "I insist"],
    );
    assert.match(forged.proof?.results[0]?.reason ?? "", /no such commit/);
    for (const id of [repaired.correlation_id, forged.correlation_id]) {
      const isRead = ({ raw }: { raw: string }) => raw.includes(`Your answer to ${id} was not`);
      assert.ok(lab.model.requests.some(isRead), "the model reads that its answer came back");
    }
  },
);
