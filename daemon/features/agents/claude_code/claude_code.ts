/**
 * Claude Code's adapter. Its transports are the socket, the pane and a waking hook. It reads the
 * state from Claude Code's session registry.
 */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { type IsAlive, isAlive } from "../../../host/processes.ts";
import type { TmuxServers } from "../../../host/tmux/tmux.ts";
import type { Adapter, AgentPeer, Observation } from "../adapter.ts";
import { createPaneTransport } from "../pane_transport.ts";
import { claudeScreen } from "./screen.ts";
import { createNativeTransport } from "./native_transport.ts";
import { sessionFor, turnState } from "./registry.ts";
import { resumeClaude } from "./transcripts.ts";
import { createHookTransport, WaitingHookList } from "./hook_transport.ts";

export interface ClaudeCodeOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly tmuxServers: TmuxServers;
  /** Claude Code's configuration folders, e.g. `~/.claude`. */
  readonly config_dirs: readonly string[];
  /** The newest release that the adapter was tested with. */
  readonly tested_version: string;
  /** Whether a session's process is running. This is called often. */
  readonly isAlive?: IsAlive;
}

export function claudeCodeAdapter(options: ClaudeCodeOptions): Adapter {
  const { config_dirs, isAlive: checkAlive = isAlive } = options;
  const native = createNativeTransport(options);
  const waiters = new WaitingHookList(options.clock);
  const hook = createHookTransport(waiters);
  const pane = createPaneTransport({
    ...options,
    screen: claudeScreen,
    hasOpenDialog: (peer) => Promise.resolve(sessionFor(config_dirs, peer)?.status === "waiting"),
  });
  return {
    backend: "claude-code",
    // Claude Code shows a text from its socket as another session's text, so a human's message is
    // sent to the pane first.
    transports: (_peer, { human }) => human ? [pane, native, hook] : [native, pane, hook],
    transport: ({ agent_pid, pane_id, runtime_session_id }) => {
      // A hook waits only if neither the socket nor a pane reaches the session.
      if (runtime_session_id !== null && waiters.isWaiting(runtime_session_id)) return "hook";
      return agent_pid !== null ? "native" : pane_id === null ? "none" : "pane";
    },
    waiters,
    observe: (peer) => Promise.resolve(observe(config_dirs, peer, checkAlive)),
    resume: (session) => resumeClaude(config_dirs, session),
  };
}

function observe(
  config_dirs: readonly string[],
  peer: AgentPeer,
  checkAlive: IsAlive,
): Observation | undefined {
  const { agent_pid, agent_started } = peer;
  if (agent_pid === null) return undefined;
  const session = sessionFor(config_dirs, peer, checkAlive);
  if (session) return { alive: true, turn_state: turnState(session), source: "session registry" };
  const alive = checkAlive(agent_pid, agent_started ?? undefined);
  return { alive, turn_state: null, source: "process table" };
}
