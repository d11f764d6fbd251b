/** Claude Code: its own socket first, its pane for the user's words, its registry for its state. */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { type IsAlive, isAlive } from "../../../host/processes.ts";
import type { Tmuxes } from "../../../host/tmux/tmux.ts";
import type { Adapter, Addressee, Sighting } from "../adapter.ts";
import { paneRung } from "../pane.ts";
import { claudeScreen } from "./screen.ts";
import { nativeRung } from "./native.ts";
import { sessionFor, turnState } from "./registry.ts";
import { resumeClaude } from "./transcripts.ts";
import { HookWaiters, wakingRung } from "./waking.ts";

export interface ClaudeCodeOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly tmuxes: Tmuxes;
  /** Claude Code's configuration folders, e.g. `~/.claude`. */
  readonly config_dirs: readonly string[];
  /** Whether a session's process lives, as looks ask it again and again. */
  readonly isAlive?: IsAlive;
}

export function claudeCodeAdapter(options: ClaudeCodeOptions): Adapter {
  const { config_dirs, isAlive: lives = isAlive } = options;
  const native = nativeRung(options);
  const waiters = new HookWaiters(options.clock);
  const waking = wakingRung(waiters);
  const pane = paneRung({
    ...options,
    screen: claudeScreen,
    dialogKnown: (peer) => Promise.resolve(sessionFor(config_dirs, peer)?.status === "waiting"),
  });
  return {
    backend: "claude-code",
    // The socket shows a text as another session's; a human's words are typed where that is safe.
    rungs: (_peer, { human }) => human ? [pane, native, waking] : [native, pane, waking],
    transport: ({ agent_pid, pane_id, runtime_session_id }) => {
      // A hook waits only where neither socket nor pane was found.
      if (runtime_session_id !== null && waiters.holds(runtime_session_id)) return "hook";
      return agent_pid !== null ? "native" : pane_id === null ? "none" : "pane";
    },
    waiters,
    sight: (peer) => Promise.resolve(sight(config_dirs, peer, lives)),
    resume: (session) => resumeClaude(config_dirs, session),
  };
}

function sight(
  config_dirs: readonly string[],
  peer: Addressee,
  lives: IsAlive,
): Sighting | undefined {
  const { agent_pid, agent_started } = peer;
  if (agent_pid === null) return undefined;
  const session = sessionFor(config_dirs, peer, lives);
  if (session) return { alive: true, turn_state: turnState(session), source: "session registry" };
  const alive = lives(agent_pid, agent_started ?? undefined);
  return { alive, turn_state: null, source: "process table" };
}
