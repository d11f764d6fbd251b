/** Interrupts a turn by Escape in the agent's terminal, while its screen shows that a turn runs. */

import type { Clock } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import type { TerminalServer } from "../../host/terminal_server.ts";
import type { AgentPeer, InterruptAttempt, KeyResult } from "./adapter.ts";
import {
  inspectForeground,
  type InspectionOptions,
  typeIfUnchanged,
  unreachableReason,
} from "./pane_inspection.ts";
import { resultOfFailure } from "./pane_transport.ts";

interface InterruptOptions extends InspectionOptions {
  readonly clock: Clock;
  /** Number of Escapes that interrupt a turn. One more would open a dialog in most agents. */
  readonly escapes: number;
  /** Pause before the next Escape, during which the agent shows the effect of the last one. */
  readonly gap_ms?: number;
  /** True if the agent's own records say that a turn runs now. Absent without such records. */
  readonly isWorking?: (peer: AgentPeer) => boolean;
}

/** A program draws while it works, so the pane may change between a check and the key. */
const TRIES_MAX = 5;

type Pressed = KeyResult | { readonly state: "idle" };

/** Presses Escape as often as the agent needs, each time only if a turn is shown to run. */
export async function interruptInPane(
  options: InterruptOptions,
  peer: AgentPeer,
): Promise<InterruptAttempt> {
  const { tmux_socket, pane_id } = peer;
  if (tmux_socket === null || pane_id === null) return { state: "refused", reason: "no_pane" };
  const server = options.terminalServers.at(tmux_socket);
  return await server.runExclusive(pane_id, () => pressEscapes(options, peer, server));
}

async function pressEscapes(
  options: InterruptOptions,
  peer: AgentPeer,
  server: TerminalServer,
): Promise<InterruptAttempt> {
  const { clock, escapes, gap_ms = 0 } = options;
  let pressed = 0;
  while (pressed < escapes) {
    const result = await pressEscape(options, peer, server);
    // After a first key, what stops the second one may be the effect of the first.
    if (result.state === "idle" && pressed === 0) return { state: "idle" };
    if (result.state === "refused" && pressed === 0) {
      return { state: "refused", reason: result.reason };
    }
    if (result.state === "typed" || result.state === "unclear") pressed++;
    if (result.state !== "typed") break;
    if (pressed < escapes) await pause(clock, gap_ms);
  }
  return { state: "asked", by: pressed === 1 ? "Escape in its terminal" : "Escape twice there" };
}

/** Presses Escape once, in the same step in which the terminal compares the screen. */
async function pressEscape(
  options: InterruptOptions,
  peer: AgentPeer,
  server: TerminalServer,
): Promise<Pressed> {
  const { work } = options.screen;
  if (!work) return { state: "refused", reason: "no_interrupt" };
  const ready = await server.prepare([{ key: "Escape" }]);
  if (!ready.ok) return { state: "refused", reason: unreachableReason(server) };
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    const inspection = await inspectForeground(options, peer);
    if (!inspection.ok) {
      const { reason } = inspection;
      return { state: "refused", reason: reason === "dialog_open" ? "at_dialog" : reason };
    }
    const isOver = options.isWorking?.(peer) === false;
    if (isOver || !work.isShown(inspection.view)) return { state: "idle" };
    const guard = { draft_may_change: true, shown: work.pattern };
    const typed = await typeIfUnchanged(inspection, ready.prepared, guard);
    if (typed === "done") return { state: "typed", overruled: [] };
    if (typed === "changed" || typed === "unmarked") continue;
    return resultOfFailure(server, typed);
  }
  return { state: "refused", reason: "changed" };
}
