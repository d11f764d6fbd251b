/**
 * Real Codex and opencode: a copy of a peer knows the conversation of the peer. Longer than
 * continuous integration allows; `deno task agents` runs it.
 */

import assert from "node:assert/strict";
import { listPeers, registerPeer } from "protocol/peers/contract.ts";
import { spawnPeer } from "protocol/spawn/contract.ts";
import { forkSession } from "protocol/spawn/sessions.ts";
import type { ScriptedReply } from "../../../../daemon/features/agents/selftest/fixture.ts";
import type { ModelServer } from "../../../../tools/selftest/model/scripted_model.ts";
import {
  codexCli,
  type InstallResult,
  opencodeCli,
} from "../../../support/e2e/installed_agents.ts";
import {
  type AgentFixture,
  type AgentUnderTest,
  withAgentFixture,
} from "../../../support/e2e/agent_harness.ts";
import { prepareOpencode, prepareStandaloneCodex } from "../../../support/e2e/agent_setups.ts";
import type { Lab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

interface AgentWithModel extends AgentUnderTest {
  readonly model: ModelServer;
}

interface Case {
  readonly title: string;
  readonly agent: () => InstallResult;
  readonly prepare: (lab: Lab, bin: string, rules: readonly ScriptedReply[]) => AgentWithModel;
}

const CASES: readonly Case[] = [
  { title: "Codex", agent: codexCli, prepare: prepareStandaloneCodex },
  { title: "opencode", agent: opencodeCli, prepare: prepareOpencode },
];

const RULES = [{ match: /Remember (\w+)/, steps: [{ say: "I shall remember $1" }] }];
const TURN_MS = 60_000;

const named = async ({ call }: AgentFixture, name: string) => {
  const { peers } = await call(listPeers, { query: {} });
  return peers.find((peer) => peer.name === name && peer.status === "online");
};

for (const { title, agent, prepare } of Deno.env.has("MESH_ALL_AGENTS") ? CASES : []) {
  withAgentFixture(
    import.meta.url,
    `a copy of ${title} begins with its conversation, and is a peer of its own`,
    {
      agent,
      prepare: (lab, bin) => prepare(lab, bin, RULES),
      config: (lab, { backend, command, env, bin }) => {
        const commands = { [backend]: [bin, ...command.slice(1)] };
        return {
          spawn: { commands, allowed_paths: [lab.dir], env: { ...lab.env, ...env } },
          transcripts: "peers",
        };
      },
    },
    async (fixture) => {
      const { lab, path, agentUnderTest: { backend, model }, call } = fixture;
      await call(spawnPeer, {
        query: { tmux_socket: lab.tmux_socket },
        body: { path, backend, name: "api", message: "Remember Lindau" },
      });
      const source = await until("the turn of the source", async () => {
        const peer = model.transcripts().length > 0 && await named(fixture, "api");
        return peer && peer.turn_state === "idle" && peer;
      }, TURN_MS);
      const { circle } = source;
      const self = { path, name: "lead", backend: "generic" as const, agent_pid: Deno.pid };
      await call(registerPeer, { body: { ...self, circle } });
      const body = { name: "copy", message: "Remember Bregenz", from_peer: "lead" };
      await call(forkSession, { params: { id: "api" }, body });
      const copy = await until("the copy", () => named(fixture, "copy"), TURN_MS);
      assert.notEqual(copy.peer_id, source.peer_id);
      const asked = await until("the message to the copy", () => {
        return model.transcripts().find((text) => text.includes("Remember Bregenz"));
      }, TURN_MS);
      assert(asked.includes("Remember Lindau"), "it knows the earlier turn");
      const after = await named(fixture, "api");
      assert.deepEqual([after?.pane_id, after?.agent_pid], [source.pane_id, source.agent_pid]);
    },
  );
}
