/** opencode's adapter: only the pane, for an opencode without the plugin, which has a socket. */

import type { Clock } from "kit/core/clock.ts";
import { type Adapter, type AgentPeer, type TerminalTransport, withArgs } from "../adapter.ts";
import { observeProcess, paneAdapter } from "../pane_adapter.ts";
import { interruptInPane } from "../pane_interrupt.ts";
import { type PaneOptions, PaneTransport } from "../pane_transport.ts";
import { resume } from "./session_files.ts";
import { composerScreen } from "../screens.ts";

/**
 * Time for which a message waits for the plugin before the pane is used. A plugin connects within a
 * second of its start, and within five seconds of the daemon's start. Text pasted in the first five
 * seconds of an opencode is lost (1.18.33).
 */
const PLUGIN_WAIT_MS_MAX = 15_000;
/**
 * A queued message is retried every second. If the gap between two tries is longer than this, the
 * waiting time is counted from zero again.
 */
const WAIT_GAP_MS_MAX = 5_000;

interface OpencodeOptions extends Omit<PaneOptions, "screen" | "hasOpenDialog"> {
  /** The folder of opencode's sessions, e.g. `~/.local/share/opencode`. */
  readonly data_dir: string;
}

/** Tested with 1.18.33. A plugin's socket is tried before this adapter's transports. */
export function opencodeAdapter(options: OpencodeOptions): Adapter {
  const inspected = {
    ...options,
    screen: opencodeScreen,
    hasOpenDialog: ({ turn_state }: AgentPeer) => Promise.resolve(turn_state === "awaiting_input"),
  };
  const pane = afterPluginWait(new PaneTransport(inspected), options.clock);
  return paneAdapter(pane, {
    backend: "opencode",
    // Turns are reported by the plugin.
    observe: (peer) => Promise.resolve(observeProcess(peer, options.isAlive)),
    // A model is named as `provider/model`, and each provider has an account of its own.
    account: ({ model }) => ({ home: options.data_dir, id: model?.split("/")[0] }),
    // An opencode without the plugin, which aborts the turn itself.
    interrupt: (peer) => interruptInPane(inspected, peer),
    resume: (session) => resume(options.data_dir, session),
    fork: (session) => withArgs(resume(options.data_dir, session), "--fork"),
  });
}

/** A transport that is used only if no plugin connects while a message waits. */
function afterPluginWait(transport: TerminalTransport, clock: Clock): TerminalTransport {
  const waitsByPeer = new Map<string, { readonly since: number; readonly last: number }>();
  const waited_ms = ({ peer_id, agent_pid, agent_started }: AgentPeer) => {
    const now = clock.monotonic();
    for (const [key, { last }] of waitsByPeer) {
      if (now - last > WAIT_GAP_MS_MAX) waitsByPeer.delete(key);
    }
    const key = `${peer_id} ${agent_pid} ${agent_started}`;
    const { since } = waitsByPeer.get(key) ?? { since: now };
    waitsByPeer.set(key, { since, last: now });
    return now - since;
  };
  return {
    name: transport.name,
    check: (peer, outgoing) =>
      waited_ms(peer) < PLUGIN_WAIT_MS_MAX
        ? Promise.resolve({ ready: false, reason: "plugin_awaited" })
        : transport.check(peer, outgoing),
    deliver: (peer, outgoing) => transport.deliver(peer, outgoing),
    typeKeys: (peer, keys, accepted) => transport.typeKeys(peer, keys, accepted),
  };
}

/** The lower edge of the composer; a dialog has no such edge. */
const EDGE = /^\s*╹▀{8}/;
const ROW = /^\s*┃/;
const PLACEHOLDER = /^Ask anything… "/;
/**
 * The gap before the panel beside the composer. In a row with wide characters there are fewer
 * characters than columns, so the text of the panel must be cut off here.
 */
const GAP = / {8,}/;

/** The composer is a bar of `┃` rows above its edge; its last row names the agent and model. */
export const opencodeScreen = composerScreen({
  find(rows) {
    const bottom = rows.findLastIndex((row) => EDGE.test(row));
    const top = rows.slice(0, Math.max(0, bottom)).findLastIndex((row) => !ROW.test(row)) + 1;
    if (top >= bottom) return undefined;
    const edge = rows[bottom] ?? "";
    const [from, to] = [edge.indexOf("╹") + 1, edge.lastIndexOf("▀") + 1];
    const cellText = (row: string) => row.slice(from, to).trim().split(GAP)[0] ?? "";
    return { top, bottom, text: rows.slice(top, bottom - 1).map(cellText).join("\n").trim() };
  },
  isEmpty: ({ text }) => text === "" || PLACEHOLDER.test(text),
  work: { hints: ["esc +interrupt", "esc again to interrupt"], side: "below" },
  isCollapsed: ({ text }) => /^\[Pasted ~?\d+ lines?\]$/.test(text),
  dialog: /△ Permission required|Allow once/i,
});
