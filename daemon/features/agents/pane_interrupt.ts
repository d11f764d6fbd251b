/** Interrupts a turn by Escape in the agent's terminal, while its screen shows that a turn runs. */

import { type Clock, stopwatch } from "kit/core/clock.ts";
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
  /** True if the agent's own records say that a turn runs now. Absent without such records. */
  readonly isWorking?: (peer: AgentPeer) => boolean;
}

/** A program draws while it works, so the pane may change between a check and the key. */
const TRIES_MAX = 5;
/** Maximum time in which an agent shows that it has read an Escape and wants another one. */
const NEXT_HINT_MS_MAX = 1_000;
const LOOK_EVERY_MS = 50;

type Pressed = KeyResult | { readonly state: "idle" };

/**
 * Presses Escape as often as the agent needs. Each Escape is pressed only while the screen shows
 * the agent's words for it.
 */
export async function interruptInPane(
  options: InterruptOptions,
  peer: AgentPeer,
): Promise<InterruptAttempt> {
  const { tmux_socket, pane_id } = peer;
  const { clock, screen: { work }, terminalServers } = options;
  if (tmux_socket === null || pane_id === null) return { state: "refused", reason: "no_pane" };
  if (!work) return { state: "refused", reason: "no_interrupt" };
  const server = terminalServers.at(tmux_socket);
  return await server.runExclusive(pane_id, async () => {
    const [first, ...more] = work.hints;
    const pressed = await pressEscape(options, peer, server, first);
    if (pressed.state === "idle") return pressed;
    if (pressed.state === "refused") return { state: "refused", reason: pressed.reason };
    let escapes = 1;
    for (const hint of more) {
      const elapsed = stopwatch(clock);
      let next: Pressed = { state: "idle" };
      while (next.state === "idle" && elapsed() < NEXT_HINT_MS_MAX) {
        await pause(clock, LOOK_EVERY_MS);
        next = await pressEscape(options, peer, server, hint);
      }
      // The first Escape may have had its effect, so what follows is a matter of proof.
      if (next.state !== "typed") break;
      escapes++;
    }
    return { state: "asked", by: `${escapes === 1 ? "Escape" : "two Escapes"} in its terminal` };
  });
}

/** Presses Escape once, in the same step in which the terminal compares the screen. */
async function pressEscape(
  options: InterruptOptions,
  peer: AgentPeer,
  server: TerminalServer,
  hint: string,
): Promise<Pressed> {
  const ready = await server.prepare([{ key: "Escape" }]);
  if (!ready.ok) return { state: "refused", reason: unreachableReason(server) };
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    const inspection = await inspectForeground(options, peer);
    if (!inspection.ok) {
      const { reason } = inspection;
      return { state: "refused", reason: reason === "dialog_open" ? "at_dialog" : reason };
    }
    const { work } = options.screen;
    const rowOf = (words: string | undefined) => words && work?.rowOf(inspection.view, words);
    const isOver = options.isWorking?.(peer) === false;
    if (rowOf(work?.takes_back)) return { state: "refused", reason: "turn_begins" };
    const shown_row = rowOf(hint);
    if (isOver || !shown_row) return { state: "idle" };
    // The screen alone proves no turn: an agent may show any words.
    if (peer.turn_state !== "working") return { state: "refused", reason: "turn_unproved" };
    const guard = { draft_may_change: true, shown_row };
    const typed = await typeIfUnchanged(inspection, ready.prepared, guard);
    if (typed === "done") return { state: "typed", overruled: [] };
    if (typed !== "changed" && typed !== "unmarked") return resultOfFailure(server, typed);
  }
  return { state: "refused", reason: "changed" };
}
