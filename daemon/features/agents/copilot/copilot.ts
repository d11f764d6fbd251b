/** Copilot CLI's adapter: only the pane. Hooks and records report turns. */

import { argumentsOf, type IsAlive } from "../../../host/processes.ts";
import type { Adapter, AgentPeer, Observation } from "../adapter.ts";
import { observeProcess, paneAdapter } from "../pane_adapter.ts";
import { interruptInPane } from "../pane_interrupt.ts";
import { type PaneOptions, PaneTransport } from "../pane_transport.ts";
import { copilotEvidence } from "./question_evidence.ts";
import { withEnd } from "../sessions/last_end.ts";
import { copilotEnds } from "./turn_ends.ts";
import { type Activity, processOf, resumeOf, SessionRecords } from "./sessions.ts";
import { composerAt, composerScreen, MENU_ENTRY, visibleAscii } from "../screens.ts";

interface CopilotOptions extends Omit<PaneOptions, "screen"> {
  /** Copilot CLI's folder, e.g. `~/.copilot`. */
  readonly config_dir: string;
}

export function copilotAdapter(options: CopilotOptions): Adapter {
  const { config_dir } = options;
  const records = new SessionRecords(config_dir);
  const ends = copilotEnds(config_dir);
  const inspected = {
    ...options,
    screen: copilotScreen,
    hasOpenDialog: (peer: AgentPeer) =>
      Promise.resolve(peerActivity(records, peer)?.turn_state === "awaiting_input"),
  };
  const pane = new PaneTransport({ ...inspected, waits_for_turn_end: true });
  return paneAdapter(pane, {
    backend: "copilot",
    observe: (peer) => {
      const observed = observe(peer, records, options.isAlive);
      return Promise.resolve(withEnd(observed, peer, ends));
    },
    questionEvidence: (call) => Promise.resolve(copilotEvidence(config_dir, call)),
    interrupt: (peer) => interruptInPane(inspected, peer),
    lastEnd: ends,
    account: () => ({ home: config_dir }),
    resume: (session) => resumeOf(config_dir, session),
    processOf: (session_id) => processOf(config_dir, session_id, argumentsOf),
  });
}

/**
 * No hook reports that a dialog was dismissed or a turn interrupted, but the session records do.
 * The records are written a moment late, so a hook's report that is newer than the last record is
 * kept. The observation carries the time of the record. With the current time, a record that was
 * written earlier but is read later would not count as newer.
 */
function observe(
  peer: AgentPeer,
  records: SessionRecords,
  checkAlive: IsAlive | undefined,
): Observation | undefined {
  const observed = observeProcess(peer, checkAlive);
  const activity = observed?.alive ? peerActivity(records, peer) : undefined;
  if (!activity) return observed;
  const { at } = activity;
  const isNewer = at > (peer.turn_at ?? 0);
  const turn_state = isNewer ? activity.turn_state : null;
  return { ...activity, alive: true, turn_state, source: "session records" };
}

function peerActivity(records: SessionRecords, peer: AgentPeer): Activity | undefined {
  const { runtime_session_id: id, agent_pid } = peer;
  return id === null || agent_pid === null ? undefined : records.activityOf(id, agent_pid);
}

/** A rule. The composer is between the lowest two. Other such rows are indented or in a box. */
const RULE = /^─{20}/;
/**
 * The composer's first row. Only `❯` takes prompts. In its place, `!` means the shell mode, and
 * other words mean a search.
 */
const PROMPT = /^❯(\s|$)/;
/** Further rows of the composer: blank lines, or text behind two spaces. */
const CONTINUATION = /^(\s{2}|$)/;
/** The cursor's column in an empty composer. */
const FIRST_COLUMN = 2;
/** The last row of lists and of the help. They count as dialogs: any key closes the help. */
const PROMPT_ROW = /\benter (accept|open)\b|\bany key close help\b/;
/** Minimum characters at a long text's end that must be shown to recognize it. */
const END_CHARS_MIN = 200;

/** Tested with 1.0.102: idle, busy, with drafts, at dialogs, in menus and in shell mode. */
export const copilotScreen = composerScreen({
  find(rows, { lines }) {
    const bottom = rows.findLastIndex((row) => RULE.test(row));
    const top = rows.slice(0, Math.max(0, bottom)).findLastIndex((row) => RULE.test(row)) + 1;
    const [first = "", ...more] = rows.slice(top, bottom);
    if (top < 1 || !PROMPT.test(first) || MENU_ENTRY.test(first)) return undefined;
    const isComposer = more.every((row) => CONTINUATION.test(row));
    return isComposer ? composerAt(lines, { top, bottom, sign: "❯" }) : undefined;
  },
  isEmpty: ({ top, text }, { cursor_x, cursor_y }) =>
    cursor_x === FIRST_COLUMN && cursor_y === top && text.trim() === "",
  /** The composer was empty before the paste, so the shown end identifies the whole text. */
  holds: (shown, whole) =>
    shown === whole || (shown.length >= END_CHARS_MIN && whole.endsWith(shown)),
  isCollapsed: ({ text }) => /^\[Paste#\d+-\d+lines\]$/.test(visibleAscii(text)),
  dialog: PROMPT_ROW,
  work: {
    hints: ["esc esc interrupt", "esc again to interrupt"],
    takes_back: "esc (esc|again to) edit prompt",
    side: "below",
  },
});
