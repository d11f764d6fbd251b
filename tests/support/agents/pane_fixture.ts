/** A pane transport on a private tmux, with a hook for changes during a delivery. */

import assert from "node:assert/strict";
import { type Clock, systemClock } from "kit/core/clock.ts";
import type {
  AgentPeer,
  OutgoingMessage,
  Receipt,
} from "../../../daemon/features/agents/adapter.ts";
import {
  createPaneTransport,
  type PaneOptions,
} from "../../../daemon/features/agents/pane_transport.ts";
import { claudeScreen } from "../../../daemon/features/agents/claude_code/screen.ts";
import { isAlive, startTimeOf } from "../../../daemon/host/processes.ts";
import { Agent, recorder, silent, type Terminal, until, waitSync } from "../host/private_tmux.ts";

export const ID = "ask-3f9c04d1a2b7";

const FRAME = `[mesh] <peer-message type="ask" id="${ID}" from="@web-codex" circle="main">`;

export function outgoing(text: string, framed = `${FRAME}${text}</peer-message>`): OutgoingMessage {
  return { delivery_id: "dlv-1", proof_id: ID, kind: "ask", human: false, framed };
}

export function addressee(
  terminal: Terminal,
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

export function paneTransport({ tmuxServers }: Terminal, options: Partial<PaneOptions> = {}) {
  const defaults = {
    tmuxServers,
    clock: systemClock,
    log: silent,
    screen: claudeScreen,
    settle_ms: 40,
  };
  return createPaneTransport({ ...defaults, ...options });
}

/** A transport that runs `swap` after its last check of the screen, before the paste. */
export function swappedBeforePaste(terminal: Terminal, swap: () => void) {
  let captures = 0;
  return paneTransport(terminal, {
    screen: {
      ...claudeScreen,
      composerEmpty(view) {
        const empty = claudeScreen.composerEmpty(view);
        if (++captures === 2) swap();
        return empty;
      },
    },
  });
}

/** A transport that runs `swap` once the text is in the pane, before Enter. */
export function swappedBeforeEnter(terminal: Terminal, agent: Agent, swap: () => void) {
  let swapped = false;
  const clock: Clock = {
    ...systemClock,
    async sleep(ms, signal) {
      if (!swapped) await until("the paste", () => agent.input.endsWith("\x1b[201~"));
      if (!swapped) swap();
      swapped = true;
      await systemClock.sleep(ms, signal);
    },
  };
  return paneTransport(terminal, { clock });
}

/** Another program takes the pane over, and records all its input. */
export function respawn(terminal: Terminal, pane: string): void {
  terminal.cli("respawn-pane", "-k", "-t", pane, recorder(`${terminal.dir}/other`));
  waitSync("the other program", () => terminal.screen(pane).includes("ready"));
}

/** The same, and the agent's process is gone too: tmux only asks it to end. */
export function replaceProgram(terminal: Terminal, { pane, pid }: Agent): void {
  respawn(terminal, pane);
  waitSync("the agent's end", () => !isAlive(pid));
}

export function assertNothingTyped(terminal: Terminal, agent: Agent): void {
  assert.equal(agent.input, "");
  assert.equal(terminal.read("other"), "");
  assert.equal(terminal.cli("list-buffers"), "");
}

export const UNCLEAR: Receipt = { state: "unclear", reason: "typed_not_submitted" };
