/** A session of Claude Code that has just started takes no message before it has our tools. */

import assert from "node:assert/strict";
import { claudeCode } from "../../../../../daemon/features/agents/claude_code/agent.ts";
import type { AgentPeer } from "../../../../../daemon/features/agents/adapter.ts";
import { ToolClients } from "../../../../../daemon/features/agents/tool_clients.ts";
import { outgoingNotification } from "../../../../support/agents/outgoing_message.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { silent } from "../../../../support/host/private_tmux.ts";
import { FakeProcesses } from "../../../../support/world.ts";

const AGENT = 40;
const PEER: AgentPeer = {
  peer_id: "peer-1",
  backend: "claude-code",
  tmux_socket: null,
  pane_id: null,
  agent_pid: AGENT,
  agent_started: "1",
  runtime_session_id: "s-1",
  turn_state: "idle",
  metadata: {},
};
const OUTGOING = outgoingNotification("notif-1", "Hello");

/** An agent that reports the start of its session, and its MCP client. */
async function start(source: string) {
  const clock = new FakeClock();
  const processes = new FakeProcesses();
  processes.start(AGENT);
  processes.start(41, AGENT); // A shell between the agent and its client.
  processes.start(42, 41);
  const toolClients = new ToolClients(processes);
  const { adapter, hooks } = await claudeCode.open({
    terminalServers: { at: () => assert.fail("No terminal is used") },
    clock,
    log: silent,
    isAlive: () => true,
    hasTools: (pid) => toolClients.has(pid),
    env: { HOME: "/nonexistent" },
  });
  const common = { session_id: "s-1", transcript_path: "/t", cwd: "/w" };
  hooks?.read({ ...common, hook_event_name: "SessionStart", source });
  /** Why nothing is sent to it, as its transports say. */
  const reason = async () => {
    const transports = adapter.transports(PEER, OUTGOING);
    const [ready] = await Promise.all(
      transports.map((transport) => transport.check(PEER, OUTGOING)),
    );
    return ready?.ready === false ? ready.reason : undefined;
  };
  return { clock, reason, add: (pid: number) => toolClients.add(pid) };
}

Deno.test("a session that has just started waits for its tools, whatever starts it", async () => {
  for (const source of ["startup", "resume", "fork"]) {
    const { reason, add } = await start(source);
    assert.equal(await reason(), "starting", source);
    add(42);
    assert.notEqual(await reason(), "starting", source);
  }
});

Deno.test("a session without tools of mesh waits ten seconds, and one that goes on not at all", async () => {
  const { clock, reason } = await start("startup");
  await clock.advance(9_999);
  assert.equal(await reason(), "starting");
  await clock.advance(1);
  assert.notEqual(await reason(), "starting");
  for (const source of ["clear", "compact"]) {
    assert.notEqual(await (await start(source)).reason(), "starting", source);
  }
});

Deno.test("a client of another agent gives a session no tools", async () => {
  const { reason, add } = await start("startup");
  add(77);
  assert.equal(await reason(), "starting");
});
