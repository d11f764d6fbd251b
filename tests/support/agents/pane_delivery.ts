/** Helpers for tests of the pane transport: a message, its addressee, and replaced programs. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import type { AgentPeer, OutgoingMessage } from "../../../daemon/features/agents/adapter.ts";
import { claudeScreen } from "../../../daemon/features/agents/claude_code/claude_code.ts";
import { type PaneOptions, PaneTransport } from "../../../daemon/features/agents/pane_transport.ts";
import type { TerminalServers } from "../../../daemon/host/terminal_server.ts";
import { isAlive, startTimeOf } from "../../../daemon/host/processes.ts";
import { type Agent, recorder, silent, type Terminal, waitSync } from "../host/private_tmux.ts";

export const ID = "ask-3f9c04d1a2b7";
const FRAME = `[mesh] <peer-message type="ask" id="${ID}" from="@web-codex" circle="main">`;

export function outgoingMessage(
  text: string,
  framed = `${FRAME}${text}</peer-message>`,
): OutgoingMessage {
  return { delivery_id: "dlv-1", proof_id: ID, kind: "ask", human: false, framed };
}

export function addressee(
  terminal: Pick<Terminal, "socket">,
  { pane, pid }: { pane: string; pid: number },
): AgentPeer {
  return {
    peer_id: "peer-1",
    backend: "claude-code",
    tmux_socket: terminal.socket,
    pane_id: pane,
    agent_pid: pid,
    agent_started: startTimeOf(pid) ?? null,
    runtime_session_id: null,
    turn_state: null,
    metadata: {},
  };
}

export function paneTransport(
  { tmuxServers: terminalServers }: { readonly tmuxServers: TerminalServers },
  options: Partial<PaneOptions> = {},
) {
  const defaults = {
    terminalServers,
    clock: systemClock,
    log: silent,
    screen: claudeScreen,
    settle_ms: 40,
  };
  return new PaneTransport({ ...defaults, ...options });
}

/** Replaces the pane's program by one that records its input. */
export function respawn(terminal: Terminal, pane: string): void {
  terminal.cli("respawn-pane", "-k", "-t", pane, recorder(`${terminal.dir}/other`));
  waitSync("the other program", () => terminal.screen(pane).includes("ready"));
}

/** The same, and waits until the agent's process has ended: tmux only asks it to. */
export function replaceProgram(
  terminal: Terminal,
  { pane, pid }: Pick<Agent, "pane" | "pid">,
): void {
  respawn(terminal, pane);
  waitSync("the agent's end", () => !isAlive(pid));
}

export function assertNothingTyped(terminal: Terminal, agent: Agent): void {
  assert.equal(agent.input, "");
  assert.equal(terminal.read("other"), "");
  assert.equal(terminal.cli("list-buffers"), "");
}
