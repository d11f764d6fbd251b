/** Real Claude Code and Codex that thank each other without end, until the breaker ends it. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { listEvents } from "protocol/api/events.ts";
import { listInbox } from "protocol/inbox.ts";
import { listMessages } from "protocol/messages/log.ts";
import { getPeer, listPeers } from "protocol/peers/contract.ts";
import type { ScriptedReply } from "../../../../daemon/features/agents/selftest/fixture.ts";
import { inPane } from "../../../support/e2e/programs.ts";
import { prepareStandaloneCodex } from "../../../support/e2e/agent_setups.ts";
import { binOf, codexCli } from "../../../support/e2e/installed_agents.ts";
import { Lab, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

/** The time in which Codex thinks, and in which its turn can be interrupted before it answers. */
const THINKS = { sleep_ms: 4_000 };

/** Codex thanks for each ask. */
const THANKS: ScriptedReply = {
  match: /<peer-message type="ask" id="(ask-[0-9a-f]+)"/,
  steps: [THINKS, {
    tool: "ack",
    args: { correlation_id: "$1", message: "Thank you, all is well" },
  }, { say: "Thanked" }],
};

/** Claude Code asks again after each answer. */
const ASKS_AGAIN: ScriptedReply = {
  match: /<peer-message type="ack" [^>]*from="@([a-z-]+)"/,
  steps: [{ tool: "ask", args: { peer: "$1", message: "Is all well?" } }, { say: "Asked" }],
};

/** Time in which a further message would come: longer than both agents need for a turn. */
const QUIET_MS = 15_000;
/** Maximum time until the loop is found: five turns of Codex. */
const LOOP_MS_MAX = 180_000;

async function test(): Promise<void> {
  await using lab = new Lab({ bare: true, permissions: ["mcp__mesh"], rules: [ASKS_AGAIN] });
  const codex = prepareStandaloneCodex(lab, binOf(codexCli), [THANKS]);
  await using _model = codex.model;
  await lab.mesh.setUp({
    config: {
      daemon: { port: 0, circle_boundary: "machine" },
      breakers: { loops: "interrupt" },
      human: { name: "sam" },
    },
  });
  await lab.mesh.up({ TMUX: `${lab.tmux_socket},1,0` });
  const { call } = lab.mesh;
  const claude = await lab.claude("api");
  const env = { ...lab.env, ...codex.env };
  const command = [codex.bin, ...codex.command.slice(1), "@@SAY ready"];
  lab.cli("new-window", "-d", "-t", "office:", ...inPane(join(lab.dir, "api"), env, command));
  const both = await until("both peers", async () => {
    const { peers } = await call(listPeers, { query: {} });
    const agents = ["claude-code", "codex"].flatMap((agent) =>
      peers.find(({ backend, status, turn_state }) =>
        backend === agent && status === "online" && turn_state !== "working"
      ) ?? []
    );
    return agents.length === 2 && agents;
  });
  const ask = { peer: both[1]?.name, message: "Is all well?" };
  await claude.sendPrompt(`@@TOOL ask ${JSON.stringify(ask)}`);
  const eventsOf = async (type: string) =>
    (await call(listEvents, { query: { type, limit: "1000" } })).events;
  const [found] = await until("the loop", async () => {
    const events = await eventsOf("looping");
    return events.length > 0 && events;
  }, LOOP_MS_MAX);
  assert.deepEqual([found?.["kind"], found?.["times"]], ["exchange", 8]);
  const { items } = await call(listInbox, { query: {} });
  assert.match(
    items[0]?.text ?? "",
    /^@\S+ and @\S+ answer each other without anything new: the last 8 messages .* no tool call/,
  );
  for (const { peer_id } of both) {
    const { looping } = await call(getPeer, { params: { id: peer_id }, query: {} });
    assert.equal(looping?.kind, "exchange");
  }
  await until("an interrupted turn", async () => {
    return (await eventsOf("interrupt")).some(({ outcome }) => outcome === "interrupted");
  });
  let count = 0, since = 0;
  await until("the end of the exchange", async () => {
    const { length } = (await call(listMessages, { query: { limit: "500" } })).messages;
    if (length !== count) [count, since] = [length, Date.now()];
    return Date.now() - since > QUIET_MS;
  });
  assert.equal((await eventsOf("looping")).length, 1);
  await lab.endAgents(); // Before the model of Codex, which it would ask again.
}

withLab(
  import.meta.url,
  "a real Claude Code and Codex that thank each other are reported once, and interrupted [4.loop.interrupt]",
  test,
  codexCli,
);
