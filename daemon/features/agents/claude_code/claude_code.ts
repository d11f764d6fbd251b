/**
 * Claude Code's adapter. Its transports are the socket, the pane and a waking hook. It reads the
 * state from Claude Code's session registry.
 */

import type { IsAlive } from "../../../host/processes.ts";
import type { TerminalServers } from "../../../host/terminal_server.ts";
import {
  type Adapter,
  type AgentPeer,
  type AgentTransport,
  type Observation,
  refused,
  toReadiness,
  withArgs,
} from "../adapter.ts";
import { type AccountPlace, claudeAccount } from "./account.ts";
import { observeProcess } from "../pane_adapter.ts";
import { planUse } from "./plan_use.ts";
import { interruptInPane } from "../pane_interrupt.ts";
import { PaneTransport } from "../pane_transport.ts";
import { createNativeTransport, type NativeOptions } from "./native_transport.ts";
import { claudeEvidence } from "./question_evidence.ts";
import { processOf, sessionOfPeer, turnState, waitOfSession } from "./registry.ts";
import { resumeClaude } from "./transcripts.ts";
import { withEnd } from "../sessions/last_end.ts";
import { claudeEnds } from "./turn_ends.ts";
import { createHookTransport, WaitingHookList } from "./hook_transport.ts";
import { composerAt, composerScreen, MENU_ENTRY, visibleAscii } from "../screens.ts";

interface ClaudeCodeOptions extends NativeOptions {
  readonly terminalServers: TerminalServers;
  /** The places of the accounts; by default, only the settings folders tell them apart. */
  readonly account_places?: readonly AccountPlace[];
  /** The folder in which the status lines of sessions keep how far plans are used. */
  readonly plan_use_dir?: string;
  /** True for a session that has just started, and cannot answer yet. Default: never. */
  readonly isStarting?: (peer: AgentPeer) => boolean;
  /** True if a session's process is running. Called often. */
  readonly isAlive?: IsAlive;
}

export function claudeCodeAdapter(options: ClaudeCodeOptions): Adapter {
  const { config_dirs, plan_use_dir } = options;
  const native = createNativeTransport(options);
  const ends = claudeEnds(config_dirs);
  const places = options.account_places ?? config_dirs.map((home) => ({ home, file: "" }));
  const waiters = new WaitingHookList(options.clock);
  const hook = createHookTransport(waiters);
  const inspected = {
    ...options,
    screen: claudeScreen,
    hasOpenDialog: (peer: AgentPeer) =>
      Promise.resolve(sessionOfPeer(config_dirs, peer)?.status === "waiting"),
  };
  const pane = new PaneTransport(inspected);
  return {
    backend: "claude-code",
    // Claude Code shows a text from its socket as text of another session, so a human's message is
    // sent to the pane first.
    transports(peer, { human }) {
      if (options.isStarting?.(peer)) return [whileStarting];
      return human ? [pane, native, hook] : [native, pane, hook];
    },
    transport: ({ agent_pid, pane_id, runtime_session_id }) => {
      // A hook waits only if neither the socket nor a pane reaches the session.
      if (runtime_session_id !== null && waiters.isWaiting(runtime_session_id)) return "hook";
      return agent_pid !== null ? "native" : pane_id === null ? "none" : "pane";
    },
    waiters,
    observe: (peer) => {
      const observed = observe(options, peer);
      const isIdle = observed?.turn_state === "idle";
      return Promise.resolve(isIdle ? withLimit(withEnd(observed, peer, ends)) : observed);
    },
    questionEvidence: (call, now) => Promise.resolve(claudeEvidence(options, call, now)),
    // The socket takes no interrupt, and SIGINT ends the session.
    interrupt: (peer) =>
      interruptInPane({
        ...inspected,
        isWorking: (peer) => sessionOfPeer(config_dirs, peer)?.status !== "idle",
      }, peer),
    lastEnd: ends,
    account: claudeAccount(places),
    ...(plan_use_dir !== undefined && {
      limitWindows: (session_id) => planUse(plan_use_dir, session_id),
    }),
    resume: (session) => resumeClaude(config_dirs, session),
    processOf: (session_id) => processOf(config_dirs, session_id, options.isAlive),
    fork: (session) => withArgs(resumeClaude(config_dirs, session), "--fork-session"),
  };
}

/** A hook reports the failure of a turn, so an end at a limit only tells of the limit. */
function withLimit(observed: Observation | undefined): Observation | undefined {
  if (observed?.end?.how !== "failed") return observed;
  const { end, ...rest } = observed;
  return { ...rest, end_at_limit: end };
}

/** Takes the place of all transports of a session that has just started. */
const whileStarting: AgentTransport = {
  name: "native",
  check: () => Promise.resolve(toReadiness("starting")),
  deliver: () => Promise.resolve(refused("starting")),
};

function observe(
  { config_dirs, isAlive }: ClaudeCodeOptions,
  peer: AgentPeer,
): Observation | undefined {
  const session = sessionOfPeer(config_dirs, peer, isAlive);
  if (session) {
    const waits_for = waitOfSession(session);
    const turn_state = turnState(session);
    return { alive: true, turn_state, ...(waits_for && { waits_for }), source: "session registry" };
  }
  return observeProcess(peer, isAlive);
}

/** A horizontal rule across the screen; Claude Code may write a label into it. */
const RULE = /^\s*[─╭╰]?─{8}/;
/**
 * The first row of the composer. A no-break space follows the prompt sign. A `!` in place of the
 * sign means Claude Code's shell mode.
 */
const PROMPT = /^❯(\s|$)/;

/**
 * The composer is between two rules and begins with `❯`; the lowest one counts. A dialog replaces
 * the composer. Tested with 2.1.329, in all permission modes, idle and busy.
 */
export const claudeScreen = composerScreen({
  find(rows, { lines }) {
    const rules = rows.flatMap((row, at) => RULE.test(row) ? [at] : []);
    for (let last = rules.length - 1; last > 0; last--) {
      const [above = 0, bottom = 0] = rules.slice(last - 1);
      const top = above + 1;
      const first = rows[top] ?? "";
      if (!PROMPT.test(first) || MENU_ENTRY.test(first)) continue;
      return composerAt(lines, { top, bottom, sign: "❯" });
    }
    return undefined;
  },
  work: { hints: ["esc to interrupt"], side: "below" },
  isCollapsed: ({ text }) => /^\[Pastedtext#\d+(\+\d+lines)?\]$/.test(visibleAscii(text)),
});
