/** Codex's adapter: the queue of the shared server, or the pane of a session's own process. */

import * as z from "zod";
import type { IsAlive } from "../../../host/processes.ts";
import type { TerminalServers } from "../../../host/terminal_server.ts";
import type { Adapter, AgentPeer, CallEvidence, Observation } from "../adapter.ts";
import { observeProcess } from "../pane_adapter.ts";
import { interruptInPane } from "../pane_interrupt.ts";
import { PaneTransport } from "../pane_transport.ts";
import {
  createCommandTransport,
  createSocketTransport,
  type NativeOptions,
} from "./native_transport.ts";
import { type CodexHost, hostOf } from "./hooks.ts";
import { codexEvidence } from "./question_evidence.ts";
import { withEnd } from "../sessions/last_end.ts";
import { codexEnds, codexWindows } from "./turn_ends.ts";
import { rolloutOf } from "./rollouts.ts";
import {
  interrupt,
  interruptTurn,
  type Queue,
  type ThreadConnection,
  withServer,
  withThread,
} from "./threads.ts";
import { askForWindows } from "./rate_limits.ts";
import { composerAt, composerScreen, MENU_ENTRY, visibleAscii } from "../screens.ts";

/**
 * Time for which a composer must be shown before a paste. A text that is pasted while Codex draws
 * its first screens can be lost, and the composer with it (0.169.0).
 */
const WARM_UP_MS = 2_000;

export interface CodexOptions extends NativeOptions {
  readonly terminalServers: TerminalServers;
  /** True if a session's process is running. Called often. */
  readonly isAlive?: IsAlive;
  /** Finds the nearest Codex process above a process; by default it asks the kernel. */
  readonly hostOf?: (pid: number) => CodexHost | undefined;
}

export function codexAdapter(options: CodexOptions): Adapter {
  const { codex_home } = options;
  const findHost = options.hostOf ?? hostOf;
  const ends = codexEnds(codex_home);
  const hasOpenDialog = (peer: AgentPeer) =>
    withThread(options, peer, ({ activity }) => activity === "awaiting_input", () => false);
  const inspected = { ...options, screen: codexScreen, hasOpenDialog };
  const transports = [
    createSocketTransport(options),
    createCommandTransport(options),
    new PaneTransport({ ...inspected, warm_up_ms: WARM_UP_MS }),
  ];
  return {
    backend: "codex",
    transports: () => transports,
    transport: ({ agent_pid, pane_id, runtime_session_id }) => {
      if (agent_pid === null) return runtime_session_id === null ? "none" : "native";
      return pane_id === null ? "none" : "pane";
    },
    observe: async (peer) => withEnd(await observe(options, peer), peer, ends),
    questionEvidence: (call) => Promise.resolve(codexEvidence(codex_home, call)),
    // A session with its own process has no other interface than its terminal.
    interrupt: (peer) =>
      peer.agent_pid === null
        ? withServer(options, peer, interrupt, (reason) => ({ state: "refused", reason }))
        : interruptInPane(inspected, peer),
    lastEnd: ends,
    account: () => ({ home: codex_home }),
    limitWindows: (session_id) => codexWindows(codex_home, session_id),
    askForWindows: () => askForWindows(options),
    // The shared server continues a turn whose terminal was closed.
    interruptTurn: (peer) => withServer(options, peer, interruptTurn, () => undefined),
    resume: (session) => rolloutOf(codex_home, session, "resume"),
    fork: (session) => rolloutOf(codex_home, session, "fork"),
    sessionOfCall: (evidence) => sessionOfCall(evidence, findHost),
  };
}

/**
 * Observes a session. A session with its own process is alive while that process is. For any other
 * session, the shared server decides.
 */
async function observe(options: CodexOptions, peer: AgentPeer): Promise<Observation | undefined> {
  if (peer.agent_pid !== null) return observeProcess(peer, options.isAlive);
  const gone: Observation = { alive: false, turn_state: null, source: "app server" };
  return await withThread(options, peer, async ({ activity, waits_for, queue }, connection) => {
    if (activity === "not_loaded") return gone;
    if (activity === "idle") await startQueue(connection, queue);
    return activity === "unknown" ? undefined : {
      alive: true,
      turn_state: activity,
      ...(waits_for && { waits_for }),
      source: "app server",
    };
  }, (reason) => reason === "no_server" || reason === "connection_refused" ? gone : undefined);
}

/** The ids of our deliveries: `notif-` for notifications, `qd-` for asks and other messages. */
const OUR_DELIVERY_ID = /^(qd|notif)-/;

/**
 * When a human interrupts a turn, Codex holds the queue until a client starts it. A message that
 * was reported as accepted must not stay there. Therefore this starts the queue of an idle thread
 * if our message is first. It does not start a message of the human.
 */
async function startQueue(
  { server, threadId }: ThreadConnection,
  [first]: Queue = [],
): Promise<void> {
  if (!first || !OUR_DELIVERY_ID.test(first.clientUserMessageId ?? "")) return;
  await server.call("thread/queue/start", { threadId, queuedSubmissionId: first.id });
}

/** The `_meta` that Codex adds to each call. */
const Meta = z.looseObject({ threadId: z.string() });

/**
 * The thread that a call names. Undefined unless a Codex process sent the call, because no other
 * program may claim a thread.
 */
function sessionOfCall(
  { pid, meta, session: named }: CallEvidence,
  findHost: (pid: number) => CodexHost | undefined,
): string | undefined {
  const { data } = Meta.safeParse(meta);
  const session = data?.threadId ?? named;
  return pid === undefined || !findHost(pid) ? undefined : session;
}

/** The composer's first row. A `!` in place of `›` is the shell mode, which takes no prompts. */
const PROMPT = /^›(\s|$)/;
/** Further rows of the composer: blank lines, or text behind two spaces. */
const CONTINUATION = /^(\s{2}|$)/;

/**
 * The composer begins with `›`, holds the cursor, and is above a footer of one or two rows. A
 * dialog replaces the composer. Tested with 0.169.0, idle and busy.
 */
export const codexScreen = composerScreen({
  find(rows, { lines, cursor_y }) {
    const last = rows.findLastIndex((row) => row !== "");
    const bottom = rows.slice(0, last + 1).lastIndexOf("");
    const top = rows.slice(0, Math.max(0, bottom)).findLastIndex((row) => PROMPT.test(row));
    if (top < 0 || cursor_y < top || cursor_y >= bottom) return undefined;
    const [first = "", ...more] = rows.slice(top, bottom);
    const isComposer = !MENU_ENTRY.test(first) && more.every((row) => CONTINUATION.test(row));
    return isComposer ? composerAt(lines, { top, bottom, sign: "›" }) : undefined;
  },
  // Until the session exists, it lacks the row with the model and the folder. Enter is lost then,
  // and the question whether to trust new hooks comes at the end (0.171.0).
  starting: /^\s*\? for shortcuts\s*$/,
  work: { hints: ["[0-9]s . esc to interrupt\\)"], side: "above" },
  isCollapsed: ({ text }) => /^\[PastedContent\d+chars\]$/.test(visibleAscii(text)),
});
